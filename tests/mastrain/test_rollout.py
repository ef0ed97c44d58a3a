"""The tree: prompts, scores, continuation, playouts, failures, and independence of the order of completion."""

import asyncio
import dataclasses
import itertools

import pytest
from scripted_teams import play_tree, team_of

import masgym
from masgym.rng import keyed
from mastrain import rollout
from mastrain.algorithms import per_member, standardise
from mastrain.engines.base import SamplingFailed, run
from mastrain.types import Event


def random_moves(request, c):
    rng = keyed(*request.key, request.prompt.agent, c)
    return "".join(rng.choice(list("UDLR"), size=int(rng.integers(1, 4))))


def member_groups(episode):
    groups = {}
    for event in episode.events:
        for key, action in per_member(event):
            groups.setdefault(key, []).append(action)
    return groups


def test_fault_1_prompts_and_rewards_come_from_the_state_that_is_stepped(game):
    """One state serves prompt, reward and continuation: the next prompt shows the chosen action's effect."""
    task = game.domain.tasks.get("train", 0)
    episode = play_tree(team_of(game, random_moves), task)
    state = game.initial(task)
    for event in episode.events:
        for agent in event.members:
            assert event.prompts[agent].messages == game.observe(state, agent).messages
        for candidate in event.candidates:
            again = game.apply(state, {a: c.text for a, c in candidate.completions.items()}, {})
            assert candidate.transition == again
            assert all(candidate.scores[a] == again.published(a) for a in event.members)
        state = event.candidates[event.chosen].transition.state
    assert episode.final == state
    assert state.ended


def test_fault_1_every_group_has_one_prompt_fingerprint(game):
    for key, actions in member_groups(
        play_tree(team_of(game, random_moves), game.domain.tasks.get("train", 1))
    ).items():
        assert len({a.event.prompts[a.members[0]].hash for a in actions}) == 1, key
        assert len({a.event.state_id for a in actions}) == 1, key


def test_fault_2_the_second_agent_sees_the_first_ones_output_and_rewards_differ():
    game = masgym.game("sokoban", style="compact")
    task = game.domain.tasks.get("train", 0)
    right = game.oracle(game.initial(task), "actor_0")

    def reply(request, c):
        return right if c == 0 else "xx"

    episode = play_tree(team_of(game, reply), task)
    tool, actor = episode.events[0], episode.events[1]
    assert tool.candidates[tool.chosen].completions["tool_0"].text == right
    assert f"tool:{right}" in actor.prompts["actor_0"].messages[0].content
    assert len({c.scores["actor_0"] for c in actor.candidates}) > 1
    assert len({c.scores["tool_0"] for c in tool.candidates}) > 1


def test_fault_3_a_group_has_one_task_one_episode_one_agent_one_turn(game):
    team = team_of(game, random_moves)
    tasks = [game.domain.tasks.get("train", i) for i in range(3)]

    async def several():
        settings = rollout.TreeSettings(branches=3, greedy_fraction=0.0, credit="immediate", advice_credit="immediate")
        keys = [(0, 1, i, e) for i in range(3) for e in range(2)]
        return await asyncio.gather(*(rollout.tree(team, tasks[k[2]], k, settings) for k in keys))

    episodes = run(several(), team.engine)
    seen = set()
    for episode in episodes:
        for actions in member_groups(episode).values():
            facts = {(a.event.task.id, a.event.key[:4], a.members, a.event.turn) for a in actions}
            assert len(facts) == 1
            assert len({a.event.prompts[a.members[0]].hash for a in actions}) == 1
            assert not facts & seen, "one group, split in two"
            seen |= facts
    assert {e.key for e in episodes} == {(0, 1, i, e) for i in range(3) for e in range(2)}


def test_fault_7_a_failed_generation_is_a_named_outcome_and_never_a_sample(game):
    def reply(request, c):
        return SamplingFailed("timeout") if len(request.key) == 5 and request.key[-1] == 2 else random_moves(request, c)

    episode = play_tree(team_of(game, reply), game.domain.tasks.get("train", 0))
    assert episode.failure == "timeout"
    assert len(episode.events) == 2
    assert not episode.final.ended


def test_fault_7_a_candidate_whose_playout_fails_is_dropped_and_named(game):
    def reply(request, c):
        if len(request.key) > 5 and request.key[5] == 1:  # playouts of candidate 1
            return SamplingFailed("context overflow")
        return random_moves(request, c)

    episode = play_tree(team_of(game, reply), game.domain.tasks.get("train", 0), credit="turn")
    tool = episode.events[0]
    assert [c.index for c in tool.candidates] == [0, 2, 3]
    assert [one.outcome for one in tool.lost] == ["context overflow"]
    assert not episode.failure


def test_fault_10_same_seed_and_replies_same_transcript(game):
    task = game.domain.tasks.get("train", 3)
    first, second = (play_tree(team_of(game, random_moves), game.domain.tasks.get("train", 3)) for _ in range(2))
    assert first == second
    assert first.task == task
    assert play_tree(team_of(game, random_moves), task, key=(1, 1, 0, 0)) != first


def test_the_order_of_completion_changes_nothing(game):
    """Episodes played together in one batch are those played one by one."""
    tasks = [game.domain.tasks.get("train", i) for i in range(4)]
    settings = rollout.TreeSettings(branches=3, greedy_fraction=0.5, credit="episode", advice_credit="episode")
    team = team_of(game, random_moves)

    async def together(order):
        return await asyncio.gather(*(rollout.tree(team, tasks[i], (0, 1, i, 0), settings) for i in order))

    forward = run(together(range(4)), team.engine)
    backward = run(together(reversed(range(4))), team.engine)
    alone = [run(rollout.tree(team, tasks[i], (0, 1, i, 0), settings), team.engine) for i in range(4)]
    assert forward == backward[::-1] == alone


def test_prompts_that_wait_are_sampled_in_one_batch(game):
    team = team_of(game, random_moves)
    tasks = [game.domain.tasks.get("train", i) for i in range(5)]
    settings = rollout.TreeSettings(branches=2, greedy_fraction=1.0, credit="immediate", advice_credit="immediate")

    async def together():
        return await asyncio.gather(*(rollout.tree(team, t, (0, 1, i, 0), settings) for i, t in enumerate(tasks)))

    run(together(), team.engine)
    assert team.engine.batches[:2] == [5, 5]


def test_greedy_continuation_takes_the_best_and_breaks_ties_by_a_keyed_draw(game):
    task = game.domain.tasks.get("train", 0)
    for event in play_tree(team_of(game, random_moves), task).events:
        means = [sum(c.scores.values()) / len(c.scores) for c in event.candidates]
        assert means[event.chosen] == max(means)
    same = play_tree(team_of(game, lambda r, c: "xx"), task)
    assert {event.chosen for event in same.events} != {0}


def test_greedy_fraction_0_draws_uniformly(game):
    task = game.domain.tasks.get("train", 0)
    chosen = [
        event.chosen
        for seed in range(40)
        for event in play_tree(team_of(game, random_moves), task, key=(seed, 1, 0, 0), greedy_fraction=0.0).events
    ]
    counts = [chosen.count(i) for i in range(4)]
    assert min(counts) > 0.15 * len(chosen)
    assert max(counts) < 0.35 * len(chosen)


def test_credit_turn_scores_a_tool_by_what_the_actor_then_gains():
    """tool replies are all alike; under `turn` a candidate's value is its playout's gain plus the own local terms."""
    game = masgym.game("plan_path", style="compact")
    task = game.domain.tasks.get("train", 0)
    start = game.initial(task)
    right = game.oracle(start, "actor_0")

    def reply(request, c):
        acts = request.prompt.agent == "actor_0"
        playout_of_2 = len(request.key) > 5 and request.key[5] == 2
        return right if acts and playout_of_2 else "xx"

    episode = play_tree(team_of(game, reply), task, credit="turn")
    event = episode.events[0]
    tool = game.apply(start, {"tool_0": "xx"}, {})
    acted = game.apply(tool.state, {"actor_0": right}, {})
    lost = game.apply(tool.state, {"actor_0": "xx"}, {})
    assert acted.gain > 0
    expected = [
        tool.gain + tool.penalty + t.gain + t.penalty + sum(tool.rewards["tool_0"].local.values())
        for t in (lost, lost, acted, lost)
    ]
    assert [c.scores["tool_0"] for c in event.candidates] == pytest.approx(expected)
    assert event.chosen == 2
    assert all(c.transition.state.phase == 1 for c in event.candidates), "the playout is thrown away"
    assert all(c.playout_tokens > 0 for c in event.candidates)


def test_credit_episode_equals_the_return_of_what_was_played():
    game = masgym.game("plan_path", style="compact", T=3)
    task = game.domain.tasks.get("train", 0)
    seen = {}

    def reply(request, c):
        text = random_moves(request, c)
        seen[(request.key, request.prompt.agent, c)] = text
        return text

    event: Event = play_tree(team_of(game, reply), task, credit="episode").events[0]
    for c, candidate in enumerate(event.candidates):
        state = candidate.transition.state
        total = candidate.transition.gain + candidate.transition.penalty
        depth = 0
        while members := game.active(state):
            outputs = {a: seen[((*event.key, c, depth), a, 0)] for a in members}
            t = game.apply(state, outputs, {})
            total, state, depth = total + t.gain + t.penalty, t.state, depth + 1
        local = sum(candidate.transition.rewards["tool_0"].local.values())
        assert candidate.scores["tool_0"] == pytest.approx(total + local)


def test_advantages_by_hand():
    assert standardise([1.0, 2.0, 3.0], normalise=False) == (-1.0, 0.0, 1.0)
    std = (2 / 3) ** 0.5
    assert standardise([1.0, 2.0, 3.0]) == pytest.approx((-1 / (std + 1e-6), 0, 1 / (std + 1e-6)))
    assert standardise([0.3, 0.3, 0.3]) == (0.0, 0.0, 0.0)


def test_a_training_episode_may_end_where_its_task_is_lost():
    """`stop_hopeless` ends the tree, and playouts, at a dead position; without it they go on to T."""
    game = masgym.game("sokoban", workflow="solo", style="compact")

    def first_push(index):
        state = game.initial(game.domain.tasks.get("train", index))
        for reply in itertools.product("UDLR", repeat=2):
            after = game.apply(state, {"actor_0": "".join(reply)}, {}).state
            if game.hopeless(after):
                return index, "".join(reply)
        return None

    index, deadly = next(found for found in map(first_push, range(500)) if found)
    task = game.domain.tasks.get("train", index)
    lengths = {}
    for stop in (False, True):
        episode = play_tree(
            team_of(game, lambda request, c: deadly), task, branches=2, stop_hopeless=stop, credit="episode"
        )
        lengths[stop] = len(episode.events)
        played_on = episode.events[0].candidates[0].playout_tokens > 0
        assert played_on is not stop
    assert lengths == {True: 1, False: game.T}


def test_a_training_episode_may_end_after_some_turns():
    game = masgym.game("plan_path", style="compact")
    task = game.domain.tasks.get("train", 0)
    episode = play_tree(team_of(game, random_moves), task, turns=2)
    assert [event.turn for event in episode.events] == [0, 0, 1, 1]
    assert not episode.failure
    assert len(play_tree(team_of(game, random_moves), task, turns=0).events) > 4


def test_the_guide_counts_for_advice_too():
    """`immediate`: the way that the proposal would make. `turn`: the way that the actor makes after it."""
    game = masgym.game("sokoban", style="compact")
    task = game.domain.tasks.get("train", 0)
    start = game.initial(task)
    for credit in ("immediate", "turn"):
        options = {"credit": credit, "advice_credit": credit, "branches": 8}
        plain, guided = (
            play_tree(team_of(game, random_moves), task, guide=g, **options).events[0].candidates for g in (0.0, 3.0)
        )
        gains = [two.scores["tool_0"] - one.scores["tool_0"] for one, two in zip(plain, guided, strict=True)]
        assert len({round(gain, 9) for gain in gains}) > 1
        if credit == "immediate":
            for gain, candidate in zip(gains, guided, strict=True):
                would = dataclasses.replace(start, world=candidate.transition.effects["tool_0"].world)
                assert gain == pytest.approx(3 * game.progress(would))


def test_a_domain_that_cannot_tell_has_no_progress():
    game = masgym.game("sudoku", style="compact")
    assert game.progress(game.initial(game.domain.tasks.get("train", 0))) == 0


def test_the_guide_by_hand():
    """An actor's score without a guide, and 3 x the share of the way that it makes; lost: nothing made, and -2."""
    game = masgym.game("sokoban", workflow="solo", style="compact")
    task = game.domain.tasks.get("train", 0)
    plain, guided = (
        play_tree(team_of(game, random_moves), task, branches=64, **extra).events[0].candidates
        for extra in ({}, {"guide": 3.0, "lost": -2.0})
    )
    gains = set()
    for one, two in zip(plain, guided, strict=True):
        left = game.domain.remaining(two.transition.state.world)
        gain = -2.0 if left is None else 3 * (1 - left / task.optimum)
        gains.add(gain)
        assert two.scores["actor_0"] == pytest.approx(one.scores["actor_0"] + gain)
    assert len(gains) > 2
    assert -2.0 in gains


def test_advice_may_have_another_credit_than_acts():
    game = masgym.game("plan_path", style="compact")
    events = play_tree(
        team_of(game, random_moves), game.domain.tasks.get("train", 0), credit="turn", advice_credit="immediate"
    ).events
    tool, actor = events[0], events[1]
    assert all(c.playout_tokens == 0 for c in (*tool.candidates, *actor.candidates))
    for c in tool.candidates:
        assert c.scores["tool_0"] == c.transition.published("tool_0")
    for c in actor.candidates:
        t = c.transition
        assert c.scores["actor_0"] == pytest.approx(t.gain + t.penalty + sum(t.rewards["actor_0"].local.values()))
