"""pair: a tool user offers material, then the actor, who sees it, acts (STRONGER-MAS, arXiv 2510.11062)."""

from collections.abc import Mapping

from masgym.types import Effect, Entry, Slot, State, value
from masgym.workflows.memory import this_turn
from masgym.workflows.unjudged import Unjudged


@value
class Pair(Unjudged):
    """{tool} then {act}"""

    @property
    def name(self) -> str:
        return "pair"

    @property
    def agents(self) -> tuple[str, ...]:
        return ("tool_0", "actor_0")

    def slot(self, agent: str) -> Slot:
        return "tool" if agent == "tool_0" else "act"

    def active(self, state: State) -> tuple[str, ...]:
        return (self.agents[state.phase],)

    def visible(self, state: State, agent: str) -> tuple[Entry, ...]:
        return this_turn(state, agent)

    def brief(self, agent: str, titles: Mapping[str, str]) -> str:
        if agent == "tool_0":
            return f"You are the {titles['tool']} of a team of two. The {titles['act']} sees what you offer, then acts."
        return (
            f"You are the {titles['act']} of a team of two. What you reply is done; the {titles['tool']} only advises."
        )

    def advance(self, state: State, effects: Mapping[str, Effect], last_turn: bool) -> tuple[Effect | None, int | None]:
        if state.phase == 0:
            return None, 1
        effect = effects["actor_0"]
        return (None if effect.malformed else effect), None
