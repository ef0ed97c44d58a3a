"""ensemble: members draft or work as tool users at once, then the aggregator, who sees what they committed, acts (SRPO,
arXiv 2609.08452, section 4).

`schedule` says who speaks together: its sets one after another, each seeing what earlier ones committed. One set of all
is co-evolution, sets of one are division of labour, sets of different sizes are a mixed schedule.
"""

from collections.abc import Mapping
from typing import Any

from masgym.errors import BadValue, UnknownName
from masgym.types import Effect, State, value
from masgym.workflows.team import Team, follow


@value
class Ensemble(Team):
    """{draft or tool x n}, {judge} where asked, {act}"""

    schedule: tuple[tuple[str, ...], ...] | None = None  # every member once; None: all of them at once

    def __post_init__(self) -> None:
        """Raises BadValue and UnknownName for a team or a schedule that cannot be."""
        Team.__post_init__(self)
        object.__setattr__(self, "schedule", self._checked(self.schedule))

    @property
    def name(self) -> str:
        return "ensemble"

    @property
    def agents(self) -> tuple[str, ...]:
        return (*self.members, *(agent for event in self.closing for agent in event))

    @property
    def events(self) -> tuple[tuple[str, ...], ...]:
        """The active sets of a turn."""
        return (*(self.schedule or (self.members,)), *self.closing)

    def active(self, state: State) -> tuple[str, ...]:
        return self.events[state.phase]

    def brief(self, agent: str, titles: Mapping[str, str]) -> str:
        told = self.told(agent, titles)
        if agent not in self.members:
            return told
        (own,) = (event for event in self.events if agent in event)
        together = [other for other in own if other != agent]
        return f"{told} You speak at the same time as {', '.join(together)}." if together else told

    def advance(self, state: State, effects: Mapping[str, Effect], last_turn: bool) -> tuple[Effect | None, int | None]:
        return follow(effects, state.phase, last_turn)

    def _checked(self, given: Any) -> tuple[tuple[str, ...], ...] | None:
        """Lists will do. Within a set the members' own order counts."""
        if given is None:
            return None
        if not isinstance(given, list | tuple) or not all(isinstance(s, list | tuple) and s for s in given):
            raise BadValue(
                f"schedule is {given!r}; a list of sets of members was expected, as in [[tool_0], [worker_0]]."
            )
        listed: list[Any] = [agent for together in given for agent in together]
        for agent in listed:
            if agent not in self.members:
                raise UnknownName(f"member in a schedule of n={self.n}, tools={self.tools}", agent, self.members)
        if sorted(listed) != sorted(self.members):
            raise BadValue(f"schedule holds {listed}; each of {list(self.members)} once was expected.")
        return tuple(tuple(agent for agent in self.members if agent in together) for together in given)
