"""verify: a solver drafts, a verifier judges. Worked by hand on a corridor of Plan-Path."""

from dataclasses import replace

import pytest

import masgym
from masgym.agents.random import random_reply
from masgym.domains.plan_path import PlanPath
from masgym.errors import BadValue
from masgym.faces.base import plausible
from masgym.game import Game
from masgym.rng import keyed
from masgym.tags import Malformed, inside
from masgym.testing import check_game
from masgym.types import Task
from masgym.workflows.pair import Pair
from masgym.workflows.solo import Solo
from masgym.workflows.verify import Verify, parse_verdict

SOLVER, VERIFIER = "solver_0", "verifier_0"
TASK = Task(
    domain="plan_path",
    params={},
    seed=0,
    split="train",
    index=0,
    content={"grid": [".@...G"]},  # 4 moves to the right; one to the left is a step away
    content_hash="0" * 64,
    level="easy",
    optimum=4,
)


def game_of(T=3, style="full", **options):
    return Game(domain=PlanPath(moves_per_turn=2), workflow=Verify(), T=T, style=style, **options)


def play(game, *replies, state=None):
    """The transitions that `replies` lead to, from the start."""
    state, done = state or game.initial(TASK), []
    for reply in replies:
        (agent,) = game.active(state)
        done.append(game.apply(state, {agent: reply}, {}))
        state = done[-1].state
    return done


class TestGrammar:
    @pytest.mark.parametrize(
        "reply",
        [
            "approve",
            " Approve\n",
            "<verify>approve</verify>",
            "I checked it: right.\n<verify> APPROVE </verify>",
            "One might reject it, but no. <verify>approve</verify>",
        ],
    )
    def test_a_verdict(self, reply):
        assert parse_verdict(reply) == "approve"
        assert parse_verdict(reply.lower().replace("approve", "reject")) == "reject"

    @pytest.mark.parametrize(
        ("reply", "says"),
        [
            ("", "empty"),
            ("\n", "empty"),
            ("approve.", "neither"),
            ("I approve", "neither"),
            ("approve reject", "neither"),
            ("approve approve", "neither"),
            ("<verify></verify>", "neither"),
            ("<verify>approve|reject</verify>", "neither"),
            ("<verify>approved</verify>", "neither"),
            ("<verify>\u0430pprove</verify>", "neither"),  # a Cyrillic letter
            ("<verify>approve", "1 <verify> and 0 </verify>"),
            ("approve</verify>", "0 <verify> and 1 </verify>"),
            ("</verify>approve<verify>", "exactly one pair"),
            ("<verify>approve</verify><verify>reject</verify>", "2 <verify>"),
            ("<verify>approve</verify><verify>approve</verify>", "2 <verify>"),
            ("<verify><verify>approve</verify></verify>", "2 <verify>"),
            ("<VERIFY>approve</VERIFY>", "neither"),
            ("<answer>approve</answer>", "neither"),
            ("approve" * 100_000, "neither"),
        ],
    )
    def test_anything_else_is_malformed_and_says_why(self, reply, says):
        found = parse_verdict(reply)
        assert isinstance(found, Malformed)
        assert says in found.reason
        assert len(found.reason) < 100

    def test_what_stands_inside_of_tags(self):
        assert inside("so <a> x\ny </a> there", "a") == "x\ny"
        assert inside(" bare ", "a") == "bare"
        assert inside("<b>x</b>", "a") == "<b>x</b>"


class TestRounds:
    def test_approval_does_what_was_drafted_at_its_own_event(self):
        drafted, judged = play(game_of(), "RR", "approve")
        assert drafted.state.world == game_of().initial(TASK).world
        assert (drafted.gain, drafted.state.turn, drafted.state.phase) == (0, 0, 1)
        assert judged.state.world == drafted.effects[SOLVER].world
        assert judged.gain == pytest.approx(0.5)  # two of four moves
        assert (judged.state.turn, judged.state.phase, judged.state.ended) == (1, 0, "")

    def test_approving_the_last_move_ends_the_game(self):
        *_, last = play(game_of(), "RR", "approve", "RR", "approve")
        assert (last.state.ended, last.state.success) == ("done", True)
        assert last.gain == pytest.approx(1.5)  # half of the way, and success

    def test_rejection_gives_another_round(self):
        *_, judged = play(game_of(), "RR", "reject")
        assert judged.state.world == game_of().initial(TASK).world
        assert (judged.gain, judged.state.turn, judged.state.ended) == (0, 1, "")

    @pytest.mark.parametrize("verdict", ["reject", "maybe", ""])
    def test_at_T_the_last_draft_is_done_whatever_the_verdict(self, verdict):
        *_, last = play(game_of(T=2), "RR", "reject", "R", verdict)
        assert last.gain == pytest.approx(0.25)
        assert (last.state.ended, last.state.success) == ("T", False)
        assert last.rewards[VERIFIER].malformed == (0 if verdict == "reject" else -0.5)

    def test_at_T_a_rejected_solution_still_counts(self):
        *_, last = play(game_of(T=2), "RR", "approve", "RR", "reject")
        assert (last.state.ended, last.state.success) == ("done", True)

    @pytest.mark.parametrize("T", [1, 3])
    @pytest.mark.parametrize("verdict", ["approve", "reject"])
    def test_a_malformed_draft_is_never_done(self, T, verdict):
        drafted, judged = play(game_of(T=T), "UU", verdict)
        assert drafted.effects[SOLVER].malformed
        assert drafted.rewards[SOLVER].malformed == -0.5
        assert judged.state.world == game_of().initial(TASK).world
        assert judged.gain == 0
        assert judged.state.ended == ("T" if T == 1 else "")
        assert judged.effects[VERIFIER].terms["verdict"] == (verdict == "reject")

    def test_a_malformed_verdict_is_penalised_and_rejects(self):
        *_, judged = play(game_of(malformed=-0.7), "RR", "yes")
        assert judged.rewards[VERIFIER].malformed == -0.7
        assert judged.penalty == -0.7
        assert judged.effects[VERIFIER].terms == {"format": 0, "verdict": 0}
        assert judged.state.world == game_of().initial(TASK).world
        assert (judged.state.turn, judged.state.ended) == (1, "")

    @pytest.mark.parametrize(
        ("draft", "verdict", "agrees"),
        [("RR", "approve", 1), ("RR", "reject", 0), ("L", "approve", 0), ("L", "reject", 1), ("RL", "approve", 0)],
    )
    def test_terms_of_the_judge(self, draft, verdict, agrees):
        """The truth is whether Phi would rise: not by a step back, nor by going there and back."""
        *_, judged = play(game_of(), draft, verdict)
        assert judged.effects[VERIFIER].terms == {"format": 1, "verdict": agrees}
        assert judged.rewards[VERIFIER].local == pytest.approx({"format": 0.2, "verdict": 0.8 * agrees})

    def test_the_truth_in_sudoku_is_agreement_with_the_solution(self):
        """r1c3=2 breaks no rule, but the solution of this puzzle has a 3 there."""
        game = masgym.game("sudoku", "verify")
        task = replace(TASK, domain="sudoku", content={"givens": ["...4", "3...", "2...", "...1"]})
        for draft, verdict in (("11=1 13=3", "approve"), ("13=2", "reject"), ("11=1 13=2", "reject")):
            drafted = game.apply(game.initial(task), {SOLVER: draft}, {}).state
            assert game.oracle(drafted, VERIFIER) == verdict

    def test_a_draft_that_was_made_needs_no_tool_when_it_is_done(self):
        game = game_of()
        drafted = play(game, "RR")[-1].state
        assert game.calls(drafted, {VERIFIER: "approve"}, {}) == {}
        again = [game.apply(drafted, {VERIFIER: "approve"}, {}) for _ in range(2)]
        assert again[0] == again[1]


class TestWhoSeesWhat:
    def test_the_verifier_is_told_the_rules_the_draft_and_its_own_grammar(self):
        game = game_of()
        text = game.observe(play(game, "RR")[-1].state, VERIFIER).text
        for part in ("What the planner is told", "'#'", "<verify>approve</verify>", "The planner (solver_0): R R"):
            assert part in text
        assert text.index("exactly one <answer>") < text.index("Reply with <verify>")

    def test_the_solver_sees_what_was_rejected(self):
        game = game_of()
        text = game.observe(play(game, "RR", "reject")[-1].state, SOLVER).text
        assert "Your last reply: R R" in text
        assert "The judge (verifier_0): reject" in text
        assert "verifier approves" in text

    def test_the_solver_sees_why_its_draft_was_malformed(self):
        game = game_of()
        for verdict in ("approve", "reject", "hm"):
            assert "was malformed: its first move" in game.observe(play(game, "U", verdict)[-1].state, SOLVER).text

    def test_after_an_approval_there_is_nothing_to_say(self):
        game = game_of()
        state = play(game, "RR", "approve")[-1].state
        assert game.workflow.visible(state, SOLVER) == ()
        assert game.workflow.visible(state, VERIFIER) == ()

    def test_the_verifier_sees_why_its_verdict_was_malformed(self):
        game = game_of()
        text = game.observe(play(game, "RR", "hm", "RR")[-1].state, VERIFIER).text
        assert "Your last reply was malformed: the verdict is neither" in text

    def test_compact(self):
        game = game_of(style="compact")
        assert game.observe(play(game, "RR")[-1].state, VERIFIER).text == "judge\n.@...G\ndraft:RR"
        rejected = play(game, "RR", "reject")[-1].state
        assert game.observe(rejected, SOLVER).text == "draft\n.@...G\ndraft:RR\njudge:reject"
        assert game.observe(play(game, "RR", "approve")[-1].state, SOLVER).text == "draft\n...@.G"

    def test_observing_is_total(self):
        game = game_of()
        for done in play(game, "RR", "reject", "U", "", "L", "approve"):
            for agent in game.agents:
                assert game.observe(done.state, agent).text


class TestPlayers:
    @pytest.mark.parametrize("domain", ["sokoban", "plan_path", "sudoku"])
    def test_the_contract_is_kept(self, domain):
        for style in ("full", "compact"):
            check_game(masgym.game(domain, "verify", style=style), new_process=style == "compact")

    @pytest.mark.parametrize("domain", ["sokoban", "plan_path", "sudoku"])
    def test_the_oracle_team_solves_every_level(self, domain):
        """Long walks to the next push too, in Sokoban: a verifier that knows only Phi would reject them."""
        for level in masgym.list_levels(domain):
            game = masgym.game(domain, "verify", level=level)
            for index in range(4 if level == "expert" else 15):
                state = game.initial(game.domain.tasks.get("test", index))
                while members := game.active(state):
                    (agent,) = members
                    done = game.apply(state, {agent: game.oracle(state, agent)}, {})
                    assert agent == SOLVER or done.effects[agent].terms == {"format": 1, "verdict": 1}
                    state = done.state
                assert state.success

    def test_without_a_draft_the_oracle_rejects(self):
        assert game_of().oracle(game_of().initial(TASK), VERIFIER) == "reject"

    def test_random_verdicts_are_verdicts(self):
        game = game_of()
        state = play(game, "RR")[-1].state
        drawn = {random_reply(game, state, VERIFIER, keyed("verdict", number)) for number in range(40)}
        assert drawn == {"approve", "reject"}
        assert plausible(masgym.game("sudoku", "verify"), VERIFIER) == ("approve", "reject")

    @pytest.mark.parametrize("workflow", [Solo(), Pair()])
    def test_others_have_no_judge(self, workflow):
        state = game_of().initial(TASK)
        for ask in (
            lambda: workflow.legal(state, "actor_0"),
            lambda: workflow.oracle(state, "actor_0"),
            lambda: workflow.effect(state, "actor_0", "approve"),
            lambda: workflow.weights("judge"),
        ):
            with pytest.raises(BadValue, match="no judge"):
                ask()
