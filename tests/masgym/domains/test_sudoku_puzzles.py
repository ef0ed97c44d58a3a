"""Puzzles and their solver, against brute force; replies that try to earn more than they should."""

from itertools import islice, permutations, product
from time import thread_time

import pytest

import masgym
from masgym.domains.sudoku import LEVELS, Sudoku, solver
from masgym.domains.sudoku.generator import draw
from masgym.domains.sudoku.grid import SHAPES
from masgym.domains.sudoku.solver import candidates, hardest_technique, solutions, solve
from masgym.rng import keyed
from masgym.tasks import SPLITS
from masgym.testing import check_game


def every_grid():
    """All full 4x4 grids, row by row from permutations: nothing of the solver is used."""
    rows = list(permutations("1234"))
    for grid in product(rows, repeat=4):
        columns_differ = all(len(set(column)) == 4 for column in zip(*grid, strict=True))
        if columns_differ and all(
            len({*grid[r][c : c + 2], *grid[r + 1][c : c + 2]}) == 4 for r in (0, 2) for c in (0, 2)
        ):
            yield "".join(map("".join, grid))


GRIDS = list(every_grid())


def completions(cells):
    return [g for g in GRIDS if all(cell in (".", digit) for cell, digit in zip(cells, g, strict=True))]


@pytest.mark.parametrize("level", ["easy", "medium"])
def test_a_small_puzzle_takes_at_most_five_milliseconds_to_make(level):
    """Of CPU time, those included that are drawn and belong to another split."""
    tasks = masgym.game("sudoku", level=level).domain.tasks
    tasks.get("test", 0)
    start = thread_time()
    for index in range(100):
        tasks.get("test", index)
    assert (thread_time() - start) / 100 <= 0.005


class TestSolver:
    def test_all_288_grids(self):
        assert len(GRIDS) == 288
        assert sorted(solutions("." * 16)) == sorted(GRIDS)

    def test_solutions_equal_brute_force(self):
        for number in range(150):
            rng = keyed("holes", number)
            grid = GRIDS[rng.integers(288)]
            holes = set(rng.choice(16, size=rng.integers(4, 14), replace=False).tolist())
            cells = "".join("." if cell in holes else digit for cell, digit in enumerate(grid))
            assert sorted(solutions(cells)) == sorted(completions(cells))

    def test_an_impossible_grid_has_none(self):
        assert solve("123....4" + "." * 8) == ()

    def test_solutions_are_distinct_and_come_in_one_order(self):
        assert next(solutions("." * 81)) == next(solutions("." * 81))
        assert len(set(islice(solutions("." * 81), 50))) == 50

    def test_units_and_peers(self):
        for size, peers in ((4, 7), (9, 20)):
            assert {len(found) for found in SHAPES[size].peers} == {peers}
            assert {len(unit) for unit in SHAPES[size].units} == {size}
        assert set(SHAPES[4].peers[5]) == {0, 1, 4, 6, 7, 9, 13}

    @pytest.mark.parametrize(
        ("technique", "givens"), [("naked_single", 36), ("hidden_single", 28), ("pair", 27), ("search", 27)]
    )
    def test_grades_equal_plain_singles(self, technique, givens):
        """Naive candidate sets get stuck exactly where the grade says, on two puzzles of each."""
        graded, number = list[str](), 0
        while len(graded) < 2:
            made = draw(keyed("grade", number), size=9, givens=givens, min_technique=technique, max_technique=technique)
            graded, number = [*graded, "".join(made.content["givens"])] if made else graded, number + 1
        for cells in graded:
            assert hardest_technique(cells) == technique
            assert plain_singles(cells, hidden=False) == (technique == "naked_single")
            assert plain_singles(cells, hidden=True) == (technique in ("naked_single", "hidden_single"))

    def test_a_naked_pair_worked_by_hand(self):
        """r1c1 and r1c2 hold {1, 2} alone: the rest of row 1 loses both."""
        masks = [0b0011, 0b0011, 0b0111, 0b1110, *[0b1111] * 12]
        assert solver._pairs(masks, SHAPES[4])
        assert masks == [0b0011, 0b0011, 0b0100, 0b1100, *[0b1111] * 12]

    def test_a_locked_candidate_worked_by_hand(self):
        """4 fits only r1c1 and r1c2 of box 1: the rest of row 1 loses it. Rows and columns give nothing before."""
        masks = [0b1111, 0b1111, 0b1111, 0b1111, 0b0111, 0b0111, 0b1111, 0b1111, *[0b1111] * 8]
        before = list(masks)
        assert solver._pairs(masks, SHAPES[4])
        assert masks != before
        while solver._pairs(masks, SHAPES[4]):
            pass
        assert [mask >> 3 & 1 for mask in masks[:4]] == [1, 1, 0, 0]
        assert [mask & 0b0111 for mask in masks] == [0b0111] * 16

    def test_what_excludes_candidates_keeps_the_solution(self):
        """On puzzles that singles do not solve, until nothing more is excluded."""
        excluded = 0
        for number in range(12):
            made = draw(keyed("sound", number), size=9, givens=26, min_technique="pair", max_technique="search")
            if made:
                cells = "".join(made.content["givens"])
                masks = candidates(cells, SHAPES[9])
                while solver._pairs(masks, SHAPES[9]):
                    excluded += 1
                (solution,) = solve(cells)
                assert all(not m or m >> int(digit) - 1 & 1 for m, digit in zip(masks, solution, strict=True))
        assert excluded


def plain_singles(cells, hidden):
    """Whether naked (and hidden) singles alone fill the grid."""
    size = {16: 4, 81: 9}[len(cells)]
    box = {4: 2, 9: 3}[size]
    filled = dict(enumerate(cells))

    def sees(a, b):
        (r, c), (y, x) = divmod(a, size), divmod(b, size)
        return a != b and (r == y or c == x or (r // box, c // box) == (y // box, x // box))

    def fits(cell):
        return {d for d in "123456789"[:size] if not any(filled[b] == d for b in filled if sees(cell, b))}

    def groups(cell):
        r, c = divmod(cell, size)
        yield [b for b in filled if b // size == r]
        yield [b for b in filled if b % size == c]
        yield [b for b in filled if (b // size // box, b % size // box) == (r // box, c // box)]

    moved = True
    while moved and "." in filled.values():
        open_cells = {cell: fits(cell) for cell in filled if filled[cell] == "."}
        singles = {cell: min(found) for cell, found in open_cells.items() if len(found) == 1}
        if hidden and not singles:
            singles = {
                cell: digit
                for cell, found in open_cells.items()
                for digit in found
                for group in groups(cell)
                if not any(digit in open_cells.get(b, ()) for b in group if b != cell)
            }
            singles = dict([*singles.items()][:1])
        filled.update(singles)
        moved = bool(singles)
    return "." not in filled.values()


class TestFault4:
    """Fault 4: puzzles without a solution, and test puzzles that were training puzzles."""

    @pytest.mark.parametrize("level", ["easy", "medium"])
    def test_every_puzzle_has_exactly_one_solution(self, level):
        domain = Sudoku(**LEVELS[level])
        for split in SPLITS:
            for index in range(60):
                givens = "".join(domain.tasks.get(split, index).content["givens"])
                assert len(completions(givens)) == 1
                assert 16 - givens.count(".") == LEVELS[level]["givens"]

    @pytest.mark.parametrize("level", ["hard", "expert"])
    def test_every_large_puzzle_has_exactly_one_solution(self, level):
        domain = Sudoku(**LEVELS[level])
        for index in range(4):
            task = domain.tasks.get("train", index)
            givens = "".join(task.content["givens"])
            assert len(solve(givens)) == 1
            assert (task.level, task.optimum) == (level, 81 - LEVELS[level]["givens"])
            assert (hardest_technique(givens) in ("pair", "search")) == (level == "expert")

    def test_test_puzzles_are_not_training_puzzles(self):
        assert_splits_differ(300)

    @pytest.mark.slow
    def test_ten_thousand_test_puzzles_are_not_training_puzzles(self):
        assert_splits_differ(10_000)


def assert_splits_differ(count):
    tasks = Sudoku().tasks
    train, validation, test = ({tuple(tasks.get(s, i).content["givens"]) for i in range(count)} for s in SPLITS)
    assert not train & validation
    assert not train & test
    assert not validation & test
    assert len(test) > 0.9 * count


class TestContract:
    @pytest.mark.parametrize("workflow", ["solo", "pair", "verify"])
    @pytest.mark.parametrize("style", ["full", "compact"])
    def test_it_is_kept(self, workflow, style):
        game = masgym.game("sudoku", workflow, style=style)
        check_game(game, new_process=style == "full", replies=("1234341221434321", "r1c1=1 r1c1=2"))

    def test_it_is_kept_by_large_puzzles_with_a_limit(self):
        game = masgym.game("sudoku", "solo", size=9, givens=60, moves_per_turn=4)
        check_game(game, tasks=1, beam=2, new_process=False)

    @pytest.mark.slow
    @pytest.mark.parametrize("level", LEVELS)
    def test_the_oracle_solves_500(self, level):
        games = [masgym.game("sudoku", workflow, level=level) for workflow in ("solo", "pair", "verify")]
        for index in range(500):
            task = games[0].domain.tasks.get("test", index)
            for game in games:
                state = game.initial(task)
                while members := game.active(state):
                    state = game.apply(state, {agent: game.oracle(state, agent) for agent in members}, {}).state
                assert state.success


class TestNoReplyPaysMoreThanHonestWork:
    """At any state no reply is scored above the oracle's: published form, return form, each role."""

    @pytest.mark.parametrize("limit", [None, 3])
    def test_fuzzed_replies(self, limit):
        assert_honest(limit, 3_000)

    @pytest.mark.slow
    @pytest.mark.parametrize("limit", [None, 3])
    def test_fifty_thousand_fuzzed_replies(self, limit):
        assert_honest(limit, 50_000)


def assert_honest(limit, count):
    game = masgym.game("sudoku", "pair", givens=7, moves_per_turn=limit)
    done = 0
    for index in range(count):
        state = game.initial(game.domain.tasks.get("train", index % 50))
        rng = keyed("honest", limit or 0, index)
        while members := game.active(state):
            (agent,) = members
            honest = game.apply(state, {agent: game.oracle(state, agent)}, {})
            tried = game.apply(state, {agent: adversarial(game, state, agent, rng)}, {})
            assert tried.published(agent) <= honest.published(agent) + 1e-9
            assert tried.gain + tried.penalty <= honest.gain + 1e-9
            state, done = tried.state, done + 1
            if done == count:
                return


def adversarial(game, state, agent, rng):
    puzzle = state.world.puzzle
    digits = list("1234")
    oracle = game.oracle(state, agent)
    legal = game.legal(state, agent)
    ways = (
        lambda: "".join(rng.choice(digits, 16)),  # a grid over the givens
        lambda: GRIDS[rng.integers(288)],
        lambda: "".join(rng.choice(digits) if g == "." else g for g in puzzle.givens),
        lambda: " ".join(f"{r}{c}={d}" for r in range(1, 5) for c in range(1, 5) for d in range(1, 5)),  # all options
        lambda: " ".join(rng.permutation(legal)),
        lambda: " ".join(rng.choice(legal, rng.integers(1, 6))),
        lambda: f"<answer>{oracle}</answer><answer>{oracle}</answer>",
        lambda: f"<answer><answer>{oracle}</answer></answer>",
        lambda: oracle.translate(str.maketrans("1234", "\u0661\u0662\u0663\u0664")),
        lambda: oracle.replace("=", "=" + "9" * 300),
        lambda: game.observe(state, agent).text,  # the prompt echoed
        lambda: game.domain.render(state.world, "compact"),
        lambda: f"{oracle} {oracle}",
        lambda: mutated(oracle, rng),
        lambda: "",
    )
    return ways[rng.integers(len(ways))]()


def mutated(text, rng):
    at = int(rng.integers(len(text)))
    return text[:at] + str(rng.choice(list("1234=rc ,<>\n"))) + text[at + int(rng.integers(2)) :]
