"""Faults found in public implementations, the environment's part: each a test named after it (shipped domains)."""

import pytest
from toy_workflows import Duo

import masgym
from masgym.agents.random import random_reply
from masgym.game import Game
from masgym.rng import keyed
from masgym.testing import check_terms
from masgym.testing.play import step, tried
from masgym.types import State

DOMAINS = ("sokoban", "plan_path")
TASKS = range(12)
every_domain = pytest.mark.parametrize("domain", DOMAINS)
every_style = pytest.mark.parametrize("style", ["full", "compact"])


def texts(game: Game, state: State) -> dict[str, str]:
    return {agent: game.observe(state, agent).text for agent in game.agents}


def states(game: Game, index: int) -> list[State]:
    """A random play of task `index`, terminal state included."""
    found = [game.initial(game.domain.tasks.get("train", index))]
    while members := game.active(found[-1]):
        state = found[-1]
        replies = {a: random_reply(game, state, a, keyed("faults", index, len(state.log), a)) for a in members}
        found.append(step(game, state, replies).state)
    return found


@every_domain
@every_style
def test_fault_1_prompts_and_rewards_came_from_another_copy_of_the_environment(domain: str, style: str) -> None:
    """Candidates branch from one state: the continuation's prompt shows the chosen one's effect, and no other's."""
    game = masgym.game(domain, "solo", style=style)
    for index in TASKS:
        start = game.initial(game.domain.tasks.get("train", index))
        prompt = texts(game, start)
        legal = game.domain.legal(start.world, "act")
        done = {reply: step(game, start, {"actor_0": reply}) for reply in legal}
        assert texts(game, start) == prompt, "sampling candidates moved the state they share"
        for reply, chosen in done.items():
            effect = game.domain.effect("act", start.world, reply, ())
            shown = game.observe(chosen.state, "actor_0").text
            assert game.domain.render(effect.world, style) in shown
            assert chosen.gain == pytest.approx(
                game.domain.potential(effect.world) - game.domain.potential(start.world) + chosen.state.success
            )
        assert len({game.observe(t.state, "actor_0").text for t in done.values()}) == len(legal)


@every_domain
@every_style
def test_fault_2_the_second_agent_of_a_turn_did_not_see_the_first(domain: str, style: str) -> None:
    game = masgym.game(domain, "pair", style=style)
    for index in TASKS:
        start = game.initial(game.domain.tasks.get("train", index))
        before = game.observe(start, "actor_0").text
        legal = game.domain.legal(start.world, "tool")
        shown = [game.observe(step(game, start, {"tool_0": reply}).state, "actor_0").text for reply in (*legal, "")]
        assert len({before, *shown}) == len(legal) + 2
        if style == "full":
            assert all(f"(tool_0): {reply}" in text for reply, text in zip(legal, shown, strict=False))


@every_domain
def test_fault_2_all_candidates_got_one_reward(domain: str) -> None:
    """Rewards differ where outcomes differ: for the tool by its own terms, for the actor by what it does."""
    game = masgym.game(domain, "pair")
    differ = {"tool_0": 0, "actor_0": 0}
    for index in TASKS:
        state = game.initial(game.domain.tasks.get("train", index))
        for agent in game.agents:
            done = [
                step(game, state, {agent: reply})
                for reply in tried(game, state, agent, (), keyed("fault 2", index, agent))
            ]
            optimal, empty = (t.published(agent) for t in done[:2])
            assert optimal > empty
            differ[agent] += len({round(t.published(agent), 9) for t in done}) > 2
            state = done[0].state
    assert min(differ.values()) > len(TASKS) / 2


@every_domain
def test_fault_2_members_of_a_set_do_not_see_each_other(domain: str) -> None:
    env = masgym.make(domain, Duo())
    env.reset(seed=1)
    before = {agent: env.observe(agent) for agent in env.agents}
    env.step(env.unwrapped.game.oracle(env.snapshot().state, "tool_0"))
    assert {agent: env.observe(agent) for agent in env.agents} == before


@every_domain
@every_style
def test_fault_5_later_prompts_showed_the_start_position(domain: str, style: str) -> None:
    game, moved = masgym.game(domain, "pair", style=style), 0
    for index in TASKS:
        play = states(game, index)
        pictures = [game.domain.render(state.world, style) for state in play]
        for state, picture in zip(play, pictures, strict=True):
            for agent, text in texts(game, state).items():
                assert picture in text, f"{agent} is not shown the present world"
                others = {other for other in pictures if other != picture}
                assert not any(other in text for other in others), f"{agent} is shown a world of another time"
        moved += len(set(pictures)) > 2
    assert moved > len(TASKS) / 2


@pytest.mark.parametrize("workflow", ["solo", "pair", "verify"])
@pytest.mark.parametrize("domain", masgym.list_domains())
def test_fault_9_a_local_term_was_always_zero(domain: str, workflow: str) -> None:
    replies = ["```python\nprint(1)\n```", "```python\n1 / 0\n```"] if domain == "math" else []
    check_terms(masgym.game(domain, workflow), replies=replies)


@every_domain
def test_fault_10_seeds_did_not_reach_the_environment(domain: str) -> None:
    """Same seed and replies, same transcript, on any face and in any order of resets; other seeds, other tasks."""

    def transcript(env, seed: int) -> list:
        env.reset(seed=seed)
        lines = []
        for agent in env.agent_iter():
            seen, reward, terminated, truncated, _ = env.last()
            now = env.snapshot()
            reply = random_reply(now.game, now.state, agent, keyed("fault 10", len(now.state.log)))
            lines.append((agent, seen, reward, terminated, truncated, reply))
            env.step(None if terminated or truncated else reply)
        return lines

    one, two = masgym.make(domain), masgym.make(domain)
    transcript(two, 99)
    for seed in range(5):
        assert transcript(one, seed) == transcript(two, seed)
    firsts = set()
    for seed in range(20):
        one.reset(seed=seed)
        parallel = masgym.parallel_env(domain)
        assert parallel.reset(seed=seed)[0]["tool_0"] == one.observe("tool_0")
        firsts.add(one.observe("tool_0")["text"])
    assert len(firsts) == 20
