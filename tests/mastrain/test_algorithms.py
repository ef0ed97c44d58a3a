"""What each algorithm samples, compares and scores, on scripted teams."""

from functools import cache

import pytest
from scripted_teams import team_of

import masgym
from masgym.errors import BadValue, UnknownName
from masgym.rng import keyed
from mastrain import algorithms
from mastrain.__main__ import compose_run
from mastrain.algorithms import groups_of, rows_of
from mastrain.config import parse
from mastrain.engines.base import SamplingFailed, run
from mastrain.measure import of_episodes, of_groups, sampled_tokens


@cache
def config(name, *overrides):
    return parse(compose_run([f"algo={name}", *overrides])).algo


def moves(request, c=0):
    rng = keyed(*request.key, request.prompt.agent, c)
    return "".join(rng.choice(list("UDLR"), size=int(rng.integers(1, 4))))


def sample(game, name, *overrides, reply=moves, index=0):
    """(algorithm, the episodes of one task, their groups)"""
    algorithm = algorithms.make(config(name, "algo.guide=0", *overrides))
    team = team_of(game, reply)
    episodes = run(algorithm.rollout(team, game.domain.tasks.get("train", index), (0, 1, index)), team.engine)
    return algorithm, episodes, groups_of((event for e in episodes for event in e.events), algorithm)


def ensemble(**options):
    return masgym.game("plan_path", workflow="ensemble", style="compact", T=3, **{"n": 3, "tools": 1, **options})


def returns(game, episode, depth):
    """The return of `episode` from its depth-th event on, by applying what was said once more."""
    total = 0.0
    for event in episode.events[depth:]:
        transition = event.candidates[event.chosen].transition
        total += transition.gain + transition.penalty
    return total


def test_a_set_is_one_action_with_the_teams_return():
    game = ensemble()
    _, episodes, groups = sample(game, "srpo", "algo.branches=4")
    assert len(episodes) == 4
    actions = [action for group in groups for action in group.actions]
    assert {len(action.members) for action in actions} == {3, 1}
    for action in actions:
        episode = episodes[action.event.key[3]]
        assert action.members == action.event.members
        assert action.reward == pytest.approx(returns(game, episode, action.event.key[4]))
    assert len(actions) == sum(len(episode.events) for episode in episodes)


def test_flat_groups_hold_comparable_events_of_one_task():
    _, _, groups = sample(ensemble(), "srpo", "algo.branches=4")
    for group in groups:
        facts = {(a.event.task.id, a.event.phase, a.event.turn) for a in group.actions}
        assert len(facts) == 1
        assert len({a.event.key[3] for a in group.actions}) == len(group.actions), "an episode came twice"
    assert len(groups[0].actions) == 4


def test_tree_groups_hold_the_candidates_of_one_state():
    _, (episode,), groups = sample(ensemble(), "srpo_tree", "algo.branches=4")
    assert len(groups) == len(episode.events)
    for group in groups:
        assert len({a.event.state_id for a in group.actions}) == 1
        for action in group.actions:
            assert action.reward == action.candidate.returns


@pytest.mark.parametrize("credit", ["turn", "episode"])
def test_a_tree_set_earns_its_return_without_local_terms(credit):
    game = ensemble()
    _, (episode,), _ = sample(
        game, "srpo_tree", "algo.branches=3", f"algo.credit={credit}", f"algo.advice_credit={credit}", "algo.guide=0.0"
    )
    for event in episode.events:
        for candidate in event.candidates:
            local = {a: sum(t.local.values()) for a, t in candidate.transition.rewards.items()}
            for agent in event.members:
                assert candidate.scores[agent] == pytest.approx(candidate.returns + local[agent])


def test_rows_carry_the_whole_set():
    algorithm, _, groups = sample(ensemble(), "srpo", "algo.branches=3")
    rows = rows_of(groups, lambda agent: agent, algorithm, False)
    assert set(rows) == {"worker_0", "worker_1", "tool_0", "aggregator_0"}
    by_set = {}
    for some in rows.values():
        for row in some:
            by_set.setdefault(row.action, []).append(row)
    for members in by_set.values():
        assert len(members) == members[0].cardinality
        assert len({(r.advantage, r.weight, r.set_tokens, r.state_id) for r in members}) == 1
        for row in members:
            assert row.set_tokens[row.place] == len(row.completion.ids)
    assert sum(some[0].weight for some in by_set.values()) == pytest.approx(1)


@pytest.mark.parametrize("reduction", ["event", "row", "token"])
def test_reductions_weigh_sets(reduction):
    algorithm, _, groups = sample(ensemble(), "srpo", "algo.branches=3", f"algo.reduction={reduction}")
    rows = [row for some in rows_of(groups, lambda a: "p", algorithm, False).values() for row in some]
    size = {"event": lambda r: 1, "row": lambda r: len(r.set_tokens), "token": lambda r: sum(r.set_tokens)}[reduction]
    total = sum(size(row) for row in {row.action: row for row in rows}.values())
    for row in rows:
        assert row.weight == pytest.approx(size(row) / total)


def test_a_missing_member_drops_its_candidate_and_leaves_the_siblings():
    def reply(request, c):
        failing = request.prompt.agent == "worker_1" and request.key[-1] == 0 and len(request.key) == 5
        return SamplingFailed("timeout") if failing and c == 1 else moves(request, c)

    algorithm, episodes, groups = sample(ensemble(), "srpo_tree", "algo.branches=4", reply=reply)
    _, whole, _ = sample(ensemble(), "srpo_tree", "algo.branches=4")
    event = episodes[0].events[0]
    assert [c.index for c in event.candidates] == [0, 2, 3]
    assert event.candidates == tuple(whole[0].events[0].candidates[i] for i in (0, 2, 3))
    (lost,) = event.lost
    others = [c for a, c in whole[0].events[0].candidates[1].completions.items() if a != "worker_1"]
    assert lost.outcome == "timeout"
    assert lost.tokens == sum(len(c.ids) for c in others)
    assert algorithm.advantage(groups[0].rewards) == pytest.approx(
        algorithms.standardise([c.returns for c in event.candidates])
    )
    metrics = of_episodes(episodes)
    assert metrics["sample/dropped_candidates"] == 1
    assert metrics["sample/dropped_tokens"] == lost.tokens
    assert metrics["failure/timeout"] == 1


def test_an_event_that_lost_every_candidate_ends_the_episode():
    def reply(request, c):
        failing = request.prompt.agent == "worker_1" and request.key[-1] == 2
        return SamplingFailed("timeout") if failing else moves(request, c)

    _, (episode,), _ = sample(ensemble(), "srpo_tree", "algo.branches=4", reply=reply)
    assert (episode.failure, len(episode.events), len(episode.lost)) == ("timeout", 2, 4)


def test_a_flat_episode_cut_short_has_no_return_and_leaves_the_others():
    def reply(request, c):
        failing = request.prompt.agent == "worker_1" and request.key[3:5] == (1, 2)
        return SamplingFailed("timeout") if failing else moves(request, c)

    _, episodes, groups = sample(ensemble(), "srpo", "algo.branches=3", reply=reply)
    assert [bool(e.events) for e in episodes] == [True, False, True]
    assert {a.event.key[3] for group in groups for a in group.actions} == {0, 2}
    assert (episodes[1].failure, len(episodes[1].lost)) == ("timeout", 3)
    tokens = of_episodes(episodes)
    assert tokens["sample/dropped_candidates"] == 3
    assert sampled_tokens(tokens) == tokens["sample/tokens"] + sum(one.tokens for one in episodes[1].lost)


def test_sets_of_any_size_that_a_router_chose_are_compared():
    game = masgym.game("plan_path", workflow="routed", style="compact", T=2, n=3, tools=0)
    routes = {0: "<route>0</route>", 1: "<route>0,2</route>", 2: "<route>STOP</route>", 3: "<route>0,1,2</route>"}

    def reply(request, c):
        return routes[request.key[3]] if request.prompt.agent == "router_0" else moves(request, c)

    _, episodes, groups = sample(game, "srpo", "algo.branches=4", reply=reply)
    workers = [g for g in groups if g.actions[0].event.phase == 1 and g.actions[0].event.turn == 0]
    assert [sorted(len(a.members) for a in group.actions) for group in workers] == [[1, 2, 3]]
    assert ("worker_0", "worker_2") in {a.members for a in workers[0].actions}
    for phase, agent in ((0, "router_0"), (2, "aggregator_0")):
        (actions,) = (g.actions for g in groups if (g.actions[0].event.phase, g.actions[0].event.turn) == (phase, 0))
        assert [a.members for a in actions] == [(agent,)] * 4, "after STOP the aggregator speaks at the same place"
    metrics = of_episodes(episodes)
    assert metrics["sets/K3/candidates"] == sum(len(e.members) == 3 for x in episodes for e in x.events)
    assert metrics["sets/K2/candidates"] >= 1


def test_a_malformed_route_is_compared_with_the_other_routes_alone():
    """Its turn is lost: nobody spoke after it, so no other event of that turn has its episode in its group."""
    game = masgym.game("plan_path", workflow="routed", style="compact", T=2, n=3, tools=0)

    def reply(request, c):
        said = "nobody" if request.key[3] == 1 else "<route>0,2</route>"
        return said if request.prompt.agent == "router_0" else moves(request, c)

    _, _, groups = sample(game, "srpo", "algo.branches=4", reply=reply)
    of_turn = [[(a.event.key[3], a.members) for a in g.actions] for g in groups if g.actions[0].event.turn == 0]
    assert of_turn == [
        [(n, ("router_0",)) for n in range(4)],
        [(n, ("worker_0", "worker_2")) for n in (0, 2, 3)],
        [(n, ("aggregator_0",)) for n in (0, 2, 3)],
    ]


def test_groups_without_variance_are_logged_by_set_size():
    """A router makes sets of several sizes in one group: each is counted at its own."""
    metrics = dict[str, float]()
    for index in range(20):
        _, _, groups = sample(ensemble(), "srpo", "algo.branches=2", index=index)
        flat = [max(g.rewards) == min(g.rewards) for g in groups]
        metrics = of_groups(groups)
        for size in (1, 3):
            some = [f for f, g in zip(flat, groups, strict=True) for a in g.actions if len(a.members) == size]
            assert metrics[f"sets/K{size}/zero_variance"] == pytest.approx(sum(some) / len(some))
        if 0 < sum(flat) < len(flat):
            return
    raise AssertionError("in no task do some groups vary and others not")


def test_fault_13_a_team_has_never_two_agents_in_one_group_and_keeps_every_turn():
    game = masgym.game("plan_path", style="compact", T=3)
    _, episodes, groups = sample(game, "team_grpo", "algo.branches=4")
    kept = set()
    for group in groups:
        (found,) = {(a.event.task.id, a.members, a.event.turn) for a in group.actions}
        assert found not in kept, "one group, split in two"
        kept.add(found)
    played = {(e.task.id, (agent,), event.turn) for e in episodes for event in e.events for agent in event.members}
    assert kept == played
    assert {turn for _, _, turn in kept} == {0, 1, 2}
    assert sum(len(group.actions) for group in groups) == sum(len(e.events) for e in episodes)


def test_a_flat_reply_earns_what_follows_and_its_own_terms():
    game = masgym.game("plan_path", style="compact", T=3)
    _, episodes, _ = sample(game, "team_grpo", "algo.branches=2")
    for episode in episodes:
        for depth, event in enumerate(episode.events):
            (candidate,) = event.candidates
            for agent in event.members:
                local = sum(candidate.transition.rewards[agent].local.values())
                assert candidate.scores[agent] == pytest.approx(returns(game, episode, depth) + local)


@pytest.mark.parametrize("name", ["srpo", "srpo_tree", "team_grpo"])
def test_shaping_is_the_change_of_progress(name):
    """Flat: up to the end of the episode; a tree with `credit=turn`: up to the end of the turn, along the playout."""
    game = masgym.game("plan_path", workflow="solo", style="compact", T=3)
    plain, guided = (sample(game, name, "algo.branches=3", f"algo.guide={g}")[1] for g in (0, 3))
    moved = 0
    for before, after in zip(plain, guided, strict=True):
        state = game.initial(game.domain.tasks.get("train", 0))
        for event, shaped in zip(before.events, after.events, strict=True):
            for candidate, worth in zip(event.candidates, shaped.candidates, strict=True):
                end = candidate.transition.state if name == "srpo_tree" else before.final
                expected = 3 * (game.progress(end) - game.progress(state))
                moved += expected != 0
                assert worth.returns - candidate.returns == pytest.approx(expected)
                assert worth.scores["actor_0"] - candidate.scores["actor_0"] == pytest.approx(expected)
            state = event.candidates[event.chosen].transition.state
    assert moved


def test_groups_without_variance_are_counted():
    game = ensemble()
    _, _, groups = sample(game, "srpo", "algo.branches=3", reply=lambda request, c: "xx")
    metrics = of_groups(groups)
    assert metrics["groups/zero_variance"] == 1
    assert metrics["groups/zero_variance/worker+tool"] == 1
    assert of_groups(sample(game, "srpo", "algo.branches=8")[2])["groups/zero_variance"] < 1


def test_playouts_count():
    _, episodes, _ = sample(ensemble(), "srpo_tree", "algo.branches=2")
    metrics = of_episodes(episodes)
    assert metrics["sample/playout_tokens"] > 0
    assert sampled_tokens(metrics) == metrics["sample/tokens"] + metrics["sample/playout_tokens"]


@pytest.mark.parametrize(
    ("name", "override", "error", "says"),
    [
        ("srpo", "algo.credit=turn", BadValue, "flat episodes"),
        ("team_grpo", "algo.greedy_fraction=1", BadValue, "flat episodes"),
        ("srpo_tree", "algo.credit=immediate", BadValue, "turn or episode"),
        ("srpo", "algo.loss=grpo", BadValue, "one ratio per set"),
        ("srpo", "algo.reduction=batch", UnknownName, "event"),
        ("grpo", "workflow=pair", BadValue, "workflow=solo"),
        ("srpo", "algo.set_power=2", BadValue, "to 1"),
    ],
)
def test_settings_that_an_algorithm_cannot_have_are_told(name, override, error, says):
    with pytest.raises(error, match=says):
        algorithms.make(config(name, override))


def test_what_is_not_trained():
    assert [algorithms.make(config(name)).trains for name in ("warm", "best_of_k", "grpo")] == [False, False, True]
    assert algorithms.make(config("best_of_k", "algo.branches=5")).attempts == 5
