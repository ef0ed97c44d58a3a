"""The episodes of a file of rollouts (`masgym.audit.rows`), as trees: at each event the candidates.

Of the fields that mastrain adds (`mastrain.rollouts_log`) the page shows what is there; one of another kind is none.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from masgym.audit.rows import parse
from masgym.files import read_lines
from masgym.game import role_of
from masgym.types import JSON
from masgym.viewer.episodes import Episode, Texts, summary

ROLLOUTS = "rollouts.jsonl"
Fields: TypeAlias = Mapping[str, Any]  # a row as it stands in the file
_SHOWN = (
    "reply",
    "reward",
    "advantage",
    "terms",
    "penalty",
    "note",
    "malformed",
    "tools",
    "policy",
    "version",
    "finish",
)
_KINDS: Mapping[str, Any] = {  # what is checked here; the rest by `masgym.audit.rows`
    **dict.fromkeys(("step", "candidate"), int),
    **dict.fromkeys(("level", "note", "ended", "policy", "finish"), str),
    **dict.fromkeys(("malformed", "solved", "chosen"), bool),
    **dict.fromkeys(("gain", "penalty"), int | float),
    "version": int | str,
    "tools": list,
}
_MOST = 1e100  # of a number: sums of them are finite


def read(folder: Path, texts: Texts) -> Iterator[Episode]:
    """Nothing where there is no such file. Raises BadFile."""
    episodes = sampled(folder)
    first = min((row["turn"] for rows in episodes for row in rows), default=0)
    for rows in episodes:
        yield _episode(rows, first, texts)


def sampled(folder: Path) -> list[list[Fields]]:
    """The rows of each episode, in the page's order. Rows without `episode` are one episode for each group. [] where
    there is no such file. Raises BadFile."""
    episodes: dict[tuple[Any, ...], list[Fields]] = {}
    for number, (where, fields) in enumerate(read_lines(folder / ROLLOUTS), 1):
        row = parse(fields, number, where)
        own = ("group", row.group) if row.episode is None else ("episode", row.episode)
        known = {name: found for name, found in fields.items() if name not in _KINDS or _is_of(_KINDS[name], found)}
        episodes.setdefault((row.task, *own), []).append(known)
    return list(episodes.values())


def events_of(rows: Sequence[Fields]) -> list[list[Fields]]:
    """An episode's rows -> those of each of its events, in the page's order."""
    events: dict[Any, list[Fields]] = {}
    for row in rows:
        event = row.get("event")
        events.setdefault((row["turn"], row["agent"], row["group"]) if event is None else event, []).append(row)
    return list(events.values())


def _episode(rows: Sequence[Fields], first_turn: int, texts: Texts) -> Episode:
    events = events_of(rows)
    path = [row for found in events for row in found if row.get("chosen")]  # what the episode went along
    last = path[-1] if path else {}
    malformed = Counter(role_of(row["agent"]) for row in rows if row.get("malformed"))
    return Episode(
        summary=summary(
            kind="sampled",
            task=str(rows[0]["task"]),
            level=rows[0].get("level", ""),
            run=rows[0].get("step"),
            success=last.get("solved"),
            ended=last.get("ended", ""),
            turns=len({row["turn"] for row in rows}),
            returns=_returns(path),
            roles=[role_of(row["agent"]) for row in rows],
            malformed=malformed,
            reasons=[row.get("note", "") for row in rows if row.get("malformed")],
            cut=sum(row["finish"] == "length" for row in rows) if all("finish" in row for row in rows) else None,
            tokens=sum(len(row["tokens"]) for row in rows) if all(row.get("tokens") for row in rows) else None,
        ),
        detail={"events": [_event(found, first_turn, texts) for found in events]},
    )


def _event(rows: Sequence[Fields], first_turn: int, texts: Texts) -> dict[str, JSON]:
    """Turns are counted from 1, as in played episodes."""
    prompts: dict[str, JSON] = {}
    candidates: dict[Any, dict[str, Any]] = {}
    for number, row in enumerate(rows):
        prompts.setdefault(row["agent"], texts.messages(row["prompt"]))
        index = row.get("candidate", number)
        found = candidates.setdefault(
            index, {"index": index, "chosen": row.get("chosen", False), "gain": row.get("gain"), "replies": {}}
        )
        found["replies"][row["agent"]] = {name: row[name] for name in _SHOWN if row.get(name) is not None}
    return {
        "turn": rows[0]["turn"] + 1 - min(1, first_turn),
        "prompts": prompts,
        "candidates": list(candidates.values()),
    }


def _returns(path: Sequence[Fields]) -> float | None:
    """The return along the path: an event's gain once, malformed costs of all its members."""
    if not path or not all("gain" in row for row in path):
        return None
    gains = {str(row.get("event")): row["gain"] for row in path}
    return sum(gains.values()) + sum(row.get("penalty", 0) for row in path)


def _is_of(kind: Any, found: object) -> bool:
    if isinstance(found, int | float) and not -_MOST <= found <= _MOST:  # NaN is in no range
        return False
    return isinstance(found, kind) and (kind is bool or not isinstance(found, bool))
