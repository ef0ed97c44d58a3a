"""solo: one agent acts every turn."""

from collections.abc import Mapping

from masgym.types import Effect, Entry, Slot, State, value
from masgym.workflows.memory import this_turn
from masgym.workflows.unjudged import Unjudged


@value
class Solo(Unjudged):
    """{act}"""

    @property
    def name(self) -> str:
        return "solo"

    @property
    def agents(self) -> tuple[str, ...]:
        return ("actor_0",)

    def slot(self, agent: str) -> Slot:
        return "act"

    def active(self, state: State) -> tuple[str, ...]:
        return self.agents

    def visible(self, state: State, agent: str) -> tuple[Entry, ...]:
        return this_turn(state, agent)

    def brief(self, agent: str, titles: Mapping[str, str]) -> str:
        return f"You are the {titles['act']}. You work alone; what you reply is done."

    def advance(self, state: State, effects: Mapping[str, Effect], last_turn: bool) -> tuple[Effect | None, int | None]:
        effect = effects["actor_0"]
        return (None if effect.malformed else effect), None
