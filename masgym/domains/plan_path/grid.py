"""The grid: text in, distances out. A World is a cell of a Level.

A board is its text, rows joined by newlines, and a cell an index into that text: row * stride + column, where
stride = width + 1. A step off the left or right edge meets a newline. `distances` carries one more row of -1
below the last: a step off the bottom meets it, and so does one off the top, whose negative index counts from the end.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field

from masgym.errors import BadValue
from masgym.types import value

FREE, WALL, AGENT, GOAL = ".", "#", "@", "G"


@value
class Level:
    """What stays the same while a task is played. Worlds share it by reference."""

    text: str  # the board without the agent
    stride: int  # cells from a cell to the one below it
    start: int  # cell
    goal: int  # cell
    distances: tuple[int, ...] = field(compare=False, repr=False)  # cell -> fewest moves to the goal, or -1: no way
    steps: Mapping[str, int] = field(compare=False, repr=False)  # move -> what it adds to the cell

    @property
    def optimum(self) -> int:
        """Fewest moves from start to goal, at least 1."""
        return self.distances[self.start]


@value
class World:
    """Where the agent is."""

    level: Level
    at: int  # cell, never a wall

    @property
    def distance(self) -> int:
        """Fewest moves to the goal."""
        return self.level.distances[self.at]

    @property
    def rows(self) -> str:
        """The board as it is now."""
        text = self.level.text
        return text[: self.at] + AGENT + text[self.at + 1 :]


def legal_steps(world: World) -> dict[str, int]:
    """Legal move -> the cell it leads to. A free cell beside the agent is one from which the goal can be reached."""
    distances, at = world.level.distances, world.at
    return {move: at + step for move, step in world.level.steps.items() if distances[at + step] >= 0}


def walk(world: World, moves: str) -> tuple[World, str]:
    """(the world after the legal prefix of `moves`, that prefix); reaching the goal ends it."""
    level, at = world.level, world.at
    for count, move in enumerate(moves):
        to = at + level.steps[move]
        if level.distances[to] < 0:
            return World(level=level, at=at), moves[:count]
        at = to
        if at == level.goal:
            return World(level=level, at=at), moves[: count + 1]
    return World(level=level, at=at), moves


def parse_level(rows: Sequence[str]) -> Level:
    """Reads a board of ".", "#", one "@" and one "G". Raises BadValue for anything else, and if no way leads to G."""
    if len({len(row) for row in rows}) != 1 or not rows[0]:
        raise BadValue(f"the rows of a grid have {[len(row) for row in rows]} cells; all must have equally many.")
    text = "\n".join(rows)
    if strange := sorted(set("".join(rows)) - {FREE, WALL, AGENT, GOAL}):
        raise BadValue(f"the grid holds {strange}; known are {FREE!r}, {WALL!r}, {AGENT!r} and {GOAL!r}.")
    for mark, what in ((AGENT, "agent"), (GOAL, "goal")):
        if text.count(mark) != 1:
            raise BadValue(f"the grid holds {text.count(mark)} {mark!r} ({what}); exactly one was expected.")
    start, goal, stride = text.index(AGENT), text.index(GOAL), len(rows[0]) + 1
    text = text.replace(AGENT, FREE)
    distances = distances_to(goal, text, stride)
    if distances[start] < 0:
        raise BadValue("no way leads from the agent to the goal; open a wall between them.")
    steps = {"U": -stride, "D": stride, "L": -1, "R": 1}
    return Level(text=text, stride=stride, start=start, goal=goal, distances=distances, steps=steps)


def distances_to(goal: int, text: str, stride: int) -> tuple[int, ...]:
    """Breadth-first from `goal`: cell -> fewest moves, -1 for walls, newlines, cut-off cells and the row below."""
    open_cells = [mark not in "#\n" for mark in text] + [False] * (stride + 1)
    distances = [-1] * len(open_cells)
    distances[goal] = 0
    queue = [goal]
    for cell in queue:
        for to in (cell - stride, cell + stride, cell - 1, cell + 1):
            if open_cells[to] and distances[to] < 0:
                distances[to] = distances[cell] + 1
                queue.append(to)
    return tuple(distances)
