"""What `ensemble` and `routed` have in common: members who draft or work as tool users, a verifier who judges where one
is asked for, an aggregator who sees it all and acts (SRPO, arXiv 2609.08452, section 4).

A turn is a list of events. The members of one event speak from one state; a rejection skips the aggregator and costs
the turn, except in the last one.
"""

from collections.abc import Mapping
from typing import Any

from masgym.errors import BadValue, UnknownName
from masgym.types import Effect, Entry, Slot, State, value
from masgym.workflows.verify import APPROVE, FORM, GRAMMAR, REJECT, VERDICTS, VERIFIER, WEIGHTS, judged

AGGREGATOR = "aggregator_0"
MOST = 7  # members


@value
class Team:
    """`n` members, the last `tools` of them tool users (tool_0, ...), the others workers who draft (worker_0, ...)."""

    n: int = 3
    tools: int = 1
    verifier: bool = False  # judges whether any draft of the turn is right

    def __post_init__(self) -> None:
        """Raises BadValue for a team that cannot be."""
        _check_whole("n", self.n, 1, MOST)
        _check_whole("tools", self.tools, 0, self.n)
        if not isinstance(self.verifier, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadValue(f"verifier is {self.verifier!r}; true or false was expected.")
        if self.verifier and self.tools == self.n:
            raise BadValue(f"the verifier judges drafts, but all {self.n} members are tool users; lower tools.")

    @property
    def members(self) -> tuple[str, ...]:
        """Their places are their numbers in a route."""
        workers = self.n - self.tools
        return (*(f"worker_{i}" for i in range(workers)), *(f"tool_{i}" for i in range(self.tools)))

    @property
    def closing(self) -> tuple[tuple[str, ...], ...]:
        """The events after the members'."""
        return ((VERIFIER,), (AGGREGATOR,)) if self.verifier else ((AGGREGATOR,),)

    def slot(self, agent: str) -> Slot:
        if agent in (VERIFIER, AGGREGATOR):
            return "judge" if agent == VERIFIER else "act"
        return "tool" if agent.startswith("tool_") else "draft"

    def visible(self, state: State, agent: str) -> tuple[Entry, ...]:
        """What was committed in this turn; of the last one the agent's own reply if that was malformed. Where nothing
        was done in the last turn a member is shown its own reply and the verdict as well."""
        last, now = _of_turn(state, state.turn - 1), _of_turn(state, state.turn)
        if agent in self.members and undone(last):
            return (*(e for e in last if e.agent in (agent, VERIFIER)), *now)
        return (*(e for e in last if e.agent == agent and e.effect.malformed), *now)

    def effect(self, state: State, agent: str, reply: str) -> Effect:
        return judged(state, reply, truth(state))

    def form(self, agent: str) -> str:
        return FORM

    def weights(self, slot: Slot) -> Mapping[str, float]:
        if slot != "judge":
            raise UnknownName("slot of the workflow's own", slot, ("judge",))
        return WEIGHTS

    def legal(self, state: State, agent: str) -> tuple[str, ...]:
        return VERDICTS

    def oracle(self, state: State, agent: str) -> str:
        return truth(state)

    def told(self, agent: str, titles: Mapping[str, str]) -> str:
        """The place in the team of whoever is in all of them."""
        if agent == VERIFIER:
            return (
                "You are the verifier of a team: its members draft, you judge, then the aggregator acts. Approve if at "
                "least one of this turn's drafts is right or leads nearer to the solution; else reject. A rejection "
                f"costs the turn, except in the last one.\n{GRAMMAR}"
            )
        if agent == AGGREGATOR:
            return (
                f"You are the {titles['act']} and aggregator of a team in which {self.n} others only propose: weigh "
                "what they said in this turn. What you reply is done, whether they said it or not."
            )
        return (
            f"You are {agent} ({titles[self.slot(agent)]}) in a team of {self.n} whose aggregator sees what all of you "
            f"say, then acts.{self.told_of_verifier}"
        )

    @property
    def told_of_verifier(self) -> str:
        """What follows the sentence on the aggregator, for those who speak before it."""
        told = (
            " Before that a verifier judges the drafts; if it rejects them, the aggregator acts in the last turn only."
        )
        return told if self.verifier else ""


def follow(effects: Mapping[str, Effect], phase: int, last_turn: bool) -> tuple[Effect | None, int | None]:
    """`Workflow.advance` after all events but a router's."""
    if AGGREGATOR in effects:
        effect = effects[AGGREGATOR]
        return (None if effect.malformed else effect), None
    rejected = VERIFIER in effects and effects[VERIFIER].note != APPROVE
    return None, (None if rejected and not last_turn else phase + 1)


def truth(state: State) -> str:
    """The verdict on the turn's drafts: whether acting on any of them would be right (`Effect.right`)."""
    return APPROVE if any(e.effect.right for e in _of_turn(state, state.turn) if e.slot == "draft") else REJECT


def undone(turn: tuple[Entry, ...]) -> bool:
    """Whether something was said in that turn, and nothing done."""
    return bool(turn) and not any(e.slot == "act" and not e.effect.malformed for e in turn)


def _of_turn(state: State, turn: int) -> tuple[Entry, ...]:
    return tuple(entry for entry in state.memory if entry.turn == turn)


def _check_whole(name: str, given: Any, least: int, most: int) -> None:
    if not isinstance(given, int) or isinstance(given, bool) or not least <= given <= most:
        raise BadValue(f"{name} is {given!r}; a whole number from {least} to {most} was expected.")
