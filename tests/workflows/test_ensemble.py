"""ensemble: members at once, a verifier where asked, an aggregator who acts. Worked by hand."""

import json

import pytest
from teams import TASK, game_of, play, schedule

import masgym
from masgym.errors import BadValue, UnknownName
from masgym.registry import make_workflow
from masgym.testing.play import step
from masgym.workflows.ensemble import Ensemble

AGGREGATOR, VERIFIER = "aggregator_0", "verifier_0"
PLAIN = Ensemble(n=3, tools=1)
CHECKED = Ensemble(n=3, tools=1, verifier=True)
MEMBERS = ("worker_0", "worker_1", "tool_0")
DIVIDED = [["tool_0"], ["worker_1"], ["worker_0"]]
SAID = {"worker_0": "RR", "worker_1": "L", "tool_0": "U"}
MIXED = [["tool_0"], ["worker_1", "worker_0"]]


class TestWhoIsInIt:
    @pytest.mark.parametrize("n", range(1, 8))
    def test_one_to_seven_of_any_mixture(self, n):
        for tools in range(n + 1):
            team = Ensemble(n=n, tools=tools)
            workers = [f"worker_{i}" for i in range(n - tools)]
            assert team.agents == (*workers, *(f"tool_{i}" for i in range(tools)), AGGREGATOR)
            slots = {agent: team.slot(agent) for agent in team.agents}
            assert list(slots.values()) == ["draft"] * (n - tools) + ["tool"] * tools + ["act"]

    def test_roles(self):
        assert game_of(CHECKED).roles == ("worker", "tool", "verifier", "aggregator")
        assert game_of(Ensemble(n=2, tools=0)).roles == ("worker", "aggregator")

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            ({"n": 0}, "n is 0; a whole number from 1 to 7"),
            ({"n": 8}, "n is 8"),
            ({"n": 2.0}, "n is 2.0"),
            ({"n": True}, "n is True"),
            ({"n": "3"}, "n is '3'"),
            ({"n": 2, "tools": 3}, "tools is 3; a whole number from 0 to 2"),
            ({"tools": -1}, "tools is -1"),
            ({"verifier": 1}, "verifier is 1"),
            ({"n": 2, "tools": 2, "verifier": True}, "the verifier judges drafts"),
            ({"schedule": "tool_0"}, "a list of sets"),
            ({"schedule": ["tool_0", "worker_0", "worker_1"]}, "a list of sets"),
            ({"schedule": [["worker_0"], [], ["tool_0", "worker_1"]]}, "a list of sets"),
            ({"schedule": [["worker_0"], ["tool_0"]]}, "once was expected"),
            ({"schedule": [["worker_0"], ["tool_0", "worker_1", "worker_0"]]}, "once was expected"),
            ({"schedule": [["worker_0", "worker_1"], ["tool_1"]]}, "unknown member in a schedule of n=3, tools=1"),
            ({"schedule": [["worker_0", "worker_1"], [["tool_0"]]]}, "unknown member"),
            ({"schedule": []}, "once was expected"),
        ],
    )
    def test_a_team_that_cannot_be_is_told(self, options, says):
        with pytest.raises((BadValue, UnknownName)) as caught:
            make_workflow("ensemble", **options)
        assert says in str(caught.value)

    def test_options_are_passed_as_keywords(self):
        for make in (masgym.make, masgym.parallel_env):
            env = make("sokoban", workflow="ensemble", n=2, tools=0, verifier=True, size=7)
            assert env.unwrapped.game.workflow == Ensemble(n=2, tools=0, verifier=True)
            assert env.unwrapped.game.domain.size == 7
            assert env.unwrapped.possible_agents == ["worker_0", "worker_1", VERIFIER, AGGREGATOR]

    def test_a_keyword_that_nobody_has_is_told_with_those_that_exist(self):
        with pytest.raises(UnknownName, match=r"unknown option of sokoban 'm'.*boxes.*\bn\b.*verifier"):
            masgym.game("sokoban", "ensemble", m=2)
        with pytest.raises(UnknownName, match="unknown option of sokoban 'n'"):
            masgym.game("sokoban", "pair", n=2)
        with pytest.raises(UnknownName, match="unknown option of sokoban 'n'"):
            masgym.game("sokoban", Ensemble(), n=2)

    def test_the_schedule_is_part_of_what_a_game_is(self):
        games = [game_of(Ensemble(schedule=given)) for given in (None, DIVIDED, MIXED)]
        assert len({game.fingerprint for game in games}) == 3
        again = [
            Ensemble(**json.loads(json.dumps({k: v for k, v in g.spec()["workflow"].items() if k != "name"})))
            for g in games
        ]
        assert again == [game.workflow for game in games]
        assert len(set(again)) == 3


class TestSchedule:
    def test_all_at_once_then_the_aggregator(self):
        assert schedule(game_of(PLAIN), "RR", "RR", "RR", "RR") == [MEMBERS, (AGGREGATOR,), MEMBERS, (AGGREGATOR,), ()]

    def test_with_a_verifier(self):
        found = schedule(game_of(CHECKED), "RR", "approve", "RR", "RR", "reject", "RR")
        turn = [MEMBERS, (VERIFIER,), (AGGREGATOR,)]
        assert found == [*turn, MEMBERS, (VERIFIER,), MEMBERS, (VERIFIER,)]

    @pytest.mark.parametrize("verdict", ["reject", "perhaps", ""])
    def test_a_rejection_skips_the_aggregator_except_in_the_last_turn(self, verdict):
        found = schedule(game_of(CHECKED, T=2), "RR", verdict, "RR", verdict, "RR")
        assert found == [MEMBERS, (VERIFIER,), MEMBERS, (VERIFIER,), (AGGREGATOR,), ()]

    def test_division_of_labour(self):
        found = schedule(game_of(Ensemble(schedule=DIVIDED)), "R", "RR", "RR", "RR")
        assert found == [("tool_0",), ("worker_1",), ("worker_0",), (AGGREGATOR,), ("tool_0",)]

    def test_a_mixed_schedule_has_both(self):
        found = schedule(game_of(Ensemble(schedule=MIXED, verifier=True)), "R", "RR", "approve", "RR")
        assert found == [("tool_0",), MEMBERS[:2], (VERIFIER,), (AGGREGATOR,), ("tool_0",)]
        assert [len(members) for members in found] == [1, 2, 1, 1, 1]

    @pytest.mark.parametrize(("n", "tools"), [(1, 0), (1, 1), (7, 0), (7, 7), (7, 3)])
    def test_of_every_size(self, n, tools):
        team = Ensemble(n=n, tools=tools)
        assert schedule(game_of(team), "RR", "RR") == [team.members, (AGGREGATOR,), team.members]


class TestOneTransitionConsumesASet:
    def test_nobody_is_left_out_and_nobody_else_is_heard(self):
        game = game_of(PLAIN)
        state = game.initial(TASK)
        for outputs in ({}, {"worker_0": "R"}, dict.fromkeys((*MEMBERS, AGGREGATOR), "R")):
            with pytest.raises(BadValue, match="the active set is"):
                game.apply(state, outputs, {})

    def test_what_members_say_is_not_done(self):
        said, acted = play(game_of(PLAIN), {"worker_0": "RR", "worker_1": "L", "tool_0": "U"}, "R")
        assert said.state.world == game_of(PLAIN).initial(TASK).world
        assert (said.gain, said.penalty, said.state.turn) == (0, -0.5, 0)
        assert acted.gain == pytest.approx(0.25)
        assert acted.state.turn == 1

    def test_each_member_has_its_own_terms(self):
        said, _ = play(game_of(PLAIN), {"worker_0": "RR", "worker_1": "L", "tool_0": "RR"}, "R")
        assert said.rewards["worker_0"].local == pytest.approx({"format": 0.1, "legal": 0.1, "on_shortest": 0.8})
        assert said.rewards["worker_1"].local == pytest.approx({"format": 0.1, "legal": 0.1, "on_shortest": 0})
        assert said.rewards["tool_0"].local == pytest.approx({"format": 0.1, "runs": 0.1, "potential": 0.4})

    def test_the_aggregator_is_free_and_its_malformed_reply_does_nothing(self):
        *_, acted = play(game_of(PLAIN), "RR", "up")
        assert acted.rewards[AGGREGATOR].malformed == -0.5
        assert (acted.gain, acted.state.turn, acted.state.ended) == (0, 1, "")

    @pytest.mark.parametrize(
        ("drafts", "right"),
        [
            (("RR", "L"), True),
            (("L", "R"), True),
            (("L", "L"), False),
            (("U", "L"), False),
            (("U", "RR"), True),
            (("U", "U"), False),
        ],
    )
    def test_the_judge_is_right_to_approve_if_any_draft_is(self, drafts, right):
        """Drafts only: what the tool user offers is always right here."""
        game = game_of(CHECKED)
        said = dict(zip(MEMBERS, (*drafts, "RR"), strict=True))
        for verdict, agrees in (("approve", right), ("reject", not right)):
            *_, judged = play(game, said, verdict)
            assert judged.effects[VERIFIER].terms == {"format": 1, "verdict": agrees}
        assert game.oracle(play(game, said)[-1].state, VERIFIER) == ("approve" if right else "reject")

    def test_only_drafts_of_this_turn_are_judged(self):
        game = game_of(CHECKED)
        state = play(game, "RR", "reject", "L")[-1].state
        assert game.oracle(state, VERIFIER) == "reject"

    def test_a_malformed_verdict_is_penalised_and_rejects(self):
        *_, judged = play(game_of(CHECKED), "RR", "yes")
        assert judged.rewards[VERIFIER].malformed == -0.5
        assert judged.effects[VERIFIER].terms == {"format": 0, "verdict": 0}
        assert (judged.state.turn, judged.gain) == (1, 0)


class TestWhoSeesWhat:
    def test_members_of_a_set_see_the_same_state_and_not_each_other(self):
        env = masgym.make("plan_path", PLAIN)
        env.reset(seed=1)
        before = {agent: env.observe(agent) for agent in env.agents}
        for _ in MEMBERS[:-1]:
            env.step("R")
            assert {agent: env.observe(agent) for agent in env.agents} == before

    @pytest.mark.parametrize("team", [PLAIN, CHECKED])
    def test_the_next_event_sees_what_was_committed(self, team):
        game = game_of(team)
        state = play(game, SAID)[-1].state
        (speaker,) = game.active(state)
        text = game.observe(state, speaker).text
        for part in (
            "The planner (worker_0): R R",
            "The planner (worker_1): L",
            "(tool_0) was malformed: its first move",
        ):
            assert part in text

    def test_the_aggregator_sees_the_verdict_as_well(self):
        game = game_of(CHECKED)
        text = game.observe(play(game, SAID, "approve")[-1].state, AGGREGATOR).text
        assert text.index("worker_1") < text.index("The judge (verifier_0): approve")

    def test_later_sets_of_a_schedule_see_earlier_ones(self):
        game = game_of(Ensemble(schedule=MIXED), style="compact")
        state = play(game, "R")[-1].state
        assert [game.observe(state, agent).text for agent in MEMBERS[:2]] == ["draft\n.@...G\ntool:R"] * 2
        state = play(game, "R", {"worker_0": "RR", "worker_1": ""})[-1].state
        assert game.observe(state, AGGREGATOR).text == "act\n.@...G\ntool:R\ndraft:RR\ndraft:!"

    def test_the_next_turn_sees_the_reasons_of_malformed_replies(self):
        game = game_of(PLAIN)
        state = play(game, SAID, "RR")[-1].state
        assert "Your last reply was malformed: its first move" in game.observe(state, "tool_0").text
        assert "Your last reply" not in game.observe(state, "worker_0").text
        again = play(game, "RR", "hm", "RR")[-1].state
        assert "Your last reply was malformed: it is no list" in game.observe(again, AGGREGATOR).text

    def test_what_was_done_is_no_longer_told(self):
        game = game_of(PLAIN, style="compact")
        state = play(game, "RR", "RR")[-1].state
        assert {game.observe(state, agent).text for agent in MEMBERS[:2]} == {"draft\n...@.G"}

    def test_after_a_rejection_members_see_their_own_reply_and_the_verdict(self):
        game = game_of(CHECKED, style="compact")
        state = play(game, SAID, "reject")[-1].state
        shown = {agent: game.observe(state, agent).text for agent in MEMBERS}
        assert shown == {
            "worker_0": "draft\n.@...G\ndraft:RR\njudge:reject",
            "worker_1": "draft\n.@...G\ndraft:L\njudge:reject",
            "tool_0": "tool\n.@...G\ntool:!\njudge:reject",
        }
        assert game.observe(state, VERIFIER).text == "judge\n.@...G"

    def test_the_verifier_is_told_the_rules_of_a_draft(self):
        game = game_of(CHECKED)
        text = game.observe(play(game, "RR")[-1].state, VERIFIER).text
        assert text.index("exactly one <answer>") < text.index("Reply with <verify>")

    def test_members_are_told_with_whom_they_speak(self):
        state = game_of(PLAIN).initial(TASK)
        assert "at the same time as worker_1, tool_0." in game_of(PLAIN).observe(state, "worker_0").text
        alone = game_of(Ensemble(schedule=DIVIDED))
        assert "at the same time" not in alone.observe(state, "worker_0").text

    def test_observing_is_total(self):
        game = game_of(CHECKED)
        for done in play(game, "RR", "reject", SAID, "", "L", "approve", "RR"):
            assert all(game.observe(done.state, agent).text for agent in game.agents)


class TestDomainsThatListen:
    """Math and code judge an act by what teammates offered in the turn; a verdict is no offer."""

    def test_math_ends_when_the_aggregator_agrees_with_any_member(self):
        game = masgym.game("math", "ensemble")
        task = game.domain.tasks.get("train", 0)
        right = task.content["answer"]
        said = game.apply(game.initial(task), {"worker_0": "7000", "worker_1": right, "tool_0": "8000"}, {}).state
        for answer, ended in ((right, "done"), ("8000", "done"), ("9000", "")):
            acted = game.apply(said, {AGGREGATOR: answer}, {}).state
            assert (acted.ended, acted.success) == (ended, answer == right)

    def test_an_old_answer_is_not_offered_by_the_verdict(self):
        game = masgym.game("math", "ensemble", verifier=True)
        state = game.initial(game.domain.tasks.get("train", 0))
        for outputs in ("7000", "approve", "9000", "7001", "approve"):
            state = game.apply(state, dict.fromkeys(game.active(state), outputs), {}).state
        assert game.apply(state, {AGGREGATOR: "9000"}, {}).state.ended == ""

    def test_what_parallel_searches_find_lasts(self):
        game = masgym.game("search", "ensemble", n=2, tools=2, hops=2)
        state = game.initial(game.domain.tasks.get("train", 3))
        after = step(game, state, {"tool_0": "?guild", "tool_1": "?feast"}).state
        assert [lookup.query for lookup in after.world.lookups] == ["guild", "feast"]
        assert len(after.world.passages) > 3
