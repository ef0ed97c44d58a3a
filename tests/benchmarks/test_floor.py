"""The floor of the environment benchmark: the least that plain Python has to do, and tests that it does do that."""

import copy
import random
from collections import deque

import pytest

SOKOBAN_STEPS = {"U": -6, "D": 6, "L": -1, "R": 1}  # on 6x6, cell = 6 * row + column
INSIDE = [6 * row + column for row in range(1, 5) for column in range(1, 5)]
PATH_STEPS = {"U": -11, "D": 11, "L": -1, "R": 1}  # on 10x10, cell = 11 * row + column, one for the newline


class Floor:
    """The least that plain Python can do: Sokoban on ints, no rules beyond the moves, no rewards, no log."""

    def __init__(self, index: int, boxes: int = 2) -> None:
        """A level by random pulls, 40 at most, from a solved position."""
        rng = random.Random(index)
        floor = [cell for cell in INSIDE if rng.random() > 0.2]
        while len(floor) < boxes + 2:
            floor = INSIDE
        *goals, self.player = rng.sample(floor, boxes + 1)
        self.floor, self.goals = frozenset(floor), frozenset(goals)
        boxes_at = set(goals)
        for _ in range(40):
            step = rng.choice((-6, 6, -1, 1))
            to, behind = self.player - step, self.player + step
            if to in self.floor and to not in boxes_at:
                if behind in boxes_at:
                    boxes_at ^= {behind, self.player}
                self.player = to
        self.boxes = frozenset(boxes_at)
        marks = ["-" if cell in self.floor else "#" for cell in range(36)]
        for goal in goals:
            marks[goal] = "."
        self.marks = "".join(marks)

    def step(self, move: str) -> str:
        to = self.player + (step := SOKOBAN_STEPS[move])
        if to not in self.floor:
            return self.text()
        if to in self.boxes:
            if to + step not in self.floor or to + step in self.boxes:
                return self.text()
            self.boxes = self.boxes ^ {to, to + step}
        self.player = to
        return self.text()

    def text(self) -> str:
        marks = list(self.marks)
        for box in self.boxes:
            marks[box] = "*" if box in self.goals else "$"
        marks[self.player] = "+" if self.player in self.goals else "@"
        return "".join(marks)

    def legal(self) -> list[str]:
        return [move for move in "UDLR" if self._changed(move)]

    def _changed(self, move: str) -> bool:
        other = copy.copy(self)
        other.step(move)
        return other.player != self.player


class FloorPath:
    """Plan-Path likewise."""

    def __init__(self, index: int) -> None:
        """Random walls, and breadth-first search from the goal until some cell is 6 to 32 moves away."""
        rng = random.Random(index)
        far: list[int] = []
        while not far:
            cells = [row * 11 + column for row in range(10) for column in range(10) if rng.random() > 0.22]
            self.goal = rng.choice(cells)
            distances, queue, free = {self.goal: 0}, deque([self.goal]), set(cells)
            while queue:
                cell = queue.popleft()
                for to in (cell - 11, cell + 11, cell - 1, cell + 1):
                    if to in free and to not in distances:
                        distances[to] = distances[cell] + 1
                        queue.append(to)
            far = [cell for cell, distance in distances.items() if 6 <= distance <= 32]
        self.at, self.free = rng.choice(far), frozenset(cells)
        rows = ("".join("." if row * 11 + c in self.free else "#" for c in range(10)) for row in range(10))
        self.marks = "\n".join(rows)

    def step(self, move: str) -> str:
        to = self.at + PATH_STEPS[move]
        if to in self.free:
            self.at = to
        return self.marks[: self.at] + "@" + self.marks[self.at + 1 :]


@pytest.mark.parametrize("boxes", [1, 2])
def test_the_floors_levels_are_solvable(boxes):
    """By search: a floor that made unsolvable levels would be no floor of making levels."""
    for index in range(5):
        env = Floor(index, boxes)
        seen, queue = {(env.boxes, env.player)}, deque([(env.boxes, env.player)])
        while queue and not any(at == env.goals for at, _ in seen):
            state = queue.popleft()
            for move in "UDLR":
                env.boxes, env.player = state
                env.step(move)
                if (after := (env.boxes, env.player)) not in seen:
                    seen.add(after)
                    queue.append(after)
        assert any(at == env.goals for at, _ in seen)


def test_the_floor_walks_its_grid():
    env = FloorPath(3)
    for _ in range(3):
        before = env.at
        assert env.step("R").count("@") == 1
        assert env.at == (before + 1 if before + 1 in env.free else before)
    assert env.goal in env.free
