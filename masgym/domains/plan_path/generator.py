"""Random grids with a way from the agent to the goal, stamped with its length."""

import numpy as np

from masgym.domains.plan_path.grid import AGENT, FREE, GOAL, WALL, distances_to
from masgym.tasks import Instance
from masgym.types import JSON

# Presets: fields of PlanPath. The published setting is 10x10. Random replies solve less than 5 % of each, so that the
# easy ones have few walls, not short ways: 32 random moves often meet a goal 5 moves away.
LEVELS: dict[str, dict[str, JSON]] = {
    "easy": {"size": 8, "wall_ratio": 0.1, "min_path": 8},
    "medium": {"size": 10, "wall_ratio": 0.22, "min_path": 6},
    "hard": {"size": 10, "wall_ratio": 0.3, "min_path": 13},
}


def draw(rng: np.random.Generator, *, size: int, wall_ratio: float, min_path: int, max_path: int) -> Instance | None:
    """One random grid; None when no start lies min_path..max_path moves from the goal that was drawn."""
    walls = rng.random((size, size)) < wall_ratio
    text = "\n".join("".join(WALL if wall else FREE for wall in row) for row in walls.tolist())
    free = [cell for cell, mark in enumerate(text) if mark == FREE]
    if not free:
        return None
    goal = free[rng.integers(len(free))]
    distances = distances_to(goal, text, size + 1)
    starts = [cell for cell in free if min_path <= distances[cell] <= max_path]
    if not starts:
        return None
    start = starts[rng.integers(len(starts))]
    cells = list(text)
    cells[start], cells[goal] = AGENT, GOAL
    optimum = distances[start]
    return Instance(content={"grid": "".join(cells).split("\n")}, level=level_name(optimum), optimum=optimum)


def level_name(optimum: int) -> str:
    """A task's difficulty by its shortest path: easy below 10 moves, hard from 13 on."""
    return "easy" if optimum < 10 else "medium" if optimum < 13 else "hard"
