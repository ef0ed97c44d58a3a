"""A rollouts file, line by line: what each field is, and what of a row the checks need.

One JSON object a line, one line for each sampled reply that was trained on. Other fields are let be.

    group      string or whole number   rows with the same one are compared with each other
    task       string or whole number   the problem
    agent      string                   who replied; an id, or a role
    turn       whole number             counted from 0 or 1
    prompt     string, or a list of {"role": ..., "content": ...}
    reply      string
    reward     number
    advantage  number
    episode    string or whole number   (may be left out) one playthrough of the task
    event      string or whole number   (may be left out) replies of one event were given at once, on the same state
    action     string or whole number   (may be left out) replies that got ONE reward and advantage together
    tokens     list of whole numbers    (may be left out) the ids that were sampled
    logps      list of numbers          (may be left out) natural log-probs of those ids
    terms      {"name": number}         (may be left out) the parts of the reward
    chosen     true or false            (may be left out) the episode went on along this candidate
    malformed  true or false            (may be left out) the reply held nothing that could be done
"""

import json
import math
import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeAlias

from masgym.errors import BadFile
from masgym.paths import regular
from masgym.tasks import object_of
from masgym.types import JSON, value

Id: TypeAlias = str | int

DEPTH = 64  # tokens of a reply that are kept for comparing it with its siblings
_COUNTERS = re.compile(r"\b(turn|step|round|attempt|searches left)\W{0,3}\d+", re.IGNORECASE)
_LARGEST = 1e100  # sums of such numbers stay finite
_BOARD_SYMBOLS = 16  # a board has few symbols, and none of them is a small letter


@value
class Row:
    """One sampled reply. Texts are kept as fingerprints, so that large files fit."""

    line: int
    group: Id
    task: Id
    agent: str
    turn: int
    episode: Id | None
    event: Id | None
    action: Id | None
    prompt: int
    position: int  # of the board in the prompt; where it has none, of the prompt without its counters of turns
    reply: int
    reward: float
    advantage: float
    empty: bool  # no token and no text
    tokens: Sequence[int] | None  # the first DEPTH of them
    logps: Sequence[float] | None  # as many
    likelihood: float | None  # sum of all log-probs
    flaw: str  # what log-probs cannot be; "" where they can
    terms: Mapping[str, float]
    chosen: bool | None
    malformed: bool  # False where the file does not say


def read(path: Path) -> Iterator[Row]:
    """The rows of a file. Raises BadFile, which names file, line and field."""
    try:
        with regular(path, math.inf).open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield _row(line, number, f"{path}, line {number}")
    except OSError as error:
        raise BadFile(f"{path} cannot be read ({error.strerror}).") from error


def _row(line: bytes, number: int, where: str) -> Row:
    try:
        return parse(object_of(line.decode(), where), number, where)
    except UnicodeDecodeError as error:
        raise BadFile(f"{where}: no UTF-8: {error}.") from error


def parse(fields: Mapping[str, JSON], number: int, where: str) -> Row:
    """The row on line `number`. Raises BadFile, which names `where` and the field."""
    prompt = _prompt(fields, where)
    reply = _text(fields, "reply", where)
    tokens = _tokens(fields, where)
    logps = _numbers(fields, "logps", where)
    return Row(
        line=number,
        group=_id(fields, "group", where),
        task=_id(fields, "task", where),
        agent=_text(fields, "agent", where),
        turn=_turn(fields, where),
        episode=_optional_id(fields, "episode", where),
        event=_optional_id(fields, "event", where),
        action=_optional_id(fields, "action", where),
        prompt=_fingerprint(prompt),
        position=_fingerprint(_board(prompt) or _COUNTERS.sub("", prompt)),
        reply=_fingerprint(reply),
        reward=_finite(fields, "reward", where),
        advantage=_finite(fields, "advantage", where),
        empty=not (reply if tokens is None and logps is None else tokens or logps),
        tokens=None if tokens is None else array("q", tokens[:DEPTH]),
        logps=None if logps is None else array("d", logps[:DEPTH]),
        likelihood=None if logps is None else math.fsum(logps) if all(map(math.isfinite, logps)) else -math.inf,
        flaw=_flaw(tokens, logps),
        terms=_terms(fields, where),
        chosen=_flag(fields, "chosen", where),
        malformed=bool(_flag(fields, "malformed", where)),
    )


def _flaw(tokens: Sequence[int] | None, logps: Sequence[float] | None) -> str:
    if logps is None:
        return ""
    if not all(map(math.isfinite, logps)):
        return "a log-prob is not finite"
    if max(logps, default=0.0) > 0:
        return f"a log-prob is {max(logps):.4g}, more than 0"
    if tokens is not None and len(tokens) != len(logps):
        return f"{len(logps)} log-probs for {len(tokens)} tokens"
    return ""


def _board(prompt: str) -> str:
    """The last three or more lines of equal length that hold few symbols and no small letters; "" without such."""
    best, run = "", list[str]()
    for line in [*prompt.split("\n"), ""]:
        if run and len(line) == len(run[0]) and line == line.upper():
            run.append(line)
            continue
        if len(run) >= 3 and len(set().union(*run)) <= _BOARD_SYMBOLS:
            best = "\n".join(run)
        run = [line] if len(line) >= 3 and line == line.upper() else []
    return best


def _fingerprint(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _field(fields: Mapping[str, JSON], name: str, where: str) -> Any:
    if fields.get(name) is None:
        raise BadFile(f"{where}, field {name!r} is missing; it must be given for each reply.")
    return fields[name]


def _bad(fields: Mapping[str, JSON], name: str, where: str, wanted: str) -> BadFile:
    return BadFile(f"{where}, field {name!r}: {json.dumps(fields[name])[:80]} instead of {wanted}.")


def _text(fields: Mapping[str, JSON], name: str, where: str) -> str:
    if not isinstance(_field(fields, name, where), str):
        raise _bad(fields, name, where, "a string")
    return fields[name]


def _id(fields: Mapping[str, JSON], name: str, where: str) -> Id:
    given = _field(fields, name, where)
    if not isinstance(given, str | int) or isinstance(given, bool):
        raise _bad(fields, name, where, "a string or a whole number")
    return given


def _optional_id(fields: Mapping[str, JSON], name: str, where: str) -> Id | None:
    return None if fields.get(name) is None else _id(fields, name, where)


def _turn(fields: Mapping[str, JSON], where: str) -> int:
    turn = _field(fields, "turn", where)
    if type(turn) is not int or turn < 0:
        raise _bad(fields, "turn", where, "a whole number, at least 0")
    return turn


def _is_number(given: object) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool)


def _float(given: float) -> float:
    """nan for what is no float of a sensible size."""
    return float(given) if -_LARGEST <= given <= _LARGEST else math.nan


def _finite(fields: Mapping[str, JSON], name: str, where: str) -> float:
    given = _field(fields, name, where)
    if not _is_number(given) or math.isnan(_float(given)):
        raise _bad(fields, name, where, "a finite number")
    return float(given)


def _prompt(fields: Mapping[str, JSON], where: str) -> str:
    prompt: Any = _field(fields, "prompt", where)
    if isinstance(prompt, str):
        return prompt
    if not isinstance(prompt, list) or not all(
        isinstance(m, dict) and isinstance(m.get("content"), str) for m in prompt
    ):  # type: ignore[reportUnknownVariableType]
        raise _bad(fields, "prompt", where, 'a string or a list of {"role": ..., "content": ...}')
    return "\n\n".join(f"{m.get('role')}\n{m['content']}" for m in prompt)


def _tokens(fields: Mapping[str, JSON], where: str) -> list[int] | None:
    given: Any = fields.get("tokens")
    if given is None:
        return None
    if not isinstance(given, list) or not all(type(x) is int and 0 <= x < 2**63 for x in given):
        raise _bad(fields, "tokens", where, "a list of whole numbers, the ids of tokens")
    return given


def _numbers(fields: Mapping[str, JSON], name: str, where: str) -> list[float] | None:
    """null stands for what is not finite, which JSON cannot say."""
    given: Any = fields.get(name)
    if given is None:
        return None
    if not isinstance(given, list) or not all(x is None or _is_number(x) for x in given):
        raise _bad(fields, name, where, "a list of numbers")
    return [math.nan if x is None else _float(x) for x in given]


def _terms(fields: Mapping[str, JSON], where: str) -> dict[str, float]:
    given: Any = fields.get("terms")
    if given is None:
        return {}
    if not isinstance(given, dict) or not all(map(_is_number, given.values())):
        raise _bad(fields, "terms", where, "numbers by name")
    return given


def _flag(fields: Mapping[str, JSON], name: str, where: str) -> bool | None:
    given: Any = fields.get(name)
    if not isinstance(given, bool | None):
        raise _bad(fields, name, where, "true or false")
    return given
