"""A domain for tests, small enough to read at once: walk along a line of cells to the far end.

The world is (cell, goal); a reply is a string of "+" and "-", at most `moves_per_turn` of them.
"""

import re
from collections.abc import Mapping

import numpy as np

from masgym.tasks import Instance, Procedural, TaskSource
from masgym.types import Effect, Slot, Style, Task, ToolCall, ToolResult, value

LEVELS = {"short": {"length": 4}, "long": {"length": 20, "moves_per_turn": 6}}


@value
class Line:
    length: int = 9
    turns: int = 8
    moves_per_turn: int = 4
    seed: int = 0

    @property
    def name(self) -> str:
        return "line"

    @property
    def tasks(self) -> TaskSource:
        return Procedural(domain="line", params={"length": self.length}, generate=self._generate, seed=self.seed)

    def _generate(self, rng: np.random.Generator) -> Instance:
        start = int(rng.integers(self.length - 1))
        salt = int(rng.integers(2**31))  # so that there are more tasks than start cells
        content = {"start": start, "goal": self.length - 1, "salt": salt}
        return Instance(content=content, level="line", optimum=self.length - 1 - start)

    @property
    def titles(self) -> Mapping[str, str]:
        return {"draft": "drafter", "tool": "scout", "act": "walker"}

    def initial(self, task: Task) -> tuple[int, int, int]:
        return (task.content["start"], task.content["start"], task.content["goal"])

    def render(self, world: tuple[int, int, int], style: Style) -> str:
        return "".join("@" if i == world[1] else "G" if i == world[2] else "." for i in range(self.length))

    def brief(self, slot: Slot) -> str:
        return "Walk to G: reply with + (right) and - (left)."

    def calls(self, slot: Slot, world: tuple, reply: str, results: tuple[ToolResult, ...]) -> tuple[ToolCall, ...]:
        return ()

    def effect(self, slot: Slot, world: tuple, reply: str, results: tuple[ToolResult, ...]) -> Effect:
        moves = re.sub(r"\s", "", reply)
        if not re.fullmatch(r"[+-]+", moves) or len(moves) > self.moves_per_turn:
            terms = {"format": 0.0, "legal": 0.0, "best": 0.0}
            return Effect(world=world, terms=terms, note="no list of + and -", malformed=True)
        start, cell, goal = world
        legal = 1.0
        for move in moves:
            step = cell + (1 if move == "+" else -1)
            if not 0 <= step < self.length:
                legal = 0.0
                break
            cell = step
            if cell == goal:
                break
        after = (start, cell, goal)
        return Effect(
            world=after,
            terms={"format": 1.0, "legal": legal, "best": float("-" not in moves)},
            note=f"{moves} leads to cell {cell}",
            brief=moves,
            right=self.potential(after) > self.potential(world),
            done=cell == goal,
        )

    def weights(self, slot: Slot) -> Mapping[str, float]:
        return {"format": 0.1, "legal": 0.1, "best": 0.8}

    def team(self, before: tuple, after: tuple) -> float:
        return 1.0 if after[1] == after[2] else max(0.0, (after[1] - before[1]) / (after[2] - after[0]))

    def potential(self, world: tuple[int, int, int]) -> float:
        return (world[1] - world[0]) / (world[2] - world[0])

    def legal(self, world: tuple[int, int, int], slot: Slot) -> tuple[str, ...]:
        return tuple(m for m, ok in (("+", world[1] < world[2]), ("-", world[1] > 0)) if ok)

    def oracle(self, world: tuple[int, int, int], slot: Slot) -> str:
        return "+" * max(1, min(self.moves_per_turn, world[2] - world[1]))
