"""Levels drawn at random, solvable by construction: a start is a position that pulls lead to from a solved one."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from masgym.domains.sokoban.board import Layout, Position, cells, flood, text_rows
from masgym.domains.sokoban.solver import fewest_moves, is_small, push_search, pushes_left
from masgym.domains.sokoban.tables import pulls, table
from masgym.tasks import Instance

T = TypeVar("T")

PULLS = 60  # of the walk that makes a start on a layout too large for a table


def difficulty(pushes: int) -> str:
    """The name of a level's difficulty, by its fewest pushes."""
    return "easy" if pushes < 4 else "medium" if pushes < 8 else "hard"


def generate(
    rng: np.random.Generator,
    *,
    size: int,
    boxes: int,
    walls: float,
    min_pushes: int,
    max_pushes: int | None,
    moves: int,
) -> Instance | None:
    """One draw: a level that takes `min_pushes` to `max_pushes` pushes and at most `moves` moves, or None.

    content = {"board": rows of XSB symbols, "pushes": the fewest pushes}; optimum = the fewest moves, exactly.
    """
    layout = draw_layout(rng, size, boxes, walls)
    most = moves if max_pushes is None else max_pushes
    start = layout and draw_start(rng, layout, min_pushes, most)
    if not start or not min_pushes <= (pushes := pushes_left(start) or 0) <= most:
        return None
    solution = fewest_moves(start)
    if solution is None or len(solution) > moves:
        return None
    content = {"board": list(text_rows(start)), "pushes": pushes}
    return Instance(content=content, level=difficulty(pushes), optimum=len(solution))


def draw_layout(rng: np.random.Generator, size: int, boxes: int, walls: float) -> Layout | None:
    """Each inner cell is a wall with probability `walls`; the largest connected part of the rest is floor."""
    inner = np.zeros((size, size), dtype=bool)
    inner[1:-1, 1:-1] = rng.random((size - 2, size - 2)) >= walls
    free = sum(1 << int(index) for index in np.flatnonzero(inner))
    floor = max((flood(cell, free, size) for cell in cells(free)), key=int.bit_count, default=0)
    if floor.bit_count() < boxes + 2:
        return None
    places = list(cells(floor))
    goals = sum(places[int(i)] for i in rng.choice(len(places), boxes, replace=False))
    return Layout(width=size, height=size, floor=floor, goals=goals)


def draw_start(rng: np.random.Generator, layout: Layout, fewest: int, most: int) -> Position | None:
    """A start `fewest` to `most` pushes from solved; on a layout that is not small, any that a walk of pulls meets."""
    if is_small(layout):
        starts = _starts(layout, fewest, most)
        if not starts:
            return None
        depths = sorted(starts)  # first how far, then which: distant starts are rare among all positions
        boxes, region = _one_of(rng, starts[_one_of(rng, depths)])
    else:
        boxes, region = _pull_at_random(rng, layout)
    player = _one_of(rng, list(cells(region)))
    start = Position(layout=layout, boxes=boxes, player=player)
    # on large layouts only what A* settles: `pushes` and `optimum` are exact
    return start if is_small(layout) or push_search(start).complete else None


def _starts(layout: Layout, fewest: int, most: int) -> dict[int, list[tuple[int, int]]]:
    """Pushes to go -> the positions (boxes, region) that far from solved."""
    starts: dict[int, list[tuple[int, int]]] = {}
    for boxes, rows in table(layout).items():
        for region, pushes in rows:
            if fewest <= pushes <= most:
                starts.setdefault(pushes, []).append((boxes, region))
    return starts


def _pull_at_random(rng: np.random.Generator, layout: Layout) -> tuple[int, int]:
    """(boxes, region) after `PULLS` pulls, or as many as there are."""
    boxes, free = layout.goals, layout.floor & ~layout.goals
    region = flood(_one_of(rng, list(cells(free))), free, layout.width)
    for _ in range(PULLS):
        choices = list(pulls(layout, boxes, region))
        if not choices:
            break
        boxes, player = _one_of(rng, choices)
        region = flood(player, layout.floor & ~boxes, layout.width)
    return boxes, region


def _one_of(rng: np.random.Generator, choices: Sequence[T]) -> T:
    return choices[int(rng.integers(len(choices)))]
