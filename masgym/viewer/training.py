"""The episodes of a file of rollouts (`masgym.audit.rows`), as trees: at each event the candidates.

Of the fields that mastrain adds (`mastrain.rollouts_log`) the page shows what is there.
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
        episodes.setdefault((row.task, *own), []).append(fields)
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
            level=str(rows[0].get("level") or ""),
            run=_whole(rows[0].get("step")),
            success=bool(last["solved"]) if "solved" in last else None,
            ended=str(last.get("ended") or ""),
            turns=len({row["turn"] for row in rows}),
            returns=_returns(path),
            roles=[role_of(row["agent"]) for row in rows],
            malformed=malformed,
            reasons=[str(row.get("note")) for row in rows if row.get("malformed")],
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
        index = number if (known := _whole(row.get("candidate"))) is None else known
        found = candidates.setdefault(
            index, {"index": index, "chosen": bool(row.get("chosen")), "gain": row.get("gain"), "replies": {}}
        )
        found["replies"][row["agent"]] = {name: row[name] for name in _SHOWN if row.get(name) is not None}
    return {
        "turn": rows[0]["turn"] + 1 - min(1, first_turn),
        "prompts": prompts,
        "candidates": list(candidates.values()),
    }


def _returns(path: Sequence[Fields]) -> float | None:
    """The return along the path: an event's gain once, malformed costs of all its members."""
    if not path or not all(isinstance(row.get("gain"), int | float) for row in path):
        return None
    gains = {str(row.get("event")): row["gain"] for row in path}
    return sum(gains.values()) + sum(row["penalty"] for row in path if isinstance(row.get("penalty"), int | float))


def _whole(given: object) -> int | None:
    return given if type(given) is int else None
