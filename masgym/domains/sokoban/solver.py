"""How far a position is from solved, and how to solve it.

A layout is small when it has at most `SMALL` ways to place its boxes on live cells: a search backward over pulls from
the solved positions then gives the exact push distance of EVERY position, and what is not in that table is dead. On
larger layouts A* over pushes answers for one position at a time, guided by the cheapest assignment of boxes to goals.
It gives up after `NODES` expanded nodes: then the position counts as live, at the assignment's lower bound.

Complete searches give exact answers, so a solvable position is never called dead.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from math import comb, inf
from typing import TypeAlias

from masgym.domains.sokoban.board import Layout, Position, cells, deltas, flood, play, shift
from masgym.domains.sokoban.bounds import assignment, live
from masgym.domains.sokoban.tables import look_up
from masgym.types import value

SMALL = 2_000  # box placements; a table of that many takes about 20 ms and 1 MB
NODES = 20_000  # about a second

Node: TypeAlias = tuple[int, int]  # boxes, and the player's cell or the region it can walk
Step: TypeAlias = tuple[int, str]  # a push: where the player stands before it, and its direction


@value
class Search:
    """What A* found."""

    path: tuple[Step, ...] | None  # None: no path, if `complete`
    complete: bool  # False: it gave up


def pushes_left(position: Position) -> int | None:
    """Fewest pushes to solve `position`; None when it is dead (no solution exists). At the bound: see above."""
    if is_small(position.layout):
        return look_up(position.layout, position.boxes, position.player)
    found = push_search(position)
    return len(found.path) if found.path is not None else None if found.complete else estimate(position)


def estimate(position: Position) -> int | None:
    """A lower bound of `pushes_left`, exact on small layouts; None only for dead positions."""
    if is_small(position.layout):
        return look_up(position.layout, position.boxes, position.player)
    return assignment(position.layout, position.boxes)


@lru_cache(maxsize=8192)
def fewest_moves(position: Position) -> str | None:
    """A solution with the fewest moves; None when the position is dead, or A* gave up (never on small layouts)."""
    layout = position.layout
    small = is_small(layout)

    def remaining(node: Node) -> int | None:
        return look_up(layout, *node) if small else assignment(layout, node[0])

    def successors(node: Node) -> Iterator[tuple[int, Node, Step]]:
        return _walks_and_pushes(layout, *node)

    found = _astar((position.boxes, position.player), successors, remaining, inf if small else NODES)
    return None if found.path is None else _spell(position, found.path)


def next_push(position: Position) -> str | None:
    """The walk to the next push of a push-optimal solution, and that push; None when dead, solved or given up.

    The push depends on the region only, not on where in it the player stands: so following it always gets nearer.
    """
    found = push_search(position)
    return _spell(position, found.path[:1]) if found.path else None


def moves_left(position: Position) -> int | None:
    """Moves of `fewest_moves`, None when dead. On layouts that are not small: of a push-optimal solution with the
    shortest walks between its pushes, or the lower bound of its pushes where A* gave up."""
    if is_small(position.layout):
        moves = fewest_moves(position)
        return None if moves is None else len(moves)
    found = push_search(position)
    if found.path is not None:
        return len(_spell(position, found.path))
    return None if found.complete else estimate(position)


def push_search(position: Position) -> Search:
    """A* over pushes, from the player's whole region."""
    layout = position.layout
    region = flood(position.player, layout.floor & ~position.boxes, layout.width)
    return _push_search(layout, position.boxes, region)


@lru_cache(maxsize=32_768)
def _push_search(layout: Layout, boxes: int, region: int) -> Search:
    def remaining(node: Node) -> int | None:
        return assignment(layout, node[0])

    return _astar((boxes, region), lambda node: _pushes(layout, *node), remaining, NODES)


@lru_cache(maxsize=4096)
def is_small(layout: Layout) -> bool:
    """Whether positions of `layout` are answered from a complete table."""
    return comb(live(layout).bit_count(), layout.goals.bit_count()) <= SMALL


def _pushes(layout: Layout, boxes: int, region: int) -> Iterator[tuple[int, Node, Step]]:
    """(cost 1, boxes and region after it, the push) of each push from `region`."""
    free = layout.floor & ~boxes
    for step, delta in deltas(layout.width).items():
        for box in cells(boxes & shift(region, delta) & shift(free, -delta)):
            after = boxes ^ (box | shift(box, delta))
            yield 1, (after, flood(box, layout.floor & ~after, layout.width)), (shift(box, -delta), step)


def _walks_and_pushes(layout: Layout, boxes: int, player: int) -> Iterator[tuple[int, Node, Step]]:
    """(moves, boxes and player after them, the push) of each push that the player can walk to."""
    free = layout.floor & ~boxes
    beside = boxes << 1 | boxes >> 1 | boxes << layout.width | boxes >> layout.width
    for walked, front in enumerate(_fronts(player, free, layout.width)):
        for step, delta in deltas(layout.width).items() if front & beside else ():
            for box in cells(boxes & shift(front, delta) & shift(free, -delta)):
                yield walked + 1, (boxes ^ (box | shift(box, delta)), box), (shift(box, -delta), step)


def _fronts(start: int, free: int, width: int) -> Iterator[int]:
    """The cells of `free` at walking distance 0, 1, 2 ... of `start`."""
    seen, front = start, start
    while front:
        yield front
        front = (front << 1 | front >> 1 | front << width | front >> width) & free & ~seen
        seen |= front


def _astar(
    start: Node,
    successors: Callable[[Node], Iterable[tuple[int, Node, Step]]],
    remaining: Callable[[Node], int | None],
    nodes: float,
) -> Search:
    """A cheapest path to a node with nothing remaining; gives up after expanding `nodes`.

    `remaining` is consistent, and None for a node from which there is no path. Among equals, deeper nodes first.
    """
    first = remaining(start)
    if first is None:
        return Search(path=None, complete=True)
    costs, parents, closed = {start: 0}, dict[Node, tuple[Node, Step]](), set[Node]()
    heap = [(first, first, 0, start)]
    pushed = 0
    while heap:
        _, rest, _, node = heapq.heappop(heap)
        if rest == 0:
            return Search(path=_trace(parents, start, node), complete=True)
        if node in closed:
            continue
        closed.add(node)
        if len(closed) > nodes:
            return Search(path=None, complete=False)
        for cost, after, step in successors(node):
            total = costs[node] + cost
            if total < costs.get(after, total + 1) and (rest := remaining(after)) is not None:
                costs[after], parents[after] = total, (node, step)
                pushed += 1
                heapq.heappush(heap, (total + rest, rest, pushed, after))
    return Search(path=None, complete=True)


def _trace(parents: Mapping[Node, tuple[Node, Step]], start: Node, node: Node) -> tuple[Step, ...]:
    path: list[Step] = []
    while node != start:
        node, step = parents[node]
        path.append(step)
    return tuple(reversed(path))


def _spell(position: Position, path: Iterable[Step]) -> str:
    """Pushes as moves: the shortest walk to each, then the push."""
    moves = ""
    for stand, step in path:
        made = _walk(position, stand) + step
        position, _ = play(position, made)
        moves += made
    return moves


def _walk(position: Position, target: int) -> str:
    """A shortest walk of the player to `target`, which is in its region."""
    layout, moves, player = position.layout, "", position.player
    fronts: list[int] = []
    for front in _fronts(target, layout.floor & ~position.boxes, layout.width):
        if front & player:
            break
        fronts.append(front)
    for front in reversed(fronts):  # each one step nearer to the target
        step, player = next((s, to) for s, d in deltas(layout.width).items() if (to := shift(player, d)) & front)
        moves += step
    return moves
