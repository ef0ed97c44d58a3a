"""Estimates, with numbers worked by hand."""

import math
import random
from itertools import combinations

import pytest

from masgym.estimates import mean_of, paired_difference, pass_at_k, pass_interval, success_interval


def test_pass_at_k_by_hand():
    # 4 samples, 1 solves: of the 6 pairs 3 hold it; of the 4 triples 3
    assert [pass_at_k(4, 1, k) for k in (1, 2, 3, 4)] == pytest.approx([1 / 4, 1 / 2, 3 / 4, 1])
    # 5 samples, 2 solve: of the 10 pairs 3 hold none
    assert pass_at_k(5, 2, 2) == pytest.approx(7 / 10)
    assert (pass_at_k(8, 0, 8), pass_at_k(8, 8, 1)) == (0, 1)


@pytest.mark.parametrize("outcomes", [[True, False, False, False, True], [False] * 3 + [True], [True] * 4])
def test_pass_at_k_is_the_share_of_all_subsets_that_hold_a_solution(outcomes):
    for k in range(1, len(outcomes) + 1):
        subsets = list(combinations(outcomes, k))
        expected = sum(map(any, subsets)) / len(subsets)
        assert pass_at_k(len(outcomes), sum(outcomes), k) == pytest.approx(expected)


def test_pass_at_k_over_tasks_is_their_mean_and_for_one_sample_it_is_success():
    by_task = [[True, False, False, False], [False] * 4, [True] * 4]
    assert pass_interval(by_task, 2).mean == pytest.approx((1 / 2 + 0 + 1) / 3)
    assert pass_interval(by_task, 1) == success_interval(by_task)


def test_the_interval_of_pass_at_k_covers():
    draw, inside = random.Random(1), 0
    chances = [0.05, 0.2, 0.6]
    truth = sum(1 - (1 - p) ** 4 for p in chances) / 3
    for _ in range(300):
        by_task = [[draw.random() < p for _ in range(8)] for p in (draw.choice(chances) for _ in range(60))]
        found = pass_interval(by_task, 4)
        inside += found.low <= truth <= found.high
    assert 0.9 < inside / 300 < 0.99


def test_newcombes_interval_for_pairs_by_hand():
    # 36 tasks both solve, 12 only the first, 2 only the second, none neither
    one = [[True]] * 36 + [[True]] * 12 + [[False]] * 2
    other = [[True]] * 36 + [[False]] * 12 + [[True]] * 2
    found = paired_difference(one, other)
    a, b = success_interval(one), success_interval(other)
    phi = (36 * 0 - 12 * 2) / math.sqrt(48 * 2 * 38 * 12)  # of the two-by-two table
    below = (a.mean - a.low) ** 2 - 2 * phi * (a.mean - a.low) * (b.high - b.mean) + (b.high - b.mean) ** 2
    above = (a.high - a.mean) ** 2 - 2 * phi * (a.high - a.mean) * (b.mean - b.low) + (b.mean - b.low) ** 2
    assert found.mean == pytest.approx(0.2)
    assert (found.low, found.high) == pytest.approx((0.2 - math.sqrt(below), 0.2 + math.sqrt(above)))
    assert (found.low, found.high) == pytest.approx((0.0569, 0.3404), abs=1e-4)


def test_pairs_that_agree_tell_more_than_pairs_that_do_not():
    tasks = [[i % 2 == 0] for i in range(40)]
    same = paired_difference(tasks, tasks)
    opposed = paired_difference(tasks, [[not t[0]] for t in tasks])
    assert same.mean == opposed.mean == 0
    assert 0 < same.high - same.low < 0.1 < 0.5 < opposed.high - opposed.low


def test_the_correction_for_continuity_by_hand():
    # 10 tasks, 5 solved by both: covariance 1/4, less 1/20, over the variance 1/4
    tasks = [[True]] * 5 + [[False]] * 5
    arm = success_interval(tasks).high - 0.5
    assert paired_difference(tasks, tasks).high == pytest.approx(math.sqrt(2 * arm**2 * (1 - 0.8)))


def test_a_difference_of_certain_runs_has_a_width():
    found = paired_difference([[True]] * 20, [[True]] * 20)
    assert found.mean == 0
    assert found.low < -0.1
    assert found.high > 0.1


def test_the_paired_interval_covers():
    """Tasks differ in how hard they are for both: the runs are correlated."""
    draw, inside, rounds = random.Random(0), 0, 400
    for _ in range(rounds):
        hard = [draw.random() for _ in range(50)]
        one = [[draw.random() < min(1, h + 0.1) for _ in range(2)] for h in hard]
        other = [[draw.random() < h for _ in range(2)] for h in hard]
        truth = 0.1 - 0.1**2 / 2  # of min(1, h + 0.1) - h over uniform h
        found = paired_difference(one, other)
        inside += found.low <= truth <= found.high
    assert 0.91 < inside / rounds < 0.985


@pytest.mark.parametrize("solved", [False, True])
def test_an_interval_contains_its_mean_in_spite_of_rounding(solved):
    for tasks in range(1, 400):
        parts = [success_interval([[solved]] * tasks), success_interval([[solved]] * (tasks + 1))]
        for found in (*parts, mean_of(parts)):
            assert found.low <= found.mean <= found.high, tasks
