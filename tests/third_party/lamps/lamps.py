"""A domain and a workflow in one file. Lamps: switch all of them on. Relay: two actors, turn by turn.

reply := <answer>numbers</answer> | numbers      the lamps to switch, counted from 0, at most `presses` of them
"""

from collections.abc import Mapping

import numpy as np

from masgym.tags import Malformed, inside
from masgym.tasks import Instance, Procedural
from masgym.types import Effect, Entry, Slot, State, Style, Task, ToolCall, ToolResult, value
from masgym.workflows.memory import this_turn
from masgym.workflows.unjudged import Unjudged

LEVELS = {"short": {"length": 5}, "long": {"length": 10}}
WEIGHTS = {"format": 0.2, "useful": 0.8}


@value
class World:
    lamps: str  # "o" is on, "." is off
    at_first: int  # how many were off at the start


@value
class Lamps:
    length: int = 8
    presses: int = 2
    turns: int = 8  # the game's T
    seed: int = 0

    @property
    def name(self) -> str:
        return "lamps"

    @property
    def titles(self) -> Mapping[str, str]:
        return {"act": "switcher", "draft": "switcher", "tool": "watcher"}

    @property
    def tasks(self) -> Procedural:
        params = {"length": self.length, "most": self.turns * self.presses}
        return Procedural(domain="lamps", params=params, generate=self._draw, seed=self.seed)

    def _draw(self, rng: np.random.Generator) -> Instance | None:
        lamps = "".join("o" if on else "." for on in rng.random(self.length) < 0.4)
        off = lamps.count(".")
        if not 1 <= off <= self.turns * self.presses:
            return None
        return Instance(content={"lamps": lamps, "salt": int(rng.integers(1000))}, level="lamps", optimum=off)

    def initial(self, task: Task) -> World:
        return World(lamps=task.content["lamps"], at_first=task.content["lamps"].count("."))

    def render(self, world: World, style: Style) -> str:
        return world.lamps

    def brief(self, slot: Slot) -> str:
        return (
            "A row of lamps: o is on, . is off. Switch all of them on. Reply with the numbers of the lamps to switch, "
            f"counted from 0, at most {self.presses} of them, between <answer> and </answer>."
        )

    def calls(self, slot: Slot, world: World, reply: str, results: tuple[ToolResult, ...]) -> tuple[ToolCall, ...]:
        return ()

    def effect(self, slot: Slot, world: World, reply: str, results: tuple[ToolResult, ...]) -> Effect:
        pressed = self._numbers(reply)
        if isinstance(pressed, Malformed):
            return Effect(world=world, terms=dict.fromkeys(WEIGHTS, 0.0), note=pressed.reason, malformed=True)
        lamps = "".join({"o": ".", ".": "o"}[lamp] if i in pressed else lamp for i, lamp in enumerate(world.lamps))
        after = World(lamps=lamps, at_first=world.at_first)
        useful = sum(world.lamps[i] == "." for i in pressed) / len(pressed)
        return Effect(
            world=after,
            terms={"format": 1.0, "useful": useful},
            note=f"switched {' '.join(map(str, sorted(pressed)))}",
            brief=" ".join(map(str, sorted(pressed))),
            right=self.potential(after) > self.potential(world),
            done="." not in lamps,
        )

    def _numbers(self, reply: str) -> set[int] | Malformed:
        text = inside(reply, "answer")
        if isinstance(text, Malformed):
            return text
        words = text.split()
        if not words or len(words) > self.presses:
            return Malformed(reason=f"it names {len(words)} lamps; 1 to {self.presses} were expected")
        known = {str(i): i for i in range(self.length)}
        if any(word not in known for word in words):
            return Malformed(reason=f"a lamp is a number from 0 to {self.length - 1}")
        return {known[word] for word in words}

    def weights(self, slot: Slot) -> Mapping[str, float]:
        return WEIGHTS

    def team(self, before: World, after: World) -> float:
        return after.lamps.count("o") / self.length

    def potential(self, world: World) -> float:
        return max(0.0, 1 - world.lamps.count(".") / world.at_first)

    def legal(self, world: World, slot: Slot) -> tuple[str, ...]:
        return tuple(str(i) for i in range(self.length))

    def oracle(self, world: World, slot: Slot) -> str:
        off = [str(i) for i, lamp in enumerate(world.lamps) if lamp == "."]
        return " ".join(off[: self.presses] or ["0"])


@value
class Relay(Unjudged):
    """Turn by turn {act} of the one, then of the other."""

    @property
    def name(self) -> str:
        return "relay"

    @property
    def agents(self) -> tuple[str, ...]:
        return ("first_0", "second_0")

    def slot(self, agent: str) -> Slot:
        return "act"

    def active(self, state: State) -> tuple[str, ...]:
        return (self.agents[state.turn % 2],)

    def visible(self, state: State, agent: str) -> tuple[Entry, ...]:
        return this_turn(state, agent)

    def brief(self, agent: str, titles: Mapping[str, str]) -> str:
        return f"You are a {titles['act']}. You and another one act in turns; what you reply is done."

    def advance(self, state: State, effects: Mapping[str, Effect], last_turn: bool) -> tuple[Effect | None, int | None]:
        (effect,) = effects.values()
        return (None if effect.malformed else effect), None
