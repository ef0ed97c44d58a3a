"""Gymnasium's vector environments over the single-agent face: text arrives whole, and positions go to and fro."""

import gymnasium
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

import masgym  # noqa: F401 (registers its environments)
from masgym.errors import BadValue

ID = "masgym/Sokoban-v0"
KINDS = [("sync", {}), ("async", {"shared_memory": False})]


def two(mode: str, options: dict, **kwargs):
    return gymnasium.make_vec(ID, num_envs=2, vectorization_mode=mode, vector_kwargs=options, **kwargs)


def alone(seed: int, *replies: str) -> tuple[str, float]:
    """What one environment of its own shows and pays last."""
    env = gymnasium.make(ID)
    shown, reward = env.reset(seed=seed)[0], 0.0
    for reply in replies:
        shown, reward, *_ = env.step(reply)
    return shown["text"], float(reward)


@pytest.mark.parametrize(("mode", "options"), KINDS)
def test_each_member_is_as_it_is_alone(mode: str, options: dict) -> None:
    envs = two(mode, options)
    try:
        assert isinstance(envs, SyncVectorEnv if mode == "sync" else AsyncVectorEnv)
        shown, infos = envs.reset(seed=[3, 4])
        assert shown["text"] == (alone(3)[0], alone(4)[0])
        assert [str(task).split("/")[2] for task in infos["task"]] == ["3", "4"]
        shown, rewards, ended, cut, infos = envs.step(("U", "no moves: \u00fc\u2192"))
        assert shown["text"] == (alone(3, "U")[0], alone(4, "no moves: \u00fc\u2192")[0])
        assert rewards.tolist() == [alone(3, "U")[1], -0.5]
        assert "malformed" in shown["text"][1]
        assert not ended.any()
        assert not cut.any()
        assert infos["reward_terms"]["malformed"].tolist() == [0.0, -0.5]
    finally:
        envs.close()


@pytest.mark.parametrize(("mode", "options"), KINDS)
def test_whoever_is_over_begins_the_next_task(mode: str, options: dict) -> None:
    envs = two(mode, options, T=1)
    try:
        envs.reset(seed=[3, 4])
        shown, _, _, cut, _ = envs.step(("U", "U"))
        assert cut.all()
        shown, _, _, cut, infos = envs.step(("", ""))
        assert not cut.any()
        assert [str(task).split("/")[2] for task in infos["task"]] == ["4", "5"]
        assert "Turn 1 of at most 1." in shown["text"][0]
    finally:
        envs.close()


@pytest.mark.parametrize(("mode", "options"), KINDS)
def test_positions_are_saved_and_restored(mode: str, options: dict) -> None:
    envs = two(mode, options)
    try:
        envs.reset(seed=[3, 4])
        saved = envs.call("snapshot")
        assert envs.get_attr("position") == saved
        first = envs.step(("U", "L"))
        envs.set_attr("position", list(saved))
        again = envs.step(("U", "L"))
        assert first[0] == again[0]
        assert first[1].tolist() == again[1].tolist()
        envs.call("restore", saved[0])  # one position, tried in both
        assert envs.call("snapshot") == (saved[0], saved[0])
    finally:
        envs.close()


def test_a_position_is_not_set_where_the_vector_would_reset_over_it() -> None:
    envs = two("sync", {}, T=1)
    envs.reset(seed=[3, 4])
    saved = envs.call("snapshot")
    envs.step(("U", "U"))
    with pytest.raises(BadValue, match="restore after that"):
        envs.set_attr("position", list(saved))


def test_shared_memory_is_refused() -> None:
    with pytest.raises(BadValue, match="pass shared_memory=False") as raised:
        gymnasium.make_vec(ID, num_envs=2, vectorization_mode="async")
    assert 'vector_kwargs={"shared_memory": False}' in str(raised.value)


def test_a_vector_resets_over_no_member_by_hand() -> None:
    """DISABLED leaves resets to the user, with a mask."""
    envs = two("sync", {"autoreset_mode": AutoresetMode.DISABLED}, T=1)
    first, _ = envs.reset(seed=[3, 4])
    envs.step(("U", "U"))
    shown, _ = envs.reset(seed=[3, 4])
    assert shown == first


def test_a_domain_with_programs_runs_in_a_vector_worker() -> None:
    """Its workers are daemons, which may not start processes of multiprocessing; the sandbox uses none."""
    envs = gymnasium.make_vec(
        "masgym/Code-v0", num_envs=1, vectorization_mode="async", vector_kwargs={"shared_memory": False}
    )
    try:
        envs.reset(seed=[7])
        _, rewards, ended, *_ = envs.step(("'/'.join(w.split())",))
        assert (rewards.tolist(), ended.tolist()) == ([2.0], [True])
    finally:
        envs.close()
