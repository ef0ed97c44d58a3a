"""Two speak at once, then one acts: a set of two members, for tests of the faces."""

from collections.abc import Mapping

from masgym.types import Effect, Entry, Slot, State, value
from masgym.workflows.memory import this_turn


@value
class Duo:
    """{tool_0, tool_1} then {act}"""

    @property
    def name(self) -> str:
        return "duo"

    @property
    def agents(self) -> tuple[str, ...]:
        return ("tool_0", "tool_1", "actor_0")

    def slot(self, agent: str) -> Slot:
        return "act" if agent == "actor_0" else "tool"

    def active(self, state: State) -> tuple[str, ...]:
        return self.agents[:2] if state.phase == 0 else self.agents[2:]

    def visible(self, state: State, agent: str) -> tuple[Entry, ...]:
        return this_turn(state, agent)

    def brief(self, agent: str, titles: Mapping[str, str]) -> str:
        return f"You are the {titles[self.slot(agent)]} of a team of three."

    def effect(self, state: State, agent: str, reply: str) -> Effect:
        raise AssertionError("duo has no judge and no route slot")

    def weights(self, slot: Slot) -> Mapping[str, float]:
        raise AssertionError("duo has no judge and no route slot")

    def advance(self, state: State, effects: Mapping[str, Effect], last_turn: bool) -> tuple[Effect | None, int | None]:
        if state.phase == 0:
            return None, 1
        effect = effects["actor_0"]
        return (None if effect.malformed else effect), None
