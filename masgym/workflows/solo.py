"""solo: one agent acts every turn."""

from collections.abc import Mapping

from masgym.errors import BadValue
from masgym.types import Effect, Entry, Slot, State, value
from masgym.workflows.memory import this_turn


@value
class Solo:
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

    def effect(self, state: State, agent: str, reply: str) -> Effect:
        raise BadValue("solo has no judge and no route slot.")

    def weights(self, slot: Slot) -> Mapping[str, float]:
        raise BadValue("solo has no judge and no route slot.")

    def legal(self, state: State, agent: str) -> tuple[str, ...]:
        raise BadValue("solo has no judge and no route slot.")

    def oracle(self, state: State, agent: str) -> str:
        raise BadValue("solo has no judge and no route slot.")

    def advance(self, state: State, effects: Mapping[str, Effect], last_turn: bool) -> tuple[Effect | None, int | None]:
        effect = effects["actor_0"]
        return (None if effect.malformed else effect), None
