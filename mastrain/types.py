"""The shared language of the trainer: every stage returns a new, complete type, so nobody checks for None.

Task -game-> State -observe-> Prompt -engine-> Completion -apply-> Candidate -> Event -> Episode
Event -actions-> Action -group key-> Group -advantage-> Row -pad-> Batch (`mastrain.batch`) -objective-> new version
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from masgym.rng import Key, digest
from masgym.types import Message, State, Task, Transition, value

Credit: TypeAlias = Literal["immediate", "turn", "episode"]  # how far a candidate is played before it is scored


@value
class Sampling:
    """How tokens are drawn. Only what keeps the log-probs those of the distribution sampled from (no top-k, no
    top-p, no repetition penalty)."""

    temperature: float = 1.0  # > 0; log-probs are of softmax(logits / temperature)
    max_new_tokens: int = 8
    greedy: bool = False  # argmax; log-probs then are of the temperature-1 distribution


@value
class Prompt:
    """What one agent is asked, as chat and as tokens."""

    agent: str
    messages: tuple[Message, ...]
    ids: tuple[int, ...]

    @property
    def hash(self) -> str:
        return f"{digest((self.agent, *self.ids)):032x}"


@value
class Completion:
    """One sampled reply. `ids` and `logps` are what was sampled, never re-tokenised."""

    text: str  # without the end token
    ids: tuple[int, ...]  # with the end token, where it was sampled; never empty
    logps: tuple[float, ...]  # natural log, one per id, of the distribution sampled from
    finish: Literal["stop", "length"]
    policy: str
    version: int  # the policy's number of optimiser steps when it was sampled


@value
class Candidate:
    """One joint output of an event's active set, scored."""

    index: int  # 0 <= index < branches
    completions: Mapping[str, Completion]  # member -> its reply
    transition: Transition
    scores: Mapping[str, float]  # member -> reward of its reply
    returns: float  # the team's: gains, costs of all members and shaping, from here to where it was played
    playout_tokens: int  # tokens sampled to score it (credit = turn or episode), not trained on


@value
class Lost:
    """A candidate with a member missing, or one that could not be scored: counted, in no statistic."""

    outcome: str  # its name ("timeout", "context overflow", ...)
    tokens: int  # sampled for it all the same


@value
class Event:
    """One decision event with all candidates that were sampled at it."""

    key: Key  # (seed, step, task, episode, *path): names the event and every draw at it
    task: Task
    episode: int
    turn: int
    phase: int  # its place in the turn: with the turn the type of the event
    state_id: str  # hash of the pre-action state: the same for all candidates
    members: tuple[str, ...]  # the active set, K_e = len(members)
    prompts: Mapping[str, Prompt]
    candidates: tuple[Candidate, ...]
    chosen: int  # position in `candidates` of the one that the episode continued along
    lost: tuple[Lost, ...] = ()  # candidates that lack a member or a score


@value
class Episode:
    """All events from a task's start to its end, or to a failure, that can be trained on."""

    key: Key
    task: Task
    events: tuple[Event, ...]
    final: State
    failure: str = ""  # the named outcome that ended it early; "" = it was played to its end
    lost: tuple[Lost, ...] = ()  # candidates that belong to no event in `events`


@value
class Action:
    """What gets one reward and one advantage: a member's reply (AT-GRPO) or a whole set's (SRPO)."""

    event: Event
    candidate: Candidate
    members: tuple[str, ...]
    reward: float


@value
class Group:
    """Actions that are compared with each other."""

    key: Key
    actions: tuple[Action, ...]

    @property
    def rewards(self) -> tuple[float, ...]:
        return tuple(action.reward for action in self.actions)


@value
class Row:
    """One reply to train on, with all that its objective needs."""

    policy: str
    group: Key
    event: Key
    state_id: str
    candidate: int
    agent: str
    member: int  # index in the active set
    cardinality: int  # K_e
    set_tokens: tuple[int, ...]  # reply lengths of the action's members: the set with which it is one action
    place: int  # index in `set_tokens`
    prompt: Prompt
    completion: Completion
    reward: float
    advantage: float
    weight: float  # multiplies the row's whole loss; 1 / (groups * |group|) for AT-GRPO, 1 / actions for SRPO

    @property
    def action(self) -> tuple[Key, int]:
        """(event, candidate): what the rows of one set have in common."""
        return self.event, self.candidate
