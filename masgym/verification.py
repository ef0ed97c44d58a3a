"""Whether a submission (`masgym.submission`) is what it says it is: tasks, games and protocol are those of its suite,
its figures follow from its outcomes, every field is of the kind and size that it can have, and the run folders of its
cells, where they are kept beside it, came to what it says.

Nothing is taken for what it merely equals: true is no 1, and 1 no 1.0.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeGuard, cast

from masgym.episodes import plain
from masgym.errors import BadFile
from masgym.estimates import success_interval
from masgym.folder import load
from masgym.game import Game, role_of
from masgym.submission import CELLS, FORMAT, cell_of, hash_of, partial, protocol_of, scores_of
from masgym.suites import SUITES, Cell, Suite, load_suite
from masgym.tools.sandbox import BACKENDS
from masgym.types import Style, value

KEYS = frozenset(
    (
        *("format", "suite", "version", "suite_hash", "protocol", "masgym", "agents", "style", "settings", "sandbox"),
        *("scores", "cells", "hash"),
    )
)
COUNTS = ("failures", "C_tok", "C_call", "C_tool")
CELL_KEYS = frozenset(("task_hash", "fingerprint", "success", "malformed_rate", "outcomes", *COUNTS))
STYLES: tuple[Style, ...] = ("full", "compact")
MOST = 10**15  # of a count
LONGEST = 1000  # characters of an agent's name


@value
class Verdict:
    """What became of a submission."""

    partial: str  # "3 of 63 cells; missing: ..."; "" where all are there, or none of it can be read
    wrong: tuple[str, ...]  # with what is there


def verify_submission(submission: Any) -> tuple[str, ...]:
    """What is wrong with it; () where it is a whole submission whose tasks were those of its suite."""
    found = verdict_on(submission)
    return (*filter(None, [found.partial]), *found.wrong)


def verdict_on(submission: Any) -> Verdict:
    """As `verify_submission`, with what is missing told apart from what is wrong."""
    wrong = tuple(_unreadable(submission))
    if wrong:
        return Verdict(partial="", wrong=wrong)
    suite, cells = load_suite(submission["version"]), submission.get("cells")
    missing = partial(suite, cells) if _is_object(cells) else ""
    return Verdict(partial=missing, wrong=tuple(_wrong(suite, submission)))


def verdict_in(folder: Path, submission: Any) -> Verdict:
    """As `verdict_on`, and by the run folders of its cells, those that are in `folder`."""
    found = verdict_on(submission)
    if found.wrong:
        return found
    suite, cells = load_suite(submission["version"]), submission["cells"]
    kept = [cell for cell in suite.cells if cell.name in cells and (folder / CELLS / cell.name).exists()]
    told = [(cell, _wrong_folder(suite, cell, folder / CELLS / cell.name, cells[cell.name])) for cell in kept]
    return replace(found, wrong=tuple(f"cell {cell.name}: {why}" for cell, why in told if why))


def _wrong_folder(suite: Suite, cell: Cell, where: Path, found: Any) -> str:
    """Why the run folder is not that of the cell; "" where it is."""
    try:
        out = load(where)
        suite.check_played(cell, out.records, where)
    except BadFile as error:
        return str(error)
    return "" if _same(found, cell_of(out)) else f"{where} came to something else"


def _unreadable(submission: Any) -> tuple[str, ...]:
    """Why nothing in it can be judged."""
    if not _is_object(submission):
        return ("it is no JSON object",)
    try:
        digest = hash_of(submission)
    except (TypeError, ValueError, RecursionError) as error:
        return (f"it is no JSON: {error}",)
    form, version = submission.get("format"), submission.get("version")
    if not _same(form, FORMAT) or not isinstance(version, str) or version not in SUITES:
        return (f"it is of format {_shown(form)} and suite {_shown(version)}, not known here",)
    if submission.get("hash") != digest:
        return ("its hash is not that of its content, which was changed",)
    return ()


def _wrong(suite: Suite, submission: Mapping[str, Any]) -> Iterator[str]:
    yield from _wrong_keys(submission, KEYS)
    own = {"suite": suite.name, "suite_hash": suite.hash, "protocol": protocol_of(suite)}
    yield from (
        f"its {name} is not that of {suite.name} {suite.version}"
        for name, expected in own.items()
        if not _same(submission.get(name), expected)
    )
    yield from _wrong_facts(submission)
    style, cells = submission.get("style"), submission.get("cells")
    if not _is_object(cells):
        yield "it has no cells"
        return
    expected = {cell.name: cell for cell in suite.cells}
    yield from (f"the suite has no cell {name}" for name in cells if name not in expected)
    games = {name: suite.game(cell, style if style in STYLES else "full") for name, cell in expected.items()}
    there = [game for name, game in games.items() if name in cells]
    yield from _wrong_agents(submission.get("agents"), tuple(games.values()), there)
    wrong = [
        f"cell {name}: {why}"
        for name, cell in expected.items()
        if name in cells
        for why in _wrong_cell(suite, cell, games[name], cells[name], submission)
    ]
    yield from wrong
    if not wrong and not _same(submission.get("scores"), scores_of(suite, cells)):
        yield "its scores do not follow from its outcomes"


def _wrong_keys(found: Mapping[str, Any], expected: frozenset[str]) -> Iterator[str]:
    if odd := sorted(map(str, expected ^ found.keys())):
        yield f"its keys {', '.join(odd)} are missing or unknown"


def _wrong_facts(submission: Mapping[str, Any]) -> Iterator[str]:
    """Of who handed it in, and with what."""
    version, style, sandbox = (submission.get(name) for name in ("masgym", "style", "sandbox"))
    if not isinstance(version, str) or not re.fullmatch(r"\d+(\.\d+)+[\w.+-]{0,30}", version, re.ASCII):
        yield f"its version of masgym is {_shown(version)}"
    if style not in STYLES:
        yield f"its style is {_shown(style)}; {' or '.join(STYLES)} was expected"
    if sandbox not in BACKENDS:
        yield f"its sandbox is {_shown(sandbox)}; one of {', '.join(BACKENDS)} was expected"
    if not _is_object(submission.get("settings")):
        yield "its settings are no object"


def _wrong_agents(agents: Any, games: Sequence[Game], there: Sequence[Game]) -> Iterator[str]:
    """`games` of the whole suite, `there` those of the cells that were played."""
    if not _is_object(agents) or not all(map(_is_name, agents.values())):
        yield "its agents are no names by role"
        return
    known = {"*", *(who for game in games for who in (*game.agents, *game.roles))}
    yield from (f"no cell has an agent or role {who!r}" for who in agents if who not in known)
    players = {agent for game in there for agent in game.agents}
    yield from (f"nobody played {agent}" for agent in sorted(players) if not {agent, role_of(agent), "*"} & set(agents))


def _is_name(name: Any) -> bool:
    """Of an agent: one line that can be printed."""
    return isinstance(name, str) and bool(name.strip()) and name.isprintable() and len(name) <= LONGEST


def _wrong_cell(suite: Suite, cell: Cell, game: Game, found: Any, submission: Mapping[str, Any]) -> Iterator[str]:
    if not _is_object(found):
        yield "it is no object"
        return
    yield from _wrong_keys(found, CELL_KEYS)
    if found.get("task_hash") != cell.level.task_hash:
        yield "its tasks were not those of the suite"
    if submission.get("style") in STYLES and found.get("fingerprint") != game.fingerprint:
        yield (
            f"its game was another one: {_shown(found.get('fingerprint'))} of masgym {submission.get('masgym')}; with "
            f"T = {suite.T} and style {game.style} it is {game.fingerprint} here"
        )
    outcomes, tasks = found.get("outcomes"), len(cell.level.contents)
    if not isinstance(outcomes, list) or len(cast(list[Any], outcomes)) != tasks:
        yield f"it has not the outcomes of {tasks} tasks"
    elif not all(_are_outcomes(of_task, suite.samples) for of_task in cast(list[Any], outcomes)):
        yield f"its outcomes are not {suite.samples} of true or false a task"
    else:
        if not _same(found.get("success"), plain(success_interval(outcomes))):
            yield "its success does not follow from its outcomes"
        yield from _wrong_counts(found, game, tasks * suite.samples, sum(map(sum, outcomes)))


def _wrong_counts(found: Mapping[str, Any], game: Game, episodes: int, solved: int) -> Iterator[str]:
    """In an episode everybody speaks once a turn at most, and somebody at least once."""
    ranges = dict.fromkeys(COUNTS, (0, MOST))
    ranges |= {"failures": (0, episodes - solved), "C_call": (episodes, episodes * game.T * len(game.agents))}
    odd = [name for name in COUNTS if not _is_count(found.get(name), *ranges[name])]
    for name in odd:
        least, most = ranges[name]
        yield f"its {name} is {_shown(found.get(name))}; from {least} to {most} can be"
    rate = found.get("malformed_rate")
    if not isinstance(rate, float) or not 0 <= rate <= 1:
        yield f"its malformed_rate is {_shown(rate)}; a number from 0.0 to 1.0 was expected"
    elif "C_call" not in odd and round(rate * found["C_call"]) / found["C_call"] != rate:
        yield f"its malformed_rate {rate} is no share of {found['C_call']} replies"


def _are_outcomes(found: Any, samples: int) -> bool:
    return isinstance(found, list) and len(found) == samples and all(isinstance(solved, bool) for solved in found)


def _is_count(found: Any, least: int, most: int) -> bool:
    return isinstance(found, int) and not isinstance(found, bool) and least <= found <= most


def _is_object(found: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(found, dict)


def _same(found: Any, expected: Any) -> bool:
    return json.dumps(found, sort_keys=True) == json.dumps(expected, sort_keys=True)


def _shown(found: Any) -> str:
    text = json.dumps(found)
    return text if len(text) <= 60 else f"{text[:57]}..."
