"""What is kept of a played episode: a light record of it, and on request a trace of every event, for people to read.

Both are plain values with a JSON form: a line of `episodes.jsonl` is the record's fields, and "events", the traces
(`masgym.records` reads it).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, fields, is_dataclass
from typing import Any

from masgym.types import JSON, Message, Slot, value


@value
class EpisodeRecord:
    """One episode played by given agents: plain JSON values."""

    task: str
    index: int
    sample: int
    level: str
    optimum: int | None
    success: bool
    ended: str  # "done", "T", or the named outcome that cut it short
    turns: int
    returns: float  # team return: gains + malformed costs of all members
    event_count: int  # active sets that were asked, one that failed as well
    replies: int  # C_call: the sum of K_e
    tool_calls: int  # C_tool
    malformed: tuple[str, ...]  # one reason per malformed reply
    tokens: int  # C_tok: sampled
    prompt_tokens: int
    cut: int = 0  # replies that the limit of their tokens cut off
    terms: Mapping[str, float]  # "<agent>/<term>": mean weighted local term over the agent's replies
    latency: float = field(compare=False)  # seconds; the one field that differs when the same is played again


@value
class ToolRun:
    """One tool call and what came of it."""

    tool: str
    arguments: JSON
    outcome: str
    value: JSON


@value
class MemberTrace:
    """What one member of an active set was shown, and what it said."""

    agent: str
    slot: Slot
    messages: tuple[Message, ...]
    reply: str
    failure: str  # the named outcome when there is no reply, else ""
    tokens: int
    prompt_tokens: int
    cut: bool  # by the limit of its tokens
    latency: float  # seconds


@value
class Judged:
    """What a member's reply amounted to."""

    tools: tuple[ToolRun, ...]  # in the order of the calls
    malformed: bool
    note: str  # what others may read of it; for a malformed reply the reason
    right: bool
    done: bool
    terms: Mapping[str, float]  # weighted local terms, in reward units
    penalty: float  # malformed and route costs (<= 0)


@value
class EventTrace:
    """One event: an active set speaks, and one transition consumes what it said."""

    turn: int  # counted from 1
    members: tuple[MemberTrace, ...]
    judged: Mapping[str, Judged]  # agent -> ...; {} where a member failed: the episode ends there
    before: str  # the board as text, in the full style
    after: str
    team: float  # the published form of the team's reward (`Transition.team`)
    gain: float  # its return form
    latency: float  # seconds, tool calls included


def plain(given: Any) -> JSON:
    """A value as strict JSON: tuples become lists; numbers that JSON lacks (what a program printed) become text."""
    if is_dataclass(given):
        return {f.name: plain(getattr(given, f.name)) for f in fields(given)}
    if isinstance(given, Mapping):
        return {str(key): plain(item) for key, item in given.items()}
    if isinstance(given, list | tuple):
        return [plain(item) for item in given]
    return str(given) if isinstance(given, float) and not math.isfinite(given) else given


def row_of(record: EpisodeRecord, events: Sequence[EventTrace] = ()) -> dict[str, JSON]:
    """A line of `episodes.jsonl`."""
    return {**plain(record), "events": plain(tuple(events))}
