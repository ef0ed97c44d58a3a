"""The code domain: coder and tester together, what is shown, what is refused."""

import json

import pytest
from code_worlds import DOMAIN, DOUBLE, ECHO, RUN, case, effect, fenced, task_of, world_of

from masgym.domains.code import Code
from masgym.errors import BadValue, UnknownName
from masgym.game import Game
from masgym.tools.driver import step_sync
from masgym.workflows.pair import Pair
from masgym.workflows.solo import Solo
from masgym.workflows.verify import Verify


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
        assert "takes long on one of the tests, all of them are worth nothing" in DOMAIN.brief("tool")
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
