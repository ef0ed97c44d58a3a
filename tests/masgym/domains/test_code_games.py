"""Games of code: the contract, the oracle, and replies that want more than they know."""

import string

import pytest

import masgym
from masgym.domains.code import LEVELS, Code
from masgym.domains.code.problem import problem_of, shown
from masgym.domains.code.replies import fenced, good_tests, read_program, read_tests
from masgym.rng import keyed
from masgym.tags import Malformed
from masgym.testing import (
    check_determinism,
    check_fuzz,
    check_game,
    check_handed_out,
    check_json,
    check_observations,
    check_oracle,
    check_purity,
    check_snapshots,
    check_terms,
    check_visibility,
    check_weights,
)
from masgym.testing.play import FUZZ, first_tasks
from masgym.tools.driver import default_driver, step_sync

RUN = default_driver().run
WORKFLOWS = ("solo", "pair", "verify")
REPLIES = (
    *("0", "x", "[]", "f(1) == 1", "f(1) == 1; f(2) == 1", "while", "x+"),
    *(fenced("def f(*a):\n    return 0"), fenced("def f(*a):\n    raise ValueError")),
)


def play(game, task, reply):
    """The final state of a play in which `reply(state, agent)` speaks."""
    state = game.initial(task)
    while members := game.active(state):
        state = step_sync(game, state, {agent: reply(state, agent) for agent in members}, RUN).state
    return state


class TestContract:
    @pytest.mark.parametrize("workflow", WORKFLOWS)
    def test_the_cheaper_checks(self, workflow):
        game = masgym.game("code", workflow, T=2, style="compact")
        check_weights(game)
        check_oracle(game, tasks=1)
        check_terms(game, tasks=1, replies=REPLIES)
        (task,) = first_tasks(game, 1)
        for check in (check_determinism, check_observations, check_visibility, check_handed_out, check_json):
            check(game, task)

    def test_purity_and_snapshots(self):
        game = masgym.game("code", "pair", T=2)
        (task,) = first_tasks(game, 1)
        check_purity(game, task)
        check_snapshots(game, task)

    @pytest.mark.slow
    @pytest.mark.parametrize("style", ["full", "compact"])
    @pytest.mark.parametrize("level", LEVELS)
    @pytest.mark.parametrize("workflow", WORKFLOWS)
    def test_all_of_it(self, workflow, level, style):
        check_game(masgym.game("code", workflow, level=level, T=3, style=style), tasks=1, beam=4, replies=REPLIES)

    @pytest.mark.slow
    @pytest.mark.parametrize("workflow", WORKFLOWS)
    def test_fuzz(self, workflow):
        game = masgym.game("code", workflow, T=2)
        for task in first_tasks(game, 3):
            check_fuzz(game, task, REPLIES)


def solved(level, workflow, count):
    game = masgym.game("code", workflow, level=level, T=2)
    size = game.domain.tasks.size("test") or count
    tasks = [game.domain.tasks.get("test", i) for i in range(min(count, size))]
    return [play(game, task, game.oracle).success for task in tasks]


class TestPlayers:
    @pytest.mark.parametrize("level", LEVELS)
    @pytest.mark.parametrize("workflow", ["solo", "pair"])
    def test_the_oracle_solves(self, level, workflow):
        assert all(solved(level, workflow, 3))

    @pytest.mark.slow
    @pytest.mark.parametrize("level", LEVELS)
    @pytest.mark.parametrize("workflow", ["solo", "pair"])
    def test_the_oracle_solves_all(self, level, workflow):
        made = solved(level, workflow, 500)
        assert all(made)
        assert made

    @pytest.mark.parametrize("level", LEVELS)
    def test_what_is_foreseen_is_what_running_comes_to(self, level):
        game = masgym.game("code", "pair", level=level, T=2)
        state = game.initial(game.domain.tasks.get("train", 5))
        while members := game.active(state):
            outputs = {agent: game.oracle(state, agent) for agent in members}
            known = game.foreseen(state, outputs)
            assert not game.calls(state, outputs, known)
            ran, guessed = step_sync(game, state, outputs, RUN), game.apply(state, outputs, known)
            assert (guessed.effects, guessed.rewards, guessed.gain) == (ran.effects, ran.rewards, ran.gain)
            assert (guessed.state.world, guessed.state.success) == (ran.state.world, ran.state.success)
            assert game.foreseen(state, dict.fromkeys(members, "0")) == {}
            state = guessed.state
        assert state.success

    @pytest.mark.parametrize("level", LEVELS)
    def test_the_tester_oracle_kills_every_mutant(self, level):
        game = masgym.game("code", "pair", level=level, T=2)
        for index in range(2):
            state = game.initial(game.domain.tasks.get("test", index))
            done = step_sync(game, state, {"tool_0": game.oracle(state, "tool_0")}, RUN)
            assert done.effects["tool_0"].terms == {"valid": 1, "mutants": 1}

    def test_random_replies_solve_nothing(self):
        """Printable noise, and programs that name what is at hand."""
        game = masgym.game("code", "solo", T=1)
        wins = 0
        for index in range(40):
            task = game.domain.tasks.get("test", index)
            rng = keyed("noise", index)
            noise = "".join(rng.choice(list(string.printable), 20))
            guess = str(rng.choice(["0", "True", task.content["parameters"][0], "[]", "''", "1", "len(str(0))"]))
            wins += play(game, task, lambda state, agent, reply=noise: reply).success
            wins += play(game, task, lambda state, agent, reply=guess: reply).success if index % 4 == 0 else 0
        assert wins < 0.05 * 50

    def test_gold_tests_never_appear_in_a_prompt(self):
        for level in LEVELS:
            for style in ("full", "compact"):
                game = masgym.game("code", "pair", level=level, T=2, style=style)
                for task in first_tasks(game, 2):
                    texts = list[str]()

                    def spoilt(state, agent, game=game, texts=texts):
                        texts.extend(game.observe(state, a).text for a in game.agents)
                        return game.oracle(state, agent) if agent == "tool_0" else fenced("def f(*a): return a")

                    final = play(game, task, spoilt)
                    texts += [game.observe(final, agent).text for agent in game.agents]
                    problem = problem_of(task.content)
                    told = [shown(case, problem.form, problem.entry_point) for case in problem.gold]
                    lines = {
                        line.replace(" == ", "==")
                        for text in texts
                        for part in text.split("\n")
                        for line in part.split(";")
                    }
                    assert not lines & {line.replace(" == ", "==") for line in told}


def attacks(problem):
    """Coder's replies that want to pass without computing what is asked."""
    table = {case.given: case.expected for case in problem.examples}
    name = problem.entry_point
    programs = [
        f"import json\ndef {name}(*a):\n    return json.loads({table!r}[json.dumps(list(a))])",
        f"class Any:\n    def __eq__(self, other): return True\n    def __ne__(self, other): return False\n"
        f"def {name}(*a): return Any()",
        f"class Any(int):\n    __eq__ = lambda self, other: True\n    __hash__ = None\ndef {name}(*a): return Any()",
        f"def {name}(*a):\n    import os\n    os._exit(0)",
        f"def {name}(*a):\n    raise SystemExit(0)",
        f"def {name}(*a): yield from range(99)",
        f"def {name}(*a): return [True, False, 0, 1, '', [], a]",
        f"{name} = lambda *a: {name}",
        f"def {name}(*a): return a[0]",
        f"def {name}(*a): return None",
        f"class {name}:\n    def __new__(cls, *a): return NotImplemented",
        f"def {name}(*a): return print(*a) or a",
        "passed = True\nprint('all tests passed')",
    ]
    replies = [fenced(program) for program in programs]
    text = problem.statement
    return [*replies, text, fenced(text), f"{replies[0]}\n{replies[1]}", "２*x", "[...]", "*", "assert True"]


def false_tests(problem):
    """Tester's replies that want to tell programs apart without knowing the function."""
    name = problem.entry_point
    examples = [shown(case, problem.form, name) for case in problem.examples]
    left = examples[0].rpartition(" == ")[0]
    return [
        "\n".join(examples),  # the prompt echoed
        f"{left} == {left}",
        f"{name}(*range(1)) == 0",
        f"{name}(99) in (1, 2, 3)",
        f"{name}(99) == 1 or True",
        f"{name}(99) != None",
        f"not {name}(99) == 1",
        f"{name}(99) == {name}(99)",
        f"{name}(x) == x",
        f"{name}(1, y=2) == 3",
        f"True\n{examples[0]}",
        f"{name}(１２) == ３",
        "\n".join(f"{name}(3) == {i}" for i in range(9)),
        "\n".join(f"{name}(3) == {i}" for i in range(3)),
        "__import__('os').system('true') == 0",
        problem.statement,
        f"{name}({'9' * 5000}) == 1",
        f"{name}({'[' * 300}{']' * 300}) == 1",
    ]


class TestAdversaries:
    @pytest.mark.parametrize("index", [0, 1])
    def test_no_trick_passes(self, index):
        game = masgym.game("code", "solo", T=1)
        task = game.domain.tasks.get("test", index)
        state = game.initial(task)
        for reply in attacks(problem_of(task.content)):
            done = step_sync(game, state, {"actor_0": reply}, RUN)
            assert not done.state.success, reply
            assert done.effects["actor_0"].terms["gold"] <= 1 / 2, reply

    @pytest.mark.parametrize("index", [0, 1])
    def test_no_trick_tells_mutants_apart(self, index):
        game = masgym.game("code", "pair", T=1)
        task = game.domain.tasks.get("test", index)
        state = game.initial(task)
        for reply in false_tests(problem_of(task.content)):
            done = step_sync(game, state, {"tool_0": reply}, RUN).effects["tool_0"]
            assert done.terms["mutants"] == 0, reply

    @pytest.mark.slow
    def test_a_thousand_spoilt_replies_earn_no_more_than_honest_ones(self):
        game = masgym.game("code", "pair", T=1)
        for number in range(500):
            rng = keyed("spoilt", number)
            task = game.domain.tasks.get("test", number % 50)
            state = game.initial(task)
            tests = step_sync(game, state, {"tool_0": spoilt(game.oracle(state, "tool_0"), rng)}, RUN)
            coded = step_sync(game, tests.state, {"actor_0": spoilt(game.oracle(state, "actor_0"), rng)}, RUN)
            for done in (tests, coded):
                assert done.gain + done.penalty <= 2
                assert all(-0.5 <= terms.total <= 1 for terms in done.rewards.values())
            assert coded.state.success == (coded.state.world.gold == 1)


def spoilt(reply, rng):
    """One to three characters changed, left out, doubled, or the whole repeated, wrapped or cut."""
    characters = string.printable + "\u0660\uff11\u200b\ud800"
    for _ in range(rng.integers(1, 4)):
        place = int(rng.integers(len(reply) + 1))
        piece = str(rng.choice(list(characters)))
        kind = int(rng.integers(6))
        reply = (
            *(f"{reply[:place]}{piece}{reply[place + 1 :]}", reply[:place] + reply[place + 1 :], reply[:place]),
            *(f"{reply[:place]}{piece}{reply[place:]}", f"{reply}\n{reply}", f"```\n{reply}\n```"),
        )[kind]
    return reply


class TestGrammar:
    @pytest.mark.parametrize("count", [2_000, pytest.param(100_000, marks=pytest.mark.slow)])
    def test_reading_is_total(self, count):
        """Whatever is read is a program or tests of the grammar, or a reason that quotes nothing."""
        problems = [problem_of(Code().tasks.get("test", i).content) for i in range(20)]
        problems += [problem_of(Code(**LEVELS["medium"]).tasks.get("test", i).content) for i in range(10)]
        for number in range(count):
            rng, problem = keyed("grammar", number), problems[number % len(problems)]
            reply = spoilt(good_tests(problem, 8), rng)
            found = read_tests(reply, problem, 8)
            if isinstance(found, Malformed):
                assert len(found.reason) < 100
            else:
                assert 1 <= len(found) <= 8
                again = "\n".join(shown(case, problem.form, problem.entry_point) for case in found)
                assert "inf" in again or len(again) > 3000 or read_tests(again, problem, 8) == found
            program = read_program(spoilt(problem.reference, rng), problem)
            assert isinstance(program, str | Malformed)

    def test_fuzz(self):
        problem = problem_of(Code().tasks.get("test", 0).content)
        for reply in FUZZ:
            assert isinstance(read_program(reply, problem), str | Malformed)
            assert isinstance(read_tests(reply, problem, 8), Malformed)

    @pytest.mark.parametrize(
        "text",
        ["(" * 2000, "-" * 2900 + "1", "f(" * 900, "f(1)==" + "-" * 2900 + "1", "f(1)==" + "[" * 150 + "]" * 150],
    )
    def test_deep_replies_are_only_malformed(self, text):
        problem = problem_of(Code().tasks.get("test", 0).content)
        assert isinstance(read_tests(text, problem, 8), Malformed | tuple)
