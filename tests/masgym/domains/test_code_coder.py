"""The code domain: what a coder's replies come to, worked by hand and run in the real sandbox."""

import pytest
from code_worlds import DOMAIN, DOUBLE, ECHO, RUN, case, effect, fenced, offered, world_of

from masgym.domains.code.checks import answers, record


class TestCoder:
    @pytest.mark.parametrize(
        ("reply", "runs", "gold"),
        [
            ("2*x+1", 1, 1),
            ("return 2*x+1", 1, 1),
            (fenced("def f(n):\n    return n + n + 1"), 1, 1),
            ("abs(2*x+1)", 1, 3 / 4),  # wrong for -3
            ("x+1", 1, 1 / 4),  # right for 0 alone
            ("float(2*x+1)", 1, 0),  # 1.0 is not 1
            ("[3,5][x-1]", 0, 0),  # a list of the examples; the others fail
            ("1//0", 0, 0),
            (fenced("def g(x):\n    return 2*x+1"), 0, 0),
            (fenced("import sys\nsys.exit(0)"), 0, 0),
            (fenced("def f(x):\n    return 2*x+1") + "\nUsage:\n```bash\npython f.py\n```\n```\n3\n5\n```", 1, 1),
        ],
    )
    def test_terms_worked_by_hand(self, reply, runs, gold):
        made = effect("act", reply)
        assert made.terms == pytest.approx({"compiles": 1, "runs": runs, "gold": gold})
        assert (made.right, made.malformed) == (gold == 1, False)
        assert DOMAIN.potential(made.world) == DOMAIN.team(world_of(), made.world) == pytest.approx(gold)

    @pytest.mark.parametrize(
        ("reply", "reason"),
        [
            ("2*x+", "nor an expression"),
            ("x; import os", "nor an expression"),
            ("x=3", "nor an expression"),
            ("\0", "nor an expression"),
            ("(" * 300 + ")" * 300, "nor an expression"),
            ("-" * 6990 + "x", "nor an expression"),
            (fenced("def f(x):\n\n    return ("), "SyntaxError in line 3"),
            ("", "empty"),
            ("two\nlines", "no program in a fenced block"),
            ("```python\ndef f(x): return 1", "its fenced block is not closed"),
            (fenced("f = 1") + fenced("f = 2"), "2 fenced blocks marked python"),
            (fenced("#" * 9000), "at most 7000"),
            ("```rust\nfn f() {}\n```", "SyntaxError in line 1"),
        ],
    )
    def test_what_does_not_compile_is_malformed(self, reply, reason):
        made = effect("act", reply)
        assert made.malformed
        assert reason in made.note
        assert made.world == world_of()
        assert not any(made.terms.values())

    def test_the_game_is_over_when_the_examples_pass(self):
        assert effect("act", "2*x+1").done
        listed = effect("act", "{1:3,2:5}.get(x,0)")  # passes what is shown and nothing else
        assert listed.done
        assert not listed.right
        assert listed.world.gold == 0
        assert not effect("act", "2*x").done

    def test_the_report_tells_examples_and_tests_only(self):
        made = effect("act", "2*x+(x!=2)", offered("f(4) == 9", "f(6) == 12"))
        assert made.note.endswith(
            "It passes 2 of 4 examples and tests.\nf(2) gives 4, expected 5\nf(6) gives 13, expected 12"
        )
        assert "f(2) gives 4, expected 5" in DOMAIN.render(made.world, "full")
        assert DOMAIN.render(made.world, "compact").endswith(">2*x+(x!=2) 2/4\nf(2):gives 4!=5\nf(6):gives 13!=12")

    def test_an_endless_program_is_stopped(self):
        made = effect("act", fenced("def f(x):\n    while x != 1:\n        pass\n    return 3"))
        assert made.terms == {"compiles": 1, "runs": 0, "gold": 0}
        assert "f(2) ends with timeout" in made.note

    def test_arguments_are_made_anew_for_every_case(self):
        content = DOUBLE | {
            "parameters": ["a"],
            "examples": [case([1], expected=1)],
            "gold": [case([2, 3], expected=3), case([2, 3], expected=3)],
        }
        assert effect("act", "a.pop()", world_of(content)).world.gold == 1

    def test_values_that_json_lacks(self):
        content = DOUBLE | {
            "examples": [case(1, expected={"tuple": [1, 2]})],
            "gold": [case({"set": [2]}, expected={"dict": [[2, {"tuple": []}]]})],
        }
        assert effect("act", "(1,2) if x==1 else {2:()}", world_of(content)).right
        assert effect("act", "[1,2] if x==1 else {2:[]}", world_of(content)).world.gold == 0
        assert "f({2})" not in DOMAIN.render(world_of(content), "full")
        assert "f(1) == (1, 2)" in DOMAIN.render(world_of(content), "full")


class TestScripts:
    @pytest.mark.parametrize(
        ("program", "gold"),
        [
            ("print(sum(map(int, input().split())))", 1),
            ("import sys\nprint(sum(map(int, sys.stdin.read().split())), ' ')\nprint()", 1),  # spaces and empty lines
            ("print(sum(int(v) for v in open(0).read().split()))\nraise SystemExit", 1),
            ("import os\nos.write(1, b'4\\n')", 1 / 2),
            ("if __name__ == '__main__':\n    import sys\n    print(sum(map(int, next(sys.stdin).split())))", 1),
            ("import atexit\nv = input().split()\natexit.register(lambda: print(sum(map(int, v))))", 1),
            (  # an output of one's own, written when the interpreter flushes it
                "import sys, os, io\nclass Own(io.StringIO):\n"
                "    def flush(self):\n        os.write(1, self.getvalue().encode())\n"
                "sys.stdout = Own()\nprint(sum(map(int, input().split())))",
                1,
            ),
            ("import threading as t\nt.Thread(target=lambda: print(sum(map(int, input().split())))).start()", 1),
            ("print(4)\nimport sys\nsys.stdout.close()", 1 / 2),
            ("print(4)\nexit(1)", 0),
            ("print('4 1')", 0),
        ],
    )
    def test_standard_input_and_output(self, program, gold):
        assert effect("act", fenced(program), world_of(ECHO)).world.gold == gold

    def test_many_cases_run_in_one_sandbox(self):
        gold = [{"stdin": f"{i} 1\n", "stdout": f"{i + 1}\n"} for i in range(200)]
        made = effect("act", fenced("print(sum(map(int, input().split())))"), world_of(ECHO | {"gold": gold}))
        assert made.world.gold == 1

    def test_scripts_take_no_bare_expression(self):
        assert effect("act", "print(4)", world_of(ECHO)).malformed

    def test_the_tester_tests_scripts(self):
        made = effect("tool", r"run('4 5\n') == '9\n'", world_of(ECHO))
        assert made.terms == {"valid": 1, "mutants": 1}
        assert effect("tool", "run('4 5') == 9", world_of(ECHO)).malformed


CHECK = """
def check(candidate):
    assert candidate(1, 2) == (3, -1)
    for i in range(3):
        assert candidate(i, i) == (2 * i, 0)
    assert abs(candidate(0.1, 0.2)[0] - 0.3) < 1e-9
"""
PAIR = "def f(a, b):\n    return (a + b, a - b)\n"


class TestCheckPrograms:
    """Tests in the form of HumanEval, whose expected values are in a program."""

    def content(self):
        (result,) = RUN({"one": (record(PAIR, CHECK, "f", 1.0),)})["one"]
        inputs = answers(result, 1)[0].what
        assert inputs == [[1, 2], [0, 0], [1, 1], [2, 2], [0.1, 0.2]]
        return DOUBLE | {
            "parameters": ["a", "b"],
            "examples": [],
            "gold": [],
            "tests": [],
            "check": {"program": CHECK, "inputs": inputs},
            "reference": PAIR,
            "mutants": [],
        }

    def test_a_candidate_is_judged_by_its_answers_alone(self):
        world = world_of(self.content())
        forged = "class E(tuple):\n    __eq__ = lambda s, o: True\n    __sub__ = __getitem__ = lambda s, o: 0.3\n"
        for program, gold in (
            (PAIR, 1),
            ("def f(a, b):\n    return [a + b, a - b]", 0),  # a list is no tuple
            ("def f(a, b):\n    return (a + b, 0)", 0),
            (f"{forged}def f(a, b):\n    return E()", 0),
            ("import os\nos._exit(0)", 0),
        ):
            made = effect("act", fenced(program), world)
            assert (made.world.gold, made.right) == (gold, gold == 1), program

    def test_the_reference_is_foreseen_to_pass(self):
        world = world_of(self.content())
        for slot in ("act", "tool"):
            reply = DOMAIN.oracle(world, slot)
            known = DOMAIN.foresee(slot, world, reply)
            assert bool(known) == (slot == "act")  # no test is stated: one that is made up has to be run
            if known:
                assert DOMAIN.effect(slot, world, reply, known) == effect(slot, reply, world)

    def test_without_mutants_a_new_right_test_is_worth_all(self):
        world = world_of(self.content())
        assert effect("tool", "f(5, 1) == (6, 4)", world).terms == {"valid": 1, "mutants": 1}
        assert effect("tool", "f(5, 1) == [6, 4]", world).terms == {"valid": 1, "mutants": 0}
