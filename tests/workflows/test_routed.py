"""routed: a router chooses who speaks, or stops. Worked by hand."""

import itertools

import pytest
from teams import TASK, game_of, play, schedule

import masgym
from masgym.agents.random import random_reply
from masgym.errors import BadValue
from masgym.faces import RawAEC
from masgym.rng import keyed
from masgym.tags import Malformed
from masgym.testing import check_handed_out
from masgym.testing.play import FUZZ, first_tasks, returns, walk
from masgym.workflows.routed import Routed, parse_route

ROUTER, AGGREGATOR, VERIFIER = "router_0", "aggregator_0", "verifier_0"
PLAIN = Routed(n=3, tools=1)
CHECKED = Routed(n=3, tools=1, verifier=True)
MEMBERS = ("worker_0", "worker_1", "tool_0")
STOP = "<route>STOP</route>"
WRONG = [
    ("", "empty"),
    (" \n", "empty"),
    ("nobody", "neither STOP nor numbers from 0 to 2"),
    ("<route></route>", "neither"),
    ("<route>3</route>", "neither"),
    ("<route>0,3</route>", "neither"),
    ("<route>-1</route>", "neither"),
    ("<route>0,</route>", "neither"),
    ("<route>0;1</route>", "neither"),
    ("<route>0 1</route>", "neither"),
    ("<route>01</route>", "neither"),  # the short form is for bare replies
    ("<route>0,1,STOP</route>", "neither"),
    ("<route>worker_0</route>", "neither"),
    ("<route>\u0660,\u0661</route>", "neither"),  # Arabic digits
    ("\u0661", "neither"),
    ("\u00b2", "neither"),
    ("<route>STOP.</route>", "neither"),
    ("<route>\u0405TOP</route>", "neither"),  # a Cyrillic letter
    ("Let us STOP here", "neither"),
    ("STOP STOP", "neither"),
    ("<route>STOP", "exactly one pair"),
    ("STOP</route>", "exactly one pair"),
    ("<route>STOP</route><route>0</route>", "exactly one pair"),
    ("<route><route>0</route></route>", "exactly one pair"),
    ("<route>0,0</route>", "twice"),
    ("00", "twice"),
    ("9" * 100_000, "neither"),
    ("0," * 100_000, "neither"),
]


class TestGrammar:
    @pytest.mark.parametrize(
        ("reply", "route"),
        [
            ("<route>0</route>", "0"),
            ("<route>0,2</route>", "02"),
            ("<route> 2 , 0 </route>", "02"),
            ("0 and 2 know best: <route>2,1</route>", "12"),
            ("0,2", "02"),
            ("02", "02"),
            ("210", "012"),
            (STOP, "STOP"),
            ("It is solved.\n<route> stop </route>", "STOP"),
            ("STOP", "STOP"),
        ],
    )
    def test_a_route(self, reply, route):
        assert parse_route(reply, 3) == route

    @pytest.mark.parametrize(("reply", "says"), WRONG)
    def test_anything_else_is_malformed_and_says_why(self, reply, says):
        found = parse_route(reply, 3)
        assert isinstance(found, Malformed)
        assert says in found.reason
        assert len(found.reason) < 100

    @pytest.mark.parametrize("n", range(1, 8))
    def test_every_subset_in_every_form(self, n):
        game = game_of(Routed(n=n, tools=n // 2))
        legal = game.legal(game.initial(TASK), ROUTER)
        assert len(set(legal)) == len(legal) == 2**n
        for route in legal[:-1]:
            assert parse_route(route, n) == parse_route(f"<route>{','.join(route)}</route>", n) == route
            (done,) = play(game, route)
            assert game.active(done.state) == tuple(game.workflow.members[int(number)] for number in route)


class TestWhoIsInIt:
    def test_agents_slots_and_roles(self):
        assert CHECKED.agents == (ROUTER, *MEMBERS, VERIFIER, AGGREGATOR)
        assert [CHECKED.slot(agent) for agent in CHECKED.agents] == ["route", "draft", "draft", "tool", "judge", "act"]
        assert game_of(CHECKED).roles == ("router", "worker", "tool", "verifier", "aggregator")

    @pytest.mark.parametrize(
        ("options", "says"),
        [({"n": 9}, "n is 9"), ({"route_cost": -1}, "route_cost is -1"), ({"route_cost": "1"}, "route_cost is '1'")]
        + [({"route_cost": cost}, "route_cost is") for cost in (float("nan"), float("inf"), True, None)],
    )
    def test_a_team_that_cannot_be_is_told(self, options, says):
        with pytest.raises(BadValue, match=says):
            masgym.game("sokoban", "routed", **options)


class TestSchedule:
    def test_only_the_chosen_speak_and_at_once(self):
        found = schedule(game_of(PLAIN), "<route>0,2</route>", "RR", "R", "1", "RR", "R")
        assert found == [
            (ROUTER,),
            ("worker_0", "tool_0"),
            (AGGREGATOR,),
            (ROUTER,),
            ("worker_1",),
            (AGGREGATOR,),
            (ROUTER,),
        ]

    def test_with_a_verifier(self):
        found = schedule(game_of(CHECKED), "012", "RR", "approve", "RR", "0", "RR", "reject", "2")
        turn = [(ROUTER,), MEMBERS, (VERIFIER,), (AGGREGATOR,)]
        assert found == [*turn, (ROUTER,), ("worker_0",), (VERIFIER,), (ROUTER,), ("tool_0",)]

    def test_stop_goes_straight_to_the_aggregator_and_ends_the_game(self):
        for team in (PLAIN, CHECKED):
            for reply in ("RR", "L", "hm"):
                assert schedule(game_of(team), STOP, reply) == [(ROUTER,), (AGGREGATOR,), ()]

    @pytest.mark.parametrize("team", [PLAIN, CHECKED])
    def test_a_malformed_route_loses_the_turn(self, team):
        assert schedule(game_of(team), "whoever", "", "0,0") == [(ROUTER,), (ROUTER,), (ROUTER,), ()]
        for number, done in enumerate(play(game_of(team), "whoever", "", "0,0"), 1):
            assert done.state.turn == number
            assert done.rewards[ROUTER].malformed == -0.5
            assert done.state.ended == ("T" if number == 3 else "")

    @pytest.mark.parametrize("reply", [*(reply for reply, _ in WRONG), *FUZZ])
    def test_a_malformed_route_never_means_stop(self, reply):
        (done,) = play(game_of(PLAIN), reply)
        if done.effects[ROUTER].malformed:
            assert (game_of(PLAIN).active(done.state), done.state.ended) == ((ROUTER,), "")
            assert done.penalty == -0.5
        else:
            assert reply == "<route>0,2</route>"

    def test_a_rejection_in_the_last_turn_is_overruled(self):
        found = schedule(game_of(CHECKED, T=1), "1", "RR", "reject", "RR")
        assert found == [(ROUTER,), ("worker_1",), (VERIFIER,), (AGGREGATOR,), ()]

    def test_outputs_of_members_that_were_not_chosen_are_refused(self):
        game = game_of(PLAIN)
        state = play(game, "0")[-1].state
        with pytest.raises(BadValue, match="the active set is"):
            game.apply(state, {"worker_0": "RR", "worker_1": "RR"}, {})

    def test_the_faces_ask_only_the_chosen(self):
        env = masgym.parallel_env("plan_path", PLAIN)
        env.reset(seed=1)
        _, _, _, _, infos = env.step({ROUTER: "2,0"})
        assert [agent for agent in env.agents if infos[agent]["active"]] == ["worker_0", "tool_0"]
        aec = masgym.make("plan_path", PLAIN)
        aec.reset(seed=1)
        spoke = []
        for reply in ("2,0", "R", "R"):
            spoke.append(aec.agent_selection)
            aec.step(reply)
        assert spoke == [ROUTER, "worker_0", "tool_0"]
        assert aec.agent_selection == AGGREGATOR


class TestStop:
    def test_what_the_aggregator_does_counts(self):
        *_, last = play(game_of(PLAIN), "0", "RR", "RR", STOP, "RR")
        assert (last.state.ended, last.state.success, last.state.turn) == ("done", True, 2)
        assert last.gain == pytest.approx(1.5)

    def test_an_unsolved_task_is_not_solved_by_stopping(self):
        *_, last = play(game_of(PLAIN), STOP, "RR")
        assert (last.state.ended, last.state.success, last.gain) == ("done", False, 0.5)

    def test_a_malformed_last_reply_does_nothing(self):
        *_, last = play(game_of(PLAIN), STOP, "hm")
        assert (last.state.ended, last.state.success) == ("done", False)
        assert (last.gain, last.penalty) == (0, -0.5)
        assert last.state.world == game_of(PLAIN).initial(TASK).world

    @pytest.mark.parametrize("domain", ["code", "math"])
    def test_of_a_malformed_last_reply_nothing_stays(self, domain):
        game = masgym.game(domain, "routed", n=1)
        start = game.initial(game.domain.tasks.get("train", 0))
        stopped = game.apply(start, {ROUTER: STOP}, {}).state
        assert game.apply(stopped, {AGGREGATOR: ""}, {}).state.world == start.world

    def test_an_answer_without_proposals_ends_math(self):
        game = masgym.game("math", "routed")
        state = game.initial(game.domain.tasks.get("train", 0))
        state = game.apply(state, {ROUTER: STOP}, {}).state
        last = game.apply(state, {AGGREGATOR: game.oracle(state, AGGREGATOR)}, {}).state
        assert (last.ended, last.success) == ("done", True)


class TestRewards:
    def test_the_router_earns_its_format(self):
        (done,) = play(game_of(PLAIN), "0")
        assert done.rewards[ROUTER].local == {"format": 1}
        assert done.rewards[ROUTER].total == 1
        (done,) = play(game_of(PLAIN), "hm")
        assert done.rewards[ROUTER].local == {"format": 0}
        assert done.rewards[ROUTER].total == -0.5

    @pytest.mark.parametrize(("route", "members"), [("1", 1), ("0,2", 2), ("012", 3), ("STOP", 0), ("hm", 0)])
    def test_each_chosen_member_costs_in_every_form(self, route, members):
        (done,) = play(game_of(Routed(route_cost=0.1)), route)
        malformed = -0.5 if route == "hm" else 0
        assert done.rewards[ROUTER].cost == pytest.approx(-0.1 * members)
        assert done.penalty == pytest.approx(malformed - 0.1 * members)
        local = 0 if route == "hm" else 1
        assert done.published(ROUTER) == pytest.approx(done.team + local + malformed - 0.1 * members)

    def test_costs_are_in_the_return_and_handed_out_to_the_router(self):
        game = masgym.game("plan_path", "routed", route_cost=0.1)
        (task,) = first_tasks(game, 1)
        check_handed_out(game, task)
        replies = itertools.chain(["012"], itertools.repeat("D"))
        env = RawAEC(game)
        env.reset(options={"task": task})
        for reply in itertools.islice(replies, 4):
            env.step(reply)
        assert env.snapshot().owed[ROUTER] == pytest.approx(-0.3)
        assert env.infos[ROUTER]["reward_terms"]["cost"] == 0  # of the last transition, the members'

    def test_the_default_costs_nothing(self):
        (done,) = play(game_of(PLAIN), "012")
        assert done.penalty == 0

    def test_the_oracle_asks_as_few_as_it_can_where_that_costs(self):
        game = masgym.game("plan_path", "routed", route_cost=0.1, verifier=True)
        for task in first_tasks(game, 10):
            played = [(outputs, done) for _, outputs, done in walk(game, task, game.oracle)]
            routes = [outputs[ROUTER] for outputs, _ in played if ROUTER in outputs]
            assert set(routes) <= {"0", "1"}  # a worker: what a tool user offers is no draft
            assert returns([done for _, done in played]) == pytest.approx(2 - 0.1 * len(routes))


class TestWhoSeesWhat:
    def test_the_router_is_told_who_there_is_and_its_grammar(self):
        game = game_of(Routed(n=3, tools=1, route_cost=0.25))
        text = game.observe(game.initial(TASK), ROUTER).text
        for part in ("0 worker_0 (planner), 1 worker_1 (planner), 2 tool_0 (reasoner)", "Each one costs 0.25", STOP):
            assert part in text
        assert "<route>0</route>" in game_of(Routed(n=1, tools=0)).observe(game.initial(TASK), ROUTER).text

    def test_members_and_the_aggregator(self):
        game = game_of(PLAIN, style="compact")
        routed = play(game, "0,2")[-1].state
        assert game.observe(routed, "worker_0").text == "draft\n.@...G\nroute:02"
        said = play(game, "0,2", {"worker_0": "RR", "tool_0": ""})[-1].state
        assert game.observe(said, AGGREGATOR).text == "act\n.@...G\nroute:02\ndraft:RR\ntool:!"
        assert "The route (router_0): worker_0, tool_0" in game_of(PLAIN).observe(said, AGGREGATOR).text

    def test_after_a_turn_without_an_act_the_router_is_shown_all_of_it(self):
        game = game_of(CHECKED, style="compact")
        state = play(game, "0,2", {"worker_0": "L", "tool_0": "RR"}, "reject")[-1].state
        assert game.observe(state, ROUTER).text == "route\n.@...G\nroute:02\ndraft:L\ntool:RR\njudge:reject"
        state = play(game, "0", "RR", "approve", "RR")[-1].state
        assert game.observe(state, ROUTER).text == "route\n...@.G"

    def test_an_aggregator_that_stop_left_alone_is_shown_what_was_not_done(self):
        game = game_of(PLAIN, style="compact")
        state = play(game, "1", "RR", "hm", STOP)[-1].state
        assert game.observe(state, AGGREGATOR).text == "act\n.@...G\nroute:1\ndraft:RR\nact:!\nroute:STOP"
        state = play(game, "1", "RR", "RR", STOP)[-1].state
        assert game.observe(state, AGGREGATOR).text == "act\n...@.G\nroute:STOP"

    def test_the_router_is_told_why_its_route_was_malformed(self):
        game = game_of(PLAIN)
        text = game.observe(play(game, "0,0")[-1].state, ROUTER).text
        assert "Your last reply was malformed: the route names a member twice" in text

    def test_observing_is_total(self):
        game = game_of(CHECKED)
        for done in play(game, "01", "RR", "reject", "hm", STOP, "L"):
            assert all(game.observe(done.state, agent).text for agent in game.agents)


class TestPlayers:
    def test_the_oracle_stops_where_a_solution_was_proposed_and_not_done(self):
        game = game_of(PLAIN)
        missed = play(game, "0", "RR", "RR", "1", "RR", "hm")[-1].state
        assert game.oracle(missed, ROUTER) == "STOP"
        (_, last) = play(game, "STOP", game.oracle(missed, AGGREGATOR), state=missed)
        assert last.state.success
        assert game.oracle(play(game, "0", "RR", "hm")[-1].state, ROUTER) != "STOP"  # right, but not the solution
        assert game.oracle(play(game, "0", "RR", "RR", "1", "R", "hm")[-1].state, ROUTER) != "STOP"

    @pytest.mark.parametrize("team", [PLAIN, CHECKED])
    def test_the_oracle_shows_every_route_that_leads_on(self, team):
        game = masgym.game("plan_path", team)
        shown = {game.oracle(game.initial(task), ROUTER) for task in first_tasks(game, 60)}
        without = {"2"} if team.verifier else set()  # a tool user alone leaves the verifier without a draft
        assert shown == set(game.legal(game.initial(first_tasks(game, 1)[0]), ROUTER)) - {"STOP"} - without

    def test_random_routes_are_routes(self):
        game = game_of(PLAIN)
        state = game.initial(TASK)
        drawn = {random_reply(game, state, ROUTER, keyed("route", number)) for number in range(200)}
        assert drawn == {*game.legal(state, ROUTER)}
