"""The shared language of masgym: frozen, slotted, keyword-only values. Nothing here knows a domain or a workflow.

Legend: Phi is a domain's potential (1 = solved); K_e the number of agents whose outputs one transition consumes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar, dataclass_transform

JSON: TypeAlias = Any  # None, bool, int, float, str, or a list or str-keyed dict of these; never mutated
World: TypeAlias = Any  # a domain's own immutable, hashable value
Slot: TypeAlias = Literal["draft", "tool", "act", "judge", "route"]
Style: TypeAlias = Literal["full", "compact"]
Split: TypeAlias = Literal["train", "validation", "test"]

T = TypeVar("T")
HASH_IN_ID = 12  # hex digits of a task's content hash


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def value(cls: type[T]) -> type[T]:
    """Class decorator of every record in both packages: a frozen, slotted, keyword-only dataclass."""
    make: Callable[[type[T]], type[T]] = dataclass(frozen=True, slots=True, kw_only=True)
    return make(cls)


@value
class Task:
    """One problem instance. Its identity is (domain, params, seed, split, index) and never depends on a run's seed."""

    domain: str
    params: Mapping[str, JSON]  # what the generator was asked for, or which file was read ("sha256": its hash);
    # "material", optional: the hash of what it is played with besides its content (search: the passages)
    seed: int  # the collection's seed
    split: Split
    index: int
    content: Mapping[str, JSON]  # the instance itself
    content_hash: str  # hex; its bucket is the split (`masgym.tasks`)
    level: str  # difficulty, as the domain names it
    optimum: int | None  # fewest moves of a solution, stamped by the generator; None where none is defined

    @property
    def id(self) -> str:
        return f"{self.domain}/{self.split}/{self.index}/{self.content_hash[:HASH_IN_ID]}"


@value
class Message:
    """One chat message of a prompt."""

    role: Literal["system", "user"]
    content: str


@value
class Observation:
    """What one agent is shown."""

    agent: str
    slot: Slot
    messages: tuple[Message, ...]

    @property
    def text(self) -> str:
        return "\n\n".join(message.content for message in self.messages)


@value
class ToolCall:
    """A request to the driver (`masgym.tools.driver`): plain data, so that results can be recorded and replayed."""

    tool: str
    arguments: JSON


@value
class ToolResult:
    """What a tool answered."""

    outcome: str  # "ok", or the name of what went wrong
    value: JSON


@value
class Effect:
    """What ONE reply amounts to: made once, at its event, from its tool results. Acting on it later is pure."""

    world: World  # the world if it were acted on
    terms: Mapping[str, float]  # local terms in [-1, 1], before their weights
    note: str  # what others may read of it; for a malformed reply the reason
    brief: str = ""  # the same for the compact style
    right: bool = False  # acting on it would be right: correct, or in the games a gain in Phi
    done: bool = False  # acting on it ends the task
    malformed: bool = False
    cost: float = 0.0  # reward units that it costs the team (what a router asks for); in every form of the reward
    lasting: bool = False  # its world holds though nobody acts on it (what a search found); such worlds define `|`


@value
class Entry:
    """One line of shared memory: parsed content only, never the raw reply."""

    turn: int
    agent: str
    slot: Slot
    effect: Effect


Outputs: TypeAlias = Mapping[str, str]  # agent -> reply
Calls: TypeAlias = Mapping[str, tuple[ToolCall, ...]]  # agent -> the calls its reply asks for
Results: TypeAlias = Mapping[str, tuple[ToolResult, ...]]  # agent -> the answers, in the order of the calls


@value
class State:
    """Everything the next transition depends on. A snapshot IS the state."""

    task: Task
    world: World
    memory: tuple[Entry, ...] = ()
    phase: int = 0  # which event of the turn is next
    turn: int = 0  # turns completed; the Game owns T
    ended: Literal["", "done", "T"] = ""  # over by itself, or the last turn used up (truncation)
    success: bool = False
    log: tuple[tuple[Outputs, Results], ...] = ()  # what was fed to `apply`: replaying it rebuilds the state


@value
class RewardTerms:
    """The parts of one member's reward that are its own: named, weighted, each in reward units."""

    local: Mapping[str, float]  # weighted local terms; empty in outcome-only mode
    malformed: float  # 0, or the (negative) cost of a malformed reply
    cost: float = 0.0  # 0, or the (negative) cost of what it asks for

    @property
    def penalty(self) -> float:
        """What the return form counts of it (<= 0)."""
        return self.malformed + self.cost

    @property
    def total(self) -> float:
        return sum(self.local.values()) + self.penalty


@value
class Transition:
    """The result of one `apply`. `team` and `gain` are already multiplied by alpha.

    `team` is the published form (scores candidates of one event against each other); `gain` the return form
    (telescopes, cannot be farmed). STRONGER-MAS (arXiv 2510.11062), Eq. 3; the return form is ours.
    """

    state: State
    team: float
    gain: float
    effects: Mapping[str, Effect]
    rewards: Mapping[str, RewardTerms]

    def published(self, agent: str) -> float:
        """`alpha * team + sum_l c_l * local_l (+ malformed and route costs)` of a member."""
        return self.team + self.rewards[agent].total

    @property
    def penalty(self) -> float:
        """The malformed and route costs of all members together (<= 0)."""
        return sum(terms.penalty for terms in self.rewards.values())
