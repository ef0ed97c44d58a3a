"""A line of `episodes.jsonl` -> the record, if it can be one: every field of its kind and range, none that contradicts
another, the traces ("events") or the game that was played. Such a line was changed, or is of another run."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from masgym.episodes import EpisodeRecord
from masgym.errors import BadFile
from masgym.game import MOST_REWARD
from masgym.types import JSON

_COUNTS = (
    *("index", "sample", "turns", "event_count", "replies", "tool_calls", "tokens", "prompt_tokens", "cut"),
    *("optimum", "latency"),
)
_KINDS: Mapping[str, Any] = {
    **dict.fromkeys(("task", "level", "ended"), str),
    **dict.fromkeys(_COUNTS, int),
    **dict.fromkeys(("returns", "latency"), int | float),
    "optimum": int | None,
    "success": bool,
    "malformed": list,
    "terms": dict,
}
_LATER: Mapping[str, JSON] = {"cut": 0}  # fields that lines of older versions lack
_MOST = 1e15  # of any number in a record: sums of them are finite
_NEAR = 1e-6  # sums of the same numbers, added in another order


def record_of(row: Mapping[str, JSON], where: str) -> EpisodeRecord:
    """The record on a line that `masgym.episodes.row_of` made. Raises BadFile, which names `where` and the field."""
    row = {**_LATER, **row}
    for name, kind in _KINDS.items():
        found, wanted = row.get(name), getattr(kind, "__name__", kind)
        if name not in row:
            raise BadFile(f"{where}, field {name!r} is missing; {wanted} was expected.")
        if not isinstance(found, kind) or (isinstance(found, bool) and kind is not bool):
            raise BadFile(f"{where}, field {name!r}: {repr(found)[:80]}; {wanted} was expected.")
    own: dict[str, Any] = {name: row[name] for name in _KINDS}
    if not all(isinstance(reason, str) for reason in own["malformed"]):
        raise BadFile(f"{where}, field 'malformed': a list of texts was expected.")
    _check_numbers(own, where)
    own["malformed"] = tuple(own["malformed"])
    record = EpisodeRecord(**own)
    _refuse(_of_itself(record), where)
    return record


def check_played(record: EpisodeRecord, row: Mapping[str, JSON], game: Mapping[str, JSON], where: str) -> None:
    """Whether its events came to this record, and the game can have been played so: `game` is a `Game.spec` that
    `masgym.run_json.run_from_json` has read.

    Raises BadFile. Other people's environments pay what they like, and end when they like.
    """
    try:
        _refuse(_of_events(record, row), where)
        penalty = _penalty(record, row, game)
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise BadFile(f"{where}, field 'events': {error!r}; play it again, or remove the line.") from error
    if record.turns > game["T"]:
        raise BadFile(f"{where}: {record.turns} turns; a game has at most {game['T']}.")
    if ":" not in game["domain"]["name"]:
        _refuse(_of_game(record, penalty, game), where)


def _check_numbers(own: Mapping[str, Any], where: str) -> None:
    numbers = {**own, **own["terms"]}
    for name in (*own["terms"], *(name for name, found in own.items() if isinstance(found, int | float))):
        found = numbers[name]
        if not isinstance(found, int | float) or not -_MOST <= found <= _MOST:  # NaN is in no range
            raise BadFile(f"{where}, field {name!r}: {repr(found)[:80]}; a number up to {_MOST:g} was expected.")
    for name in _COUNTS:
        if (own[name] or 0) < 0:
            raise BadFile(f"{where}, field {name!r}: {own[name]}; a number from 0 was expected.")


def _refuse(wrong: Iterator[tuple[bool, str]], where: str) -> None:
    for is_wrong, why in wrong:
        if is_wrong:
            raise BadFile(f"{where}: {why}. The line contradicts itself; play it again, or remove it.")


def _of_itself(r: EpisodeRecord) -> Iterator[tuple[bool, str]]:
    """(whether it is so, what is wrong then)"""
    yield len(r.malformed) > r.replies, f"{len(r.malformed)} malformed replies of {r.replies}"
    yield r.cut > r.replies, f"{r.cut} replies cut off of {r.replies}"
    yield r.event_count > r.replies, f"{r.event_count} events with {r.replies} replies"
    yield r.turns > r.event_count, f"{r.turns} turns of {r.event_count} events"
    yield r.success and r.ended not in ("done", "T"), f"'success' with 'ended' {r.ended[:80]!r}"
    yield not r.ended and r.event_count > 0, "'ended' is empty"


def _of_events(r: EpisodeRecord, row: Mapping[str, Any]) -> Iterator[tuple[bool, str]]:
    """As `_of_itself`, by the traces where they were kept. Raises what they cause that are none."""
    if not (events := row.get("events")):
        return
    members = [member for event in events for member in event["members"]]
    judged = [judged for event in events for judged in event["judged"].values()]
    last, turns = events[-1], [event["turn"] for event in events]
    told: Mapping[str, Any] = {
        "event_count": len(events),
        "replies": len(members),
        **{name: sum(m[name] for m in members) for name in ("tokens", "prompt_tokens", "cut") if name in row},
        "tool_calls": sum(len(one["tools"]) for one in judged),
        "returns": sum(event["gain"] for event in events) + sum(one["penalty"] for one in judged),
        "malformed": sorted(one["note"] for one in judged if one["malformed"]),
    }
    for name, found in told.items():
        own: Any = sorted(r.malformed) if name == "malformed" else getattr(r, name)
        same = math.isclose(own, found, rel_tol=_NEAR, abs_tol=_NEAR) if name == "returns" else own == found
        yield not same, f"field {name!r} is {str(own)[:80]}, by its events {str(found)[:80]}"
    failure = next((member["failure"] for member in last["members"] if member["failure"]), "")
    yield bool(failure) == (r.ended in ("done", "T")), f"'ended' is {r.ended[:80]!r}, its last event's {failure!r:.80}"
    yield bool(failure) and failure != r.ended, f"'ended' is {r.ended[:80]!r}, its last event's {failure!r:.80}"
    steps = [after - before for before, after in zip([1, *turns], turns, strict=False)]
    yield not {0, 1} >= set(steps), "its events are not in the order of their turns"
    over = last["turn"] - r.turns  # the turn of a failure is not over; one that is done early counts, or does not
    yield over not in ((1,) if failure else (0, 1)), f"{r.turns} turns; its last event is of turn {last['turn']}"


def _penalty(r: EpisodeRecord, row: Mapping[str, JSON], game: Mapping[str, JSON]) -> float | None:
    """The malformed and route costs (<= 0); None where nothing tells."""
    if events := row.get("events"):
        return sum(judged["penalty"] for event in events for judged in event["judged"].values())
    return None if game["workflow"].get("route_cost") else game["malformed"] * len(r.malformed)


def _of_game(r: EpisodeRecord, penalty: float | None, game: Mapping[str, JSON]) -> Iterator[tuple[bool, str]]:
    """As `_of_itself`. What was gained is alpha * (success + Phi), where Phi reaches 1 as the task is solved, and only
    then (`masgym.game.Domain.potential`)."""
    yield r.ended == "T" and r.turns < game["T"], f"'ended' is 'T' after {r.turns} turns of {game['T']}"
    most = game["alpha"] * (r.success + (0.0 if game["outcome_only"] else 1.0))
    least = most if r.success else 0.0 if game["outcome_only"] else -MOST_REWARD  # Phi may fall below 0
    gained, near = r.returns - (penalty or 0.0), _NEAR * max(1.0, game["alpha"], -(penalty or 0.0))
    why = f"returns of {r.returns:g} with 'success' {str(r.success).lower()}"
    yield gained > most + near, why
    yield penalty is not None and gained < least - near, why
