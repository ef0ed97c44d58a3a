"""Lower bounds of the pushes to go, from walls and boxes alone, wherever the player stands."""

from functools import lru_cache

from masgym.domains.sokoban.board import Layout, cells, deltas, shift


@lru_cache(maxsize=1024)
def _distances(layout: Layout) -> tuple[dict[int, int], ...]:
    """Of each goal: box cell -> pushes from there to the goal on an empty board, the player anywhere."""
    return tuple(_pull_distances(layout, goal) for goal in cells(layout.goals))


def _pull_distances(layout: Layout, goal: int) -> dict[int, int]:
    found, layer = {goal: 0}, [goal]
    while layer:
        around = [(box, shift(box, d), shift(box, 2 * d)) for box in layer for d in deltas(layout.width).values()]
        layer = []
        for box, to, player in around:
            if to & layout.floor and player & layout.floor and to not in found:
                found[to] = found[box] + 1
                layer.append(to)
    return found


def live(layout: Layout) -> int:
    """The cells from which a box can be pushed to some goal; a box on any other floor cell is stuck for good."""
    return sum(set().union(*_distances(layout)))


@lru_cache(maxsize=65_536)
def assignment(layout: Layout, boxes: int) -> int | None:
    """The cheapest assignment of boxes to goals, exactly; None when there is none or boxes block each other."""
    if _frozen_square(layout, boxes):
        return None
    rows = [[of_goal.get(box) for of_goal in _distances(layout)] for box in cells(boxes)]
    best = {0: 0}  # bit set of goals used -> cost of the boxes so far
    for row in rows:
        longer: dict[int, int] = {}
        for used, cost in best.items():
            for goal, distance in enumerate(row):
                if distance is not None and not used >> goal & 1:
                    key, total = used | 1 << goal, cost + distance
                    longer[key] = min(total, longer.get(key, total))
        best = longer
    return min(best.values(), default=None)


def _frozen_square(layout: Layout, boxes: int) -> bool:
    """Whether a 2 x 2 square of walls and boxes holds a box off its goal: none of them can ever move."""
    width, hard = layout.width, ~(layout.floor & ~boxes)
    corners = hard & hard >> 1 & hard >> width & hard >> (width + 1)
    return bool((corners | corners << 1 | corners << width | corners << (width + 1)) & boxes & ~layout.goals)
