"""Foreign PettingZoo environments with text are played by our agents, through the one evaluator."""

import asyncio
import math
import re

import pytest
import text_envs
from pettingzoo.test import parallel_api_test

import masgym
from masgym.agents.oracle import OracleAgent
from masgym.agents.random import RandomAgent
from masgym.errors import BadValue, UnknownName
from masgym.faces import aec
from masgym.foreign import ForeignGame, resolve
from masgym.play import play
from masgym.report import summarise
from masgym.snapshot import Snapshot, answer, start
from masgym.testing.play import step
from masgym.tools.driver import default_driver

DRIVER = default_driver()


def words_in_turn(text):
    """The first word that nobody has said."""
    listed, said = (re.findall(r"\w+", part) for part in re.search(r"one of: (.*?)\. said: (.*?)\.", text).groups())
    return next(word for word in listed if word not in said)


def share(text):
    """An adder's part of the sum: a third of it, the rest for all that came before."""
    return str(int(re.search(r"sum is (\d+)", text)[1]) // 3)


def test_players_in_turn_each_by_its_own_agent(says, played):
    game = resolve("pettingzoo:text_envs")
    assert isinstance(game, ForeignGame)
    assert (game.agents, game.roles) == (("player_0", "player_1"), ("player",))
    clever, stubborn = says(words_in_turn), says(lambda text: "apple")
    records = played(game, {"player_0": clever, "player_1": stubborn}, tasks=20)
    for record in records:
        assert record.terms["player_0/return"] == -record.terms["player_1/return"] == record.returns
        assert record.success == (record.returns == 1.0)
    outcomes = {(r.success, r.returns) for r in records}
    assert (True, 1.0) in outcomes
    assert 0 < summarise(records).success.mean < 1
    assert all("you are player 0" in text for text in clever.shown)
    assert "You are player_0; the others are player_1. Your reply as a whole is your action." in clever.shown[0]
    assert records == played(game, {"player_0": says(words_in_turn), "player_1": stubborn}, tasks=20)


def test_the_reported_player_can_be_chosen(says, played):
    agents = {"player_0": says(lambda text: "apple"), "player_1": says(words_in_turn)}
    records = played(resolve("pettingzoo:text_envs", player="player_1"), agents, tasks=20)
    assert all(r.returns == r.terms["player_1/return"] for r in records)
    with pytest.raises(UnknownName, match="player_0, player_1"):
        resolve("pettingzoo:text_envs", player="player_7")


def test_everybody_at_once(says, played):
    game = resolve("pettingzoo:text_envs:parallel_env", players=3)
    assert game.agents == ("adder_0", "adder_1", "adder_2")
    records = played(game, {"adder": says(share)}, tasks=12)
    assert {r.replies // r.event_count for r in records} == {3}
    for r in records:  # the environment pays 0.5, and says itself whether it was solved
        assert r.success == (r.terms["adder_0/return"] == 0.5)
        assert (r.ended, r.turns) == (("done", 1) if r.success else ("T", 4))
    assert {r.success for r in records} == {True, False}


def test_an_action_outside_of_the_space_is_malformed_and_moves_nothing(says, played):
    game = resolve("pettingzoo:text_envs", T=4)
    state = game.initial(game.domain.tasks.get("test", 0))
    done = step(game, state, {"player_0": "PEAR!"})
    assert done.effects["player_0"].malformed
    assert (done.penalty, done.state.turn, done.state.world) == (-0.5, 1, state.world)
    assert "Your last reply was not taken: it is not in the action space" in game.observe(done.state, "player_0").text
    (record,) = played(game, {"*": says(lambda text: "\U0001f600")}, tasks=1)
    assert (record.ended, len(record.malformed), record.success) == ("T", 4, False)


def test_a_reply_that_breaks_the_environment_is_data_and_the_rest_goes_on(says, played):
    game = resolve("pettingzoo:text_envs", words=["pear", "fig"])
    state = game.initial(game.domain.tasks.get("test", 0))
    broken = step(game, state, {"player_0": "boom"})
    assert "the environment failed on it: RuntimeError: it cannot stand" in broken.effects["player_0"].note
    other = step(game, broken.state, {"player_0": "apple"}).state
    assert "said: apple." in game.observe(other, "player_1").text


def test_earlier_positions_are_reached_by_replay():
    game = resolve("pettingzoo:text_envs")
    first = start(game, game.domain.tasks.get("test", 0))
    second = answer(first, "apple", step)
    for word in ("pear", "plum"):
        third = answer(second, word, step)
        assert f"said: apple, {word}." in game.observe(third.state, "player_0").text
    again = Snapshot.from_json(third.to_json(), game)
    assert again == third
    assert answer(again, "fig", step) == answer(third, "fig", step)


def test_an_environment_that_does_not_repeat_itself_goes_only_forward(says, played):
    game = resolve("pettingzoo:text_envs", forgetful=True, words=[f"w{'x' * i}" for i in range(2, 40)])
    assert played(game, {"*": says(words_in_turn)}, tasks=2)
    game = resolve("pettingzoo:text_envs:Dreams")
    state = game.initial(game.domain.tasks.get("test", 0))
    step(game, state, {"player_0": "apple"})
    with pytest.raises(BadValue, match="does not repeat itself"):
        step(game, state, {"player_0": "pear"})


def test_ours_behave_through_it_as_they_are(says, played):
    """A masgym environment is a PettingZoo environment, too: the adapter and the evaluator agree on it."""
    ours = masgym.game("sokoban", "pair")
    for maker in ("", ":parallel_env"):
        game = resolve(f"pettingzoo:masgym.sokoban_v0{maker}")
        (record,) = played(game, {"*": says(lambda text: "U L")}, tasks=1)
        seed = game.domain.tasks.get("test", 0).content["seed"]
        env = masgym.make("sokoban")
        env.reset(seed=seed)
        task = env.snapshot().state.task
        env.close()
        direct = asyncio.run(play(ours, task, dict.fromkeys(ours.agents, says(lambda text: "U L")), (0,), DRIVER))
        assert (record.success, record.turns) == (direct.success, 2 * direct.turns)
        own = [env_return(ours, task, agent) for agent in ours.agents]
        assert [record.terms[f"{a}/return"] for a in ours.agents] == pytest.approx(own)


def env_return(game, task, agent):
    """What the AEC face hands to `agent` when everybody says U L."""
    env, total = aec(game), 0.0
    env.reset(options={"task": task})
    for name in env.agent_iter():
        _, reward, terminated, truncated, _ = env.last()
        total += reward if name == agent else 0.0
        env.step(None if terminated or truncated else "U L")
    return total


def test_our_players_that_need_no_oracle(says, played):
    game = resolve("pettingzoo:text_envs")
    records = played(game, {"*": RandomAgent()}, tasks=10)
    assert any(not math.isclose(r.returns, 0) for r in records)  # its words are those that the infos list
    with pytest.raises(BadValue, match="nobody knows an optimal reply"):
        played(game, {"*": OracleAgent()}, tasks=1)


@pytest.mark.parametrize(
    ("name", "says_so"),
    [
        ("text_envs:Pictures", r"observation space of player_0 is Box\(0.0, 1.0, \(3, 3\).*a text space was expected"),
        ("text_envs:Numbers", r"action space of player_0 is Discrete\(9\); a text space was expected"),
        ("text_envs:broken", "cannot be made with {}: OSError: no display"),
        ("text_envs:no_environment", "gave dict; a PettingZoo environment was expected"),
        ("text_envs:nothing", "has no nothing"),
        ("pettingzoo.classic.tictactoe_v3", "a text space was expected|cannot be imported: .*No module named 'pygame'"),
        ("json", "has no env or parallel_env"),
        ("no_such_module", "cannot be imported: .*No module named 'no_such_module'"),
        ("", "cannot be imported"),
    ],
)
def test_what_cannot_be_played_is_refused(name, says_so):
    with pytest.raises(BadValue, match=says_so):
        resolve(f"pettingzoo:{name}")


def test_arguments_are_checked():
    with pytest.raises(BadValue, match=r"cannot be made with \{'wrods': 3\}: TypeError"):
        resolve("pettingzoo:text_envs", wrods=3)
    with pytest.raises(BadValue, match="its own order of play; leave workflow 'pair' out"):
        resolve("pettingzoo:text_envs", workflow="pair")
    with pytest.raises(UnknownName, match="Known: pettingzoo, textarena"):
        resolve("petingzoo:text_envs")
    assert resolve("sokoban").name == "sokoban:pair"
    assert resolve("sokoban", "solo", T=4).T == 4


def test_training_and_the_faces_say_that_they_need_a_game():
    with pytest.raises(BadValue, match="Training needs a Game, whose saved points branch"):
        masgym.game("pettingzoo:text_envs", "solo")


def test_they_are_what_others_write():
    """The examples pass PettingZoo's own tests, or the adapter would be tested on faults."""
    assert text_envs.env().possible_agents == ["player_0", "player_1"]
    parallel_api_test(text_envs.parallel_env(), num_cycles=20)


def test_an_environment_that_cannot_begin_says_so(monkeypatch):
    def fails(self, seed=None, options=None):
        raise OSError("no board")

    game = resolve("pettingzoo:text_envs")
    monkeypatch.setattr(text_envs.Guess, "reset", fails)
    with pytest.raises(BadValue, match=r"cannot begin with seed \d+: OSError: no board"):
        game.initial(game.domain.tasks.get("test", 0))
