"""The solver against brute force on a naive board of coordinates, and on positions worked by hand."""

from collections import deque
from functools import cache

import pytest

from masgym.domains.sokoban import solver
from masgym.domains.sokoban.board import Position, cells, fault, move, parse, play, text_rows
from masgym.domains.sokoban.generator import draw_layout, generate
from masgym.rng import keyed

STEPS = {"U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1)}


class Naive:
    """The rules once more, over sets of (row, column)."""

    def __init__(self, rows):
        grid = {(r, c): symbol for r, row in enumerate(rows) for c, symbol in enumerate(row)}
        self.floor = {cell for cell, symbol in grid.items() if symbol != "#"}
        self.goals = frozenset(cell for cell, symbol in grid.items() if symbol in ".*+")
        boxes = frozenset(cell for cell, symbol in grid.items() if symbol in "$*")
        self.start = boxes, next(cell for cell, symbol in grid.items() if symbol in "@+")

    def step(self, state, name):
        boxes, (r, c) = state
        dr, dc = STEPS[name]
        to, beyond = (r + dr, c + dc), (r + 2 * dr, c + 2 * dc)
        if to not in self.floor or (to in boxes and (beyond not in self.floor or beyond in boxes)):
            return None
        return (boxes - {to} | {beyond} if to in boxes else boxes), to

    def graph(self):
        """Every state that can be reached: state -> {state after a move: 1 if it pushes, else 0}."""
        edges, queue = {}, [self.start]
        while queue:
            state = queue.pop()
            if state not in edges:
                after = {to for name in STEPS if (to := self.step(state, name))}
                edges[state] = {to: int(to[0] != state[0]) for to in after}
                queue.extend(after)
        return edges

    def distances(self):
        """(moves, pushes) to go of every reachable state that can be solved."""
        backward = {}
        for state, after in self.graph().items():
            backward.setdefault(state, [])
            for to, pushed in after.items():
                backward.setdefault(to, []).append((state, pushed))
        solved = [state for state in backward if state[0] == self.goals]
        return _search(backward, solved, lambda pushed: 1), _search(backward, solved, lambda pushed: pushed)


def _search(backward, solved, cost):
    """0-1 breadth-first search from `solved` (all costs 0 or 1)."""
    found, queue = dict.fromkeys(solved, 0), deque(solved)
    while queue:
        state = queue.popleft()
        for before, pushed in backward[state]:
            total = found[state] + cost(pushed)
            if total < found.get(before, total + 1):
                found[before] = total
                (queue.append if cost(pushed) else queue.appendleft)(before)
    return found


def position_of(start: Position, state) -> Position:
    def bits(places):
        return sum(1 << r * start.layout.width + c for r, c in places)

    return Position(layout=start.layout, boxes=bits(state[0]), player=bits([state[1]]))


@cache
def random_starts(count, size, boxes):
    """Starts with boxes anywhere: many of them cannot be solved."""
    starts = []
    for number in range(10_000):
        rng = keyed("solver", size, boxes, number)
        layout = draw_layout(rng, size, boxes, 0.2)
        places = list(cells(layout.floor)) if layout else []
        if len(places) > boxes + 1:
            *put, player = (places[i] for i in rng.choice(len(places), boxes + 1, replace=False))
            start = Position(layout=layout, boxes=sum(put), player=player)
            if fault(text_rows(start)) is None:
                starts.append(start)
        if len(starts) == count:
            return starts
    raise AssertionError("too few draws")


def check_against_brute_force(start, every):
    """Exact push distances, deadness, and optimal solutions, of every reachable position."""
    naive = Naive(text_rows(start))
    moves, pushes = naive.distances()
    for number, state in enumerate(naive.graph()):
        position = position_of(start, state)
        assert solver.pushes_left(position) == pushes.get(state)
        if number % every == 0:
            solution = solver.fewest_moves(position)
            assert (None if solution is None else len(solution)) == moves.get(state)
            if solution:
                assert play(position, solution)[0].solved
    return len(moves), len(naive.graph())


@pytest.fixture
def without_tables(monkeypatch):
    """Every layout counts as large, so A* has to answer."""

    def clear():
        for cached in (solver.is_small, solver._push_search, solver.fewest_moves):
            cached.cache_clear()

    monkeypatch.setattr(solver, "SMALL", 0)
    clear()
    yield
    clear()


def test_against_brute_force():
    counts = [check_against_brute_force(start, every=2) for start in random_starts(150, 6, 1)]
    counts += [check_against_brute_force(start, every=10) for start in random_starts(50, 6, 2)]
    alive, all_of_them = (sum(column) for column in zip(*counts, strict=True))
    assert 0.1 < alive / all_of_them < 0.9  # both answers were put to the test


def test_search_without_a_table_against_brute_force(without_tables):
    for start in random_starts(20, 5, 1) + random_starts(20, 6, 2):
        check_against_brute_force(start, every=3)


def test_next_push_leads_to_a_solution_with_fewest_pushes():
    for start in random_starts(20, 6, 2):
        if (left := solver.pushes_left(start)) is None:
            assert solver.next_push(start) is None
            continue
        position = start
        while not position.solved:
            position, _ = play(position, solver.next_push(position)[:2])  # cut short, as a turn would
        pushed, position = 0, start
        while not position.solved:
            position, _ = play(position, solver.next_push(position))
            pushed += 1
        assert pushed == left


def test_giving_up_is_no_verdict(without_tables, monkeypatch):
    dead = parse(TWO_IN_A_LINE)
    assert solver.estimate(dead) == 2  # the cheapest assignment: 1 + 1
    assert solver.pushes_left(dead) is None
    solver._push_search.cache_clear()
    monkeypatch.setattr(solver, "NODES", 0)
    assert not solver.push_search(dead).complete
    assert solver.pushes_left(dead) == 2
    assert solver.next_push(dead) is None


TWO_IN_A_LINE = ["#####", "#-@-#", "#-$-#", "#-*-#", "#-.-#", "#####"]


@pytest.mark.parametrize(
    ("rows", "pushes", "solution"),
    [
        (["#####", "#@$.#", "#####"], 1, "R"),
        (["######", "#@$-.#", "######"], 2, "RR"),
        (["######", "#.-$@#", "######"], 2, "LL"),
        (["######", "#-$@.#", "#----#", "######"], 2, "DLLURR"),  # walk round the box first
        (["#######", "#--.--#", "#-$$--#", "#--.@-#", "#-----#", "#######"], 3, None),  # 1 + 2
        (TWO_IN_A_LINE, None, None),
        (["######", "#$--.#", "#@---#", "######"], None, None),  # in a corner
        (["#####", "#-$-#", "#-@-#", "#-.-#", "#####"], None, None),  # along a wall without a goal
    ],
)
def test_by_hand(rows, pushes, solution):
    assert fault(rows) is None
    assert solver.pushes_left(parse(rows)) == pushes
    found = solver.fewest_moves(parse(rows))
    assert (found is None) == (pushes is None)
    if solution:
        assert found == solution


def test_generated_levels_are_what_they_are_stamped_with():
    made = 0
    for number in range(60):
        rng = keyed("stamped", number)
        boxes = 1 + number % 2
        level = generate(rng, size=6, boxes=boxes, walls=0.2, min_pushes=3, max_pushes=5, moves=12)
        if level is None:
            continue
        made += 1
        naive = Naive(level.content["board"])
        moves, pushes = naive.distances()
        assert len(naive.start[0]) == boxes
        assert level.optimum == moves[naive.start] <= 12
        assert 3 <= level.content["pushes"] == pushes[naive.start] <= 5
        assert level.level == ("easy" if level.content["pushes"] == 3 else "medium")
    assert made >= 20


def test_moves_follow_the_rules_of_the_naive_board():
    for start in random_starts(20, 6, 2):
        naive = Naive(text_rows(start))
        state, position = naive.start, start
        for name in keyed("walk", start.boxes).choice(list("UDLR"), 60):
            to, after = naive.step(state, name), move(position, name)
            assert (to is None) == (after is None)
            if to is not None:
                state, position = to, after
                assert position == position_of(start, state)
