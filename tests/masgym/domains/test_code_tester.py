"""The code domain: what a tester's replies come to, and what the clock does to them."""

import resource
from dataclasses import replace

import pytest
from code_worlds import DOUBLE, effect, fenced, offered, world_of

from masgym.domains.code.checks import Answer, answers
from masgym.domains.code.judging import told_apart
from masgym.domains.code.problem import case_of, problem_of
from masgym.types import ToolResult


class TestTester:
    @pytest.mark.parametrize(
        ("reply", "mutants"),
        [
            ("f(4) == 9", 1 / 3),  # only x + 2 differs at 4
            ("f(9) == 19", 2 / 3),
            ("f(9) == 19\nf(-9) == -17", 1),
            ("f(9)==19;assert f(-9)==-17", 1),
            ("Here:\n```\nassert f(9) == 19\n\n# and\nassert f(-9) == -17\n```\nDone.", 1),
            ("f(9) == 19\nf(-9) == 17", 0),  # the reference fails the second
            ("f(9) == 19.0", 0),
            ("f(2) == 5", 0),  # an example of the statement tells nothing apart
            ("f(2) == 5\nf(9) == 19", 2 / 3),
            ("f() == 1", 0),
            ("f('9') == 19", 0),
        ],
    )
    def test_terms_worked_by_hand(self, reply, mutants):
        made = effect("tool", reply)
        assert made.terms == pytest.approx({"valid": 1, "mutants": mutants})
        assert (made.done, made.malformed) == (False, False)

    @pytest.mark.filterwarnings("error")
    def test_an_odd_literal_is_read_as_any_other_whatever_warnings_do(self):
        assert effect("tool", r"f('\p') == 19").terms == {"valid": 1, "mutants": 0}

    def test_what_a_test_is_worth_is_not_shown(self):
        right, wrong = effect("tool", "f(9) == 19"), effect("tool", "f(9) == 20")
        assert right.note == "offers tests:\nf(9) == 19"
        assert wrong.note == "offers tests:\nf(9) == 20"

    def test_the_reference_comes_first(self):
        problem = problem_of(DOUBLE)
        tests = [case_of([9], 19), case_of([-9], -17)]
        row = [Answer(kind="ok", what=19), Answer(kind="ok", what=-17)]
        dead = [Answer(kind="timeout", what="")] * 2
        assert told_apart(problem, tests, [*row, *row, *dead, *row]) == 1 / 3
        assert told_apart(problem, tests, [*dead, *dead, *dead, *dead]) == 0


SLOW = DOUBLE | {  # as slow as x is large; the mutants too, but one that is slow by a fault of its own
    "reference": "def f(x):\n    sum(range(x))\n    return 2*x+1\n",
    "mutants": [
        "def f(x):\n    sum(range(x))\n    return 2*x+(x<5)\n",
        "def f(x):\n    sum(range(x))\n    return 2*x+1 if x!=6 else 0\n",
        "def f(x):\n    while x==8:\n        pass\n    return 2*x+1\n",
    ],
}


class TestTime:
    """What the clock does to tests: only a mutant's own answers, or its own time limit, tell it apart."""

    @pytest.mark.parametrize(("size", "mutants"), [(10**5, 1 / 3), (45 * 10**6, 0), (10**8, 0)])
    def test_slow_tests_tell_nothing_apart_that_quick_ones_do_not(self, size, mutants):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        made = effect("tool", "\n".join(f"f({size + i}) == {2 * (size + i) + 1}" for i in range(8)), world_of(SLOW))
        assert made.terms["mutants"] == mutants
        assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 3  # seconds of CPU

    @pytest.mark.parametrize(("test", "mutants"), [("f(8) == 17", 2 / 3), ("f(6) == 13", 2 / 3), ("f(3) == 7", 0)])
    def test_a_mutant_that_hangs_by_itself_is_told_apart(self, test, mutants):
        assert effect("tool", test, world_of(SLOW)).terms["mutants"] == pytest.approx(mutants)

    def test_what_a_limit_of_the_whole_run_cut_off_is_no_answer(self):
        problem = problem_of(DOUBLE)
        tests, row = [case_of([9], 19)], {"outcome": "ok", "value": ["ok", 19], "error": ""}
        late = row | {"value": ["timeout", ""]}
        for outcome in ("timeout", "killed", "memory", "output limit"):
            cut = {"outcome": outcome, "value": None, "error": ""}
            made = answers(ToolResult(outcome=outcome, value={"answers": [row, late, cut, cut]}), 4)
            assert told_apart(problem, tests, made) == 1 / 3

    def test_a_slow_program_loses_nothing_by_a_teammates_tests(self):
        slow = "import time\ndef f(x):\n    while x > 5 and time.process_time() < (x - 5) * 0.4: pass\n    return 2*x+1"
        tests = tuple(case_of([x], 2 * x + 1) for x in range(6, 14))
        world = replace(world_of(DOUBLE | {"gold": DOUBLE["gold"][:2]}), tests=tests)
        made = effect("act", fenced(slow), world)
        assert made.terms == {"compiles": 1, "runs": 1, "gold": 1}
        assert made.done

    def test_a_teammates_senseless_test_costs_the_coder_no_term(self):
        made = effect("act", "2*x+1", offered("f(None) == 3"))
        assert made.terms == {"compiles": 1, "runs": 1, "gold": 1}
        assert not made.done
