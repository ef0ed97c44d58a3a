"""The rules of the AEC, Parallel and Gymnasium faces."""

import math
from collections import defaultdict
from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from toy import Line
from toy_workflows import Duo

import masgym
from masgym.agents.random import random_reply
from masgym.errors import BadFile, BadValue, UnknownName
from masgym.faces.spaces import UnicodeText
from masgym.game import Game
from masgym.registry import single_env
from masgym.rng import keyed
from masgym.tags import clean
from masgym.tasks import Listed

REPLIES = ("++", "", "-", "+", "nonsense", "+++", "++++", "-+", "")


@pytest.fixture(autouse=True, scope="module")
def registered() -> None:
    masgym.register_domain("line", "toy:Line")
    masgym.register_workflow("duo", "toy_workflows:Duo")


def play(env, replies) -> dict[str, float]:
    """Plays `replies` in turn, dead steps included; returns what `last()` handed out, by agent."""
    handed, replies = defaultdict(float), iter(replies)
    for agent in env.agent_iter():
        _, reward, terminated, truncated, _ = env.last()
        handed[agent] += reward
        env.step(None if terminated or truncated else next(replies))
    return dict(handed)


def transitions(game: Game, task, replies):
    """The same replies through the pure game."""
    state, replies = game.initial(task), iter(replies)
    while members := game.active(state):
        done = game.apply(state, {a: next(replies) for a in members}, {})
        state = done.state
        yield done


@pytest.mark.parametrize("workflow", ["solo", "pair", "duo"])
def test_what_last_hands_out_is_the_sum_of_the_transitions(workflow: str) -> None:
    env = masgym.make("line", workflow, T=6, alpha=0.7)
    game, replies = env.unwrapped.game, REPLIES * 3
    env.reset(seed=3)
    task = env.snapshot().state.task
    handed = play(env, replies)
    expected = dict.fromkeys(game.agents, 0.0)
    for done in transitions(game, task, replies):
        for agent in game.agents:
            expected[agent] += done.gain + (done.rewards[agent].malformed if agent in done.rewards else 0.0)
    assert handed == pytest.approx(expected)
    assert any(done.penalty for done in transitions(game, task, replies))


@pytest.mark.parametrize("workflow", ["solo", "pair", "duo"])
def test_parallel_hands_out_the_same(workflow: str) -> None:
    game, replies = masgym.game("line", workflow, T=6), REPLIES * 3
    aec, parallel = masgym.make("line", workflow, T=6), masgym.parallel_env("line", workflow, T=6)
    aec.reset(seed=3)
    parallel.reset(seed=3)
    handed, left = defaultdict(float), iter(replies)
    while parallel.agents:
        members = game.active(parallel.snapshot().state)
        _, rewards, *_ = parallel.step({a: next(left) for a in members})
        for agent, reward in rewards.items():
            handed[agent] += reward
    assert dict(handed) == pytest.approx(play(aec, replies))


def test_rewards_are_cleared_before_a_stored_reply_and_set_once() -> None:
    env = masgym.make("line", "duo")
    env.reset(seed=0)
    for reply in ("+", "+", "+"):
        env.step(reply)
    gain = 1 / (8 - env.snapshot().state.world[0])
    assert env.rewards == pytest.approx(dict.fromkeys(env.agents, gain))
    env.step("+")
    assert env.rewards == {"tool_0": 0.0, "tool_1": 0.0, "actor_0": 0.0}
    assert env.unwrapped._cumulative_rewards == pytest.approx({"tool_0": 0.0, "tool_1": gain, "actor_0": gain})


def test_in_the_middle_of_a_set_everyone_sees_the_state_before_it() -> None:
    env = masgym.make("line", "duo")
    env.reset(seed=0)
    before = {a: env.observe(a) for a in env.agents}
    assert {a: i["active"] for a, i in env.infos.items()} == {"tool_0": True, "tool_1": True, "actor_0": False}
    env.step("++")
    assert {a: env.observe(a) for a in env.agents} == before
    assert {a: i["active"] for a, i in env.infos.items()} == {"tool_0": False, "tool_1": True, "actor_0": False}
    env.step("nonsense")
    shown = env.observe("actor_0")["text"]
    assert "++ leads to cell" in shown
    assert "malformed" in shown


def test_nobody_dies_before_the_end_and_T_truncates() -> None:
    env = masgym.make("line", "duo", T=2, length=20)
    env.reset(seed=0)
    for _ in range(6):
        assert env.agents == env.possible_agents
        assert not any([*env.terminations.values(), *env.truncations.values()])
        env.step("+")
    assert all(env.truncations.values())
    assert not any(env.terminations.values())
    assert env.observe("tool_0")["text"]
    with pytest.raises(BadValue, match="None"):
        env.step("+")
    for agent in env.possible_agents:
        assert env.agent_selection == agent
        env.step(None)
    assert env.agents == []
    assert env.observe("actor_0")["text"]


def test_a_solved_task_terminates() -> None:
    env = masgym.make("line", "solo")
    env.reset(seed=0)
    while not env.unwrapped.now.state.ended:
        env.step("++++" if env.infos["actor_0"]["active"] else None)
    assert env.terminations == {"actor_0": True}
    assert env.truncations == {"actor_0": False}
    assert env.infos["actor_0"]["success"]


def test_reset_chooses_the_task() -> None:
    env = masgym.make("line")
    source = env.unwrapped.game.domain.tasks

    def task(**arguments):
        env.reset(**arguments)
        return env.snapshot().state.task

    assert [task() for _ in range(3)] == [source.get("train", i) for i in range(3)]
    assert task(seed=7) == source.get("train", 7)
    assert task() == source.get("train", 8)
    assert task(options={"split": "test", "task": 5}) == source.get("test", 5)
    assert task(options={"task": source.get("validation", 2)}) == source.get("validation", 2)
    assert task(seed=4, options={"split": "test"}) == source.get("test", 4)
    assert task(options={"unknown": 1}) == source.get("train", 5)
    with pytest.raises(UnknownName, match="Known: test, train, validation"):
        task(options={"split": "dev"})
    with pytest.raises(BadValue, match="of domain 'plan_path'"):
        task(options={"task": masgym.game("plan_path").domain.tasks.get("train", 0)})


class Three(Line):
    """A finite set: three lines."""

    @property
    def tasks(self) -> Listed:
        made = (self._generate(keyed(i)) for i in range(40))
        found = {str(instance.content): instance for instance in made}
        listed = Listed(domain="line", params={}, instances=tuple(found.values()))
        listed._splits["train"] = listed._splits["train"][:3]
        listed._splits["test"] = []
        return listed


def test_a_seed_beyond_a_finite_set_starts_it_anew() -> None:
    masgym.register_domain("three", Three)
    env = masgym.make("three")
    seen = []
    for seed in (0, 1, 2, 3, 7):
        env.reset(seed=seed)
        seen.append(env.snapshot().state.task.index)
    assert seen == [0, 1, 2, 0, 1]
    env.reset()
    assert env.snapshot().state.task.index == 2
    with pytest.raises(BadFile, match="none of split 'test'"):
        env.reset(options={"split": "test"})


def test_infos_carry_what_a_policy_needs() -> None:
    env = masgym.make("line", "pair")
    env.reset(seed=0)
    env.step("+")
    env.step("+-")
    info = env.infos["actor_0"]
    assert info["legal"] == ["+", "-"] or info["legal"] == ["+"]
    assert [m["role"] for m in info["messages"]] == ["system", "user"]
    assert "\n\n".join(m["content"] for m in info["messages"]) == env.observe("actor_0")["text"]
    assert info["reward_terms"]["local"] == {"format": 0.1, "legal": 0.1, "best": 0.0}
    assert set(info["reward_terms"]) == {"gain", "team", "malformed", "cost", "local"}
    info["messages"].clear()
    env.step("+")
    assert env.infos["actor_0"]["messages"]


def test_parallel_needs_the_active_set_and_ignores_the_others() -> None:
    env = masgym.parallel_env("line", "duo")
    env.reset(seed=0)
    with pytest.raises(ValueError, match="tool_1"):
        env.step({"tool_0": "+", "actor_0": "+"})
    assert env.snapshot().pending == {}
    _, _, _, _, infos = env.step({"tool_0": "+", "tool_1": "+", "actor_0": "+"})
    assert {a: i["active"] for a, i in infos.items()} == {"tool_0": False, "tool_1": False, "actor_0": True}
    while env.agents:
        env.step(dict.fromkeys(env.agents, "++++"))
    with pytest.raises(ValueError, match="over"):
        env.step({})


@pytest.mark.parametrize("seed", ["x", 1.5, True, [1], -1])
@pytest.mark.parametrize("make", [masgym.make, masgym.parallel_env, single_env])
def test_a_seed_is_a_whole_number(make, seed) -> None:
    env = make("line", "solo")
    with pytest.raises(BadValue, match="seed is"):
        env.reset(seed=seed)
    env.reset(seed=np.int64(3))
    assert env.unwrapped.snapshot().state.task.index == 3


@pytest.mark.parametrize("options", ["x", 5, ["task"], {"task": [1]}, {"task": 1.7}, {"task": "1"}, {"task": True}])
@pytest.mark.parametrize("make", [masgym.make, masgym.parallel_env, single_env])
def test_options_are_a_mapping_and_their_task_a_number(make, options) -> None:
    with pytest.raises(BadValue, match="options"):
        make("line", "solo").reset(options=options)


def test_a_parallel_step_is_made_whole_or_not_at_all() -> None:
    env = masgym.parallel_env("line", "duo")
    env.reset(seed=0)
    before = env.snapshot()
    for wrong, says in (
        ({"tool_0": "+", "tool_1": None}, "tool_1 gave NoneType"),
        ({"tool_0": "+", "tool_1": 3}, "tool_1 gave int"),
        ({"tool_0": "+", 1: "+"}, "tool_1"),
        (None, "not a NoneType"),
    ):
        with pytest.raises(BadValue, match=says):
            env.step(wrong)
        assert env.snapshot() is before
    env.step({"tool_0": "-", "tool_1": "-"})
    assert env.snapshot().state.log[0][0] == {"tool_0": "-", "tool_1": "-"}


def test_a_parallel_step_whose_transition_fails_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    env = masgym.parallel_env("line", "duo")
    env.reset(seed=0)
    before = env.snapshot()
    monkeypatch.setattr(type(env.game.domain), "calls", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        env.step({"tool_0": "+", "tool_1": "+"})
    assert env.snapshot() is before


def test_before_reset_and_with_other_than_text_there_is_an_error() -> None:
    for env in (masgym.parallel_env("line"), gymnasium.make("masgym/Line-v0").unwrapped, masgym.make("line").unwrapped):
        with pytest.raises(BadValue, match="reset"):
            env.snapshot()
    with pytest.raises(AssertionError, match="reset"):
        masgym.make("line").step("+")
    with pytest.raises(AssertionError, match="reset"):
        masgym.make("line").last()
    with pytest.raises(AttributeError, match="before reset"):
        _ = masgym.make("line").agents
    env = masgym.make("line")
    env.reset()
    with pytest.raises(BadValue, match="gave int"):
        env.step(3)
    with pytest.raises(BadValue, match="gave NoneType"):
        env.step(None)
    with pytest.raises(UnknownName, match="tool_0"):
        env.observe("tool")
    with pytest.raises(UnknownName, match="ansi"):
        masgym.make("line", render_mode="rgb_array")


def test_lone_surrogates_are_replaced_at_the_boundary() -> None:
    assert clean("a\ud800b") == "a?b"
    assert clean("é\U0001f600") == "é\U0001f600"
    env = masgym.make("line", "solo")
    env.reset()
    env.step("\udfff+")
    assert env.snapshot().state.log[0][0] == {"actor_0": "?+"}


def test_text_spaces() -> None:
    space = UnicodeText(max_length=5)
    assert "" in space
    assert "a ü\n." in space
    assert "123456" not in space
    assert 3 not in space
    actions = masgym.make("line").action_space("actor_0")
    assert actions is not masgym.make("line").action_space("actor_0")
    assert actions == masgym.make("line").action_space("tool_0")
    actions.seed(0)
    drawn = [actions.sample() for _ in range(20)]
    assert set("".join(drawn)) == {"+", "-", " "}
    actions.seed(0)
    assert [actions.sample() for _ in range(20)] == drawn
    with pytest.raises(UnknownName, match="actor_0"):
        masgym.make("line").action_space("nobody")


def test_rendering(capsys: pytest.CaptureFixture[str]) -> None:
    env = masgym.make("line", "pair", render_mode="ansi")
    env.reset(seed=0)
    env.step("+")
    assert "@" in env.render()
    assert "tool_0: + leads to" in env.render()
    assert capsys.readouterr().out == ""
    env = masgym.make("line", "pair", render_mode="human")
    env.reset(seed=0)
    env.step("+")
    assert env.render() is None
    assert capsys.readouterr().out.count("@") == 3
    env = masgym.make("line")
    env.reset()
    assert env.render() is None


def test_gymnasium_hands_out_the_same_as_the_solo_game() -> None:
    env = gymnasium.make("masgym/Line-v0", T=6)
    _, info = env.reset(seed=3)
    game, total, over, replies = env.unwrapped.game, 0.0, False, iter(REPLIES)
    task = env.unwrapped.snapshot().state.task
    while not over:
        _, reward, terminated, truncated, info = env.step(next(replies))
        total, over = total + reward, terminated or truncated
    assert total == pytest.approx(sum(t.gain + t.penalty for t in transitions(game, task, REPLIES)))
    assert info["task"] == task.id
    with pytest.raises(BadValue, match="over"):
        env.step("+")


def test_vector_environments() -> None:
    maker = partial(gymnasium.make, "masgym/Sokoban-v0")
    for vector in (SyncVectorEnv([maker] * 2), AsyncVectorEnv([maker] * 2, shared_memory=False)):
        shown, _ = vector.reset(seed=[0, 1])
        assert len(shown["text"]) == 2
        assert shown["text"][0] != shown["text"][1]
        shown, rewards, *_ = vector.step(("U", "D"))
        assert "Turn 2" in shown["text"][0]
        assert all(math.isfinite(r) for r in rewards)
        vector.close()


@pytest.mark.parametrize("domain", ["sokoban", "plan_path"])
def test_a_random_team_plays_to_the_end_on_every_face(domain: str) -> None:
    env = masgym.make(domain, Duo())
    for seed in range(5):
        env.reset(seed=seed)
        for agent in env.agent_iter():
            over = env.last(observe=False)[2] or env.last(observe=False)[3]
            now = env.snapshot()
            env.step(
                None if over else random_reply(now.game, now.state, agent, keyed("test", seed, len(now.state.log)))
            )
        assert env.snapshot().state.ended
