"""Exact push distances of every position of a layout, by searching backward over pulls from the solved ones."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TypeAlias

from masgym.domains.sokoban.board import Layout, cells, deltas, flood, shift

Table: TypeAlias = Mapping[int, list[tuple[int, int]]]  # boxes -> (region of the player, pushes to go)


@lru_cache(maxsize=512)
def table(layout: Layout) -> Table:
    """Every position that can be solved; what is not in it is dead. Breadth first, so distances are exact."""
    found: dict[int, list[tuple[int, int]]] = {}
    regions: dict[int, list[int]] = {}  # boxes -> regions not reached yet
    layer = _reach(layout, layout.goals, layout.floor & ~layout.goals, regions)
    depth = 0
    while layer:
        for boxes, region in layer:
            found.setdefault(boxes, []).append((region, depth))
        reached = (_reach(layout, *pull, regions) for node in layer for pull in pulls(layout, *node))
        layer = [node for nodes in reached for node in nodes]
        depth += 1
    return found


def pulls(layout: Layout, boxes: int, region: int) -> Iterator[tuple[int, int]]:
    """(boxes, player) after each pull that a player somewhere in `region` can make: a push undone."""
    for delta in deltas(layout.width).values():
        # the player stands beside the box, and has a free cell behind it
        for box in cells(boxes & shift(region & shift(region, -delta), -delta)):
            yield boxes ^ (box | shift(box, delta)), shift(box, 2 * delta)


def _reach(layout: Layout, boxes: int, players: int, regions: dict[int, list[int]]) -> list[tuple[int, int]]:
    """The regions of `boxes` that hold one of `players` and are reached for the first time; struck off `regions`."""
    waiting = regions.get(boxes)
    if waiting is None:
        waiting = regions[boxes] = list(_components(layout.floor & ~boxes, layout.width))
    new = [region for region in waiting if region & players]
    for region in new:
        waiting.remove(region)
    return [(boxes, region) for region in new]


def _components(free: int, width: int) -> Iterator[int]:
    while free:
        yield (region := flood(free & -free, free, width))
        free ^= region


def look_up(layout: Layout, boxes: int, player: int) -> int | None:
    """Pushes to go; None when dead."""
    for region, pushes in table(layout).get(boxes, ()):
        if region & player:
            return pushes
    return None
