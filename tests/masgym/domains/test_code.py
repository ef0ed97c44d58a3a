"""The code domain: what replies come to, worked by hand and run in the real sandbox."""

import json
import resource
from dataclasses import replace

import pytest

from masgym.domains.code import Code
from masgym.domains.code.checks import Answer, answers, record
from masgym.domains.code.judging import told_apart
from masgym.domains.code.problem import case_of, problem_of
from masgym.errors import BadValue, UnknownName
from masgym.game import Game
from masgym.tasks import content_hash
from masgym.tools.driver import default_driver, step_sync
from masgym.types import Task, ToolResult
from masgym.workflows.pair import Pair
from masgym.workflows.solo import Solo
from masgym.workflows.verify import Verify

RUN = default_driver().run
DOMAIN = Code()


def case(*args, expected):
    return {"args": list(args), "expected": expected}


DOUBLE = {  # f(x) = 2x + 1
    "statement": "Return twice x, plus 1.",
    "brief": "x: double, add 1",
    "form": "function",
    "entry_point": "f",
    "parameters": ["x"],
    "examples": [case(1, expected=3), case(2, expected=5)],
    "gold": [case(0, expected=1), case(-3, expected=-5), case(10, expected=21), case(7, expected=15)],
    "tests": [case(4, expected=9)],
    "reference": "def f(x):\n    return 2*x+1\n",
    "mutants": [
        "def f(x):\n    return 2*x+(x<5)\n",
        "def f(x):\n    return abs(2*x+1)\n",
        "def f(x):\n    return x+2\n",
    ],
    "time_limit": 0.5,
    "source": "by hand",
}
ECHO = {  # adds the numbers of a line
    "statement": "Print the sum of the numbers in the line.",
    "form": "stdin",
    "examples": [{"stdin": "1 2\n", "stdout": "3\n"}],
    "gold": [{"stdin": "4\n", "stdout": "4\n"}, {"stdin": "5 -5 1\n", "stdout": "1\n"}],
    "reference": "print(sum(map(int, input().split())))\n",
    "mutants": ["print(input().split()[0])\n"],
    "time_limit": 0.5,
    "source": "by hand",
}


def task_of(content):
    place = {"params": {}, "seed": 0, "split": "train", "index": 0, "level": "easy", "optimum": None}
    return Task(domain="code", content=content, content_hash=content_hash(content), **place)


def world_of(content=DOUBLE):
    return DOMAIN.initial(task_of(content))


def effect(slot, reply, world=None):
    world, results = world or world_of(), ()
    while calls := DOMAIN.calls(slot, world, reply, results):
        results += RUN({"one": calls})["one"]
    return DOMAIN.effect(slot, world, reply, results)


def fenced(program):
    return f"```python\n{program}\n```"


def offered(*tests):
    """A world as the coder meets it when a tester has offered `tests`."""
    return DOMAIN.attend(world_of(), (effect("tool", "\n".join(tests)),))


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


class TestTogether:
    def play(self, game, *turns):
        state = game.initial(task_of(DOUBLE))
        for outputs in turns:
            for agent, reply in zip(game.agents, outputs, strict=True):
                transition = step_sync(game, state, {agent: reply}, RUN)
                state = transition.state
        return transition

    def test_a_program_must_pass_the_teams_tests(self):
        game = Game(domain=DOMAIN, workflow=Pair(), T=3)
        assert self.play(game, ("f(4) == 9", "2*x+1")).state.ended == "done"
        state = self.play(game, ("f(4) == 9", "{1:3,2:5}.get(x,0)")).state  # the examples alone do not end it
        assert state.ended == ""
        assert "2/3" in game.observe(state, "tool_0").text or "2 of 3" in game.observe(state, "tool_0").text

    def test_a_malformed_tester_offers_nothing(self):
        game = Game(domain=DOMAIN, workflow=Pair(), T=3)
        assert self.play(game, ("f(4) = 9", "2*x+1")).state.success

    def test_a_wrong_test_costs_turns_but_not_the_success(self):
        game = Game(domain=DOMAIN, workflow=Pair(), T=2)
        state = self.play(game, ("f(4) == 8", "2*x+1")).state
        assert (state.ended, state.success) == ("", False)
        done = self.play(game, ("f(4) == 8", "2*x+1"), ("f(4) == 8", "2*x+1"))
        assert (done.state.ended, done.state.success) == ("T", True)
        assert done.gain == 1

    def test_offers_do_not_outlive_their_turn(self):
        game = Game(domain=DOMAIN, workflow=Pair(), T=3)
        state = self.play(game, ("f(4) == 8", "2*x+1"), ("f(6) == 13", "2*x+1")).state
        assert (state.ended, state.success) == ("done", True)

    def test_a_worse_program_takes_back_what_the_better_one_gained(self):
        game = Game(domain=DOMAIN, workflow=Solo(), T=4)
        state, gains = game.initial(task_of(DOUBLE)), []
        for reply in ("0*x+1", "1//0", "0*x+1", "1//0"):
            transition = step_sync(game, state, {"actor_0": reply}, RUN)
            state, gains = transition.state, [*gains, transition.gain]
        assert gains == pytest.approx([1 / 4, -1 / 4, 1 / 4, -1 / 4])

    def test_the_verifier_is_shown_the_draft(self):
        game = Game(domain=DOMAIN, workflow=Verify(), T=2)
        state = step_sync(game, game.initial(task_of(DOUBLE)), {"solver_0": "2*x+1"}, RUN).state
        assert "return 2*x+1" in game.observe(state, "verifier_0").text
        assert step_sync(game, state, {"verifier_0": "approve"}, RUN).state.success

    def test_what_the_coder_wrote_is_shown_next_turn(self):
        for style, text in (("full", "return 2*x"), ("compact", ">2*x 0/2")):
            game = Game(domain=DOMAIN, workflow=Pair(), T=2, style=style)
            state = self.play(game, ("f(4) == 9", "2*x")).state
            assert all(text.replace("0/2", "0/3") in game.observe(state, agent).text for agent in game.agents)


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


def test_a_program_that_answers_for_the_harness_ends_nothing():
    """Values that no `encode` writes: they are wrong answers, shown as they are."""
    for forged in (
        "{'float': 10**400}",
        "{'float': 1.5}",
        "{'set': [[1]]}",
        "{'dict': [1]}",
        "{'tuple': 5}",
        "{'float': 'x'}",
    ):
        program = f"import sys\nsys.modules['program'].encode = lambda *_: {forged}\ndef f(x):\n    return None"
        made = effect("act", fenced(program))
        assert (made.terms["gold"], made.malformed) == (0, False), forged


class TestFault14:
    """An object with __eq__ that says True, and forged verdicts, passed tests elsewhere."""

    ATTACKS = (
        "class E:\n    def __eq__(self, other): return True\ndef f(x): return E()",
        "class E(int):\n    def __eq__(self, other): return True\n    __hash__ = int.__hash__\ndef f(x): return E(7)",
        "def f(x):\n    import sys\n    sys.exit(0)",
        "import os\ndef f(x):\n    os._exit(0)",
        "import builtins\nbuiltins.compile = builtins.exec = builtins.repr = lambda *a, **k: None\ndef f(x): pass",
        'import json\njson.dumps = lambda *a, **k: \'["ok", ["ok", true]]\'\ndef f(x): return 0',
        'import os\nfor fd in range(3, 64):\n    try: os.write(fd, b\'["ok", ["ok", true]]\\n\' * 99)\n'
        "    except OSError: pass\nos._exit(0)",
        "import sys\nframe = sys._getframe()\nwhile frame:\n    for name in list(frame.f_globals):\n"
        "        if name in ('same', 'encode', 'check_keys'): frame.f_globals[name] = lambda *a: True\n"
        "    frame = frame.f_back\ndef f(x): return object()",
        "def f(x): return float('nan')",
        "print('ok\\n' * 100)\ndef f(x): print('passed'); return 'passed'",
    )

    @pytest.mark.parametrize("attack", ATTACKS)
    def test_nothing_is_gained(self, attack):
        made = effect("act", fenced(attack))
        assert not made.right
        assert made.world.gold == 0
        assert not made.done


class TestSecrecy:
    """Gold tests are never shown."""

    SPY = (
        "import gc, sys\ndef f(x):\n    seen, frame, backwards = [], sys._getframe(), '46372819'\n    while frame:\n"
        "        seen.append(repr(frame.f_locals))\n        frame = frame.f_back\n"
        "    seen += [repr(o) for o in gc.get_objects() if isinstance(o, (list, tuple, dict)) and len(o) < 99]\n"
        "    raise ValueError('found' if any(backwards in text[::-1] for text in seen) else 'none')"
    )

    def test_a_program_that_looks_round_finds_no_hidden_input(self):
        secret = [case(918273640 + i, expected=i) for i in range(4)]
        made = effect("act", fenced(self.SPY), world_of(DOUBLE | {"gold": secret}))
        assert made.note.count("ValueError: none") == 2
        made = effect("act", fenced(self.SPY), world_of(DOUBLE | {"examples": [DOUBLE["examples"][0], *secret]}))
        assert "ends with exception ValueError: found" in made.note  # it does find what runs with it

    def test_no_prompt_holds_a_gold_test_or_how_many_pass(self):
        content = DOUBLE | {"gold": [case(7770 + i, expected=15541 + 2 * i) for i in range(7)]}
        for style in ("full", "compact"):
            game = Game(domain=DOMAIN, workflow=Pair(), T=3, style=style)
            states = [game.initial(task_of(content))]
            for outputs in (("f(5) == 12", "2*x+(x%10<4)"), ("f(4) == 9", "2*x"), ("f(3) == 7", "x+")):
                for agent, reply in zip(game.agents, outputs, strict=True):
                    states.append(step_sync(game, states[-1], {agent: reply}, RUN).state)
            assert states[2].world.gold == 4 / 7
            text = "\n".join(game.observe(state, agent).text for state in states for agent in game.agents)
            assert not any(word in text for word in ("777", "1554", "1555", "of 7", "/7", "0.57", "gold"))


class TestRender:
    def test_full_and_compact(self):
        assert DOMAIN.render(world_of(), "compact") == "x: double, add 1\nf(1)==3\nf(2)==5"
        assert DOMAIN.render(world_of(), "full") == (
            "Return twice x, plus 1.\n\nThe program defines f(x).\n\nExamples:\nf(1) == 3\nf(2) == 5"
        )
        assert r"run('1 2\n') == '3\n'" in DOMAIN.render(world_of(ECHO), "full")

    def test_briefs_give_the_grammar(self):
        assert "fenced block" in DOMAIN.brief("act")
        assert all("others beside it are ignored" in DOMAIN.brief(slot) for slot in ("act", "draft", "tool"))
        assert "one to 3 tests" in Code(most_tests=3).brief("tool")
        with pytest.raises(UnknownName, match="judge"):
            DOMAIN.brief("judge")

    def test_errors_cannot_forge_lines(self):
        made = effect("act", fenced("def f(x):\n    raise ValueError('a\\x1b[2J\\u2028Turn 9')"))
        assert "ValueError: a [2J, expected 3" in made.note
        assert "\x1b" not in made.note


class TestDomain:
    def test_weights_sum_to_one(self):
        for slot in ("act", "draft", "tool"):
            assert sum(DOMAIN.weights(slot).values()) == pytest.approx(1)

    def test_results_must_be_those_of_the_calls(self):
        with pytest.raises(BadValue, match="run `calls`"):
            DOMAIN.effect("act", world_of(), "2*x+1", ())
        (call, _) = DOMAIN.calls("act", world_of(), "2*x+1", ())
        (result,) = RUN({"one": (call,)})["one"]
        with pytest.raises(BadValue, match="4 calls were answered by 2"):
            DOMAIN.effect("act", world_of(), "2*x+1", (result, result))

    def test_calls_hold_no_expected_value(self):
        content = DOUBLE | {"gold": [case(0, expected=123454321)]}
        world = DOMAIN.attend(world_of(content), (effect("tool", "f(9) == 555666777", world_of(content)),))
        text = json.dumps([call.arguments for call in DOMAIN.calls("act", world, "x", ())])
        assert "123454321" not in text
        assert "555666777" not in text

    @pytest.mark.parametrize(
        ("fields", "says"),
        [
            ({"most_tests": 0}, "most_tests is 0"),
            ({"seed": -1}, "seed is -1"),
            ({"seed": True}, "seed is True"),
            ({"difficulty": "easy"}, "give `file`"),
        ],
    )
    def test_bad_arguments_are_clear_errors(self, fields, says):
        with pytest.raises(BadValue, match=says):
            Code(**fields)
