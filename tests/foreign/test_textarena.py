"""TextArena's games are played by our agents: of one player, of two and of three."""

import random
import re

import numpy as np
import pytest

from masgym.errors import BadValue, UnknownName
from masgym.foreign import resolve
from masgym.foreign import textarena as adapter
from masgym.snapshot import answer, start
from masgym.testing.play import step

pytest.importorskip("textarena")


def free_square(text: str) -> str:
    """The last square that the board of TicTacToe shows as free."""
    return f"[{re.findall(r'(?<=[ |])([0-8])(?=[ |])', text.rpartition('Current Board')[2])[-1]}]"


def first_free_square(text: str) -> str:
    return f"[{re.findall(r'(?<=[ |])([0-8])(?=[ |])', text.rpartition('Current Board')[2])[0]}]"


def test_two_players_each_by_its_own_agent(says, played):
    game = resolve("textarena:TicTacToe-v0")
    assert (game.agents, game.roles) == (("player_0", "player_1"), ("player",))
    one, other = says(first_free_square), says(lambda text: "I would rather not move")
    (record,) = played(game, {"player_0": one, "player_1": other}, tasks=1)
    assert record.success  # who makes no move loses
    assert (record.terms["player_0/return"], record.terms["player_1/return"]) == (1.0, -1.0)
    assert "You are Player 0 in Tic Tac Toe" in one.shown[0]
    assert "You are Player 1 in Tic Tac Toe" in other.shown[0]
    assert "invalid move" in other.shown[1]
    (record,) = played(
        resolve("textarena:TicTacToe-v0", player="player_1"), {"player_0": one, "player_1": other}, tasks=1
    )
    assert (record.success, record.returns) == (False, -1.0)


def test_one_player_and_three(says, played):
    lake = resolve("textarena:FrozenLake-v0", T=30)
    assert lake.agents == ("player_0",)
    records = played(lake, {"*": says(lambda text: "[right]")}, tasks=4)
    assert len({r.task for r in records}) == 4
    assert all(r.ended in ("done", "T") and r.replies == r.turns for r in records)
    three = resolve("textarena:ThreePlayerTicTacToe-v0", T=30)
    assert three.agents == ("player_0", "player_1", "player_2")
    (record,) = played(three, {"player_0": says(lambda t: "[0 0]"), "player": says(lambda t: "?")}, tasks=1)
    assert {"player_0/return", "player_1/return", "player_2/return"} == set(record.terms)


def test_the_number_of_players_can_be_chosen():
    assert len(resolve("textarena:LiarsDice-v0", players=4).agents) == 4
    with pytest.raises(BadValue, match=r"cannot be begun by 5 players: .*AssertionError"):
        resolve("textarena:TicTacToe-v0", players=5)


def test_equal_seeds_equal_games_whatever_the_global_dice_do(says, played):
    game = resolve("textarena:KuhnPoker-v0")

    def shown(disturb):
        here = says(lambda text: "[check]" if len(text) % 2 else "[bet]")
        for seed in range(2):
            if disturb:
                random.seed(seed)
                np.random.seed(seed)
            played(game, {"*": here}, tasks=3)
        return here.shown

    assert shown(True) == shown(False)
    random.seed(7)
    np.random.seed(7)
    before = random.getstate(), np.random.get_state()[1].tolist()
    played(game, {"*": says(lambda text: "[bet]")}, tasks=2)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before


def test_an_earlier_position_is_reached_by_replay():
    game = resolve("textarena:TicTacToe-v0")
    first = start(game, game.domain.tasks.get("test", 0))
    second = answer(first, "[4]", step)
    third = answer(second, "[0]", step)
    again = answer(second, "[8]", step)
    left = game.observe(again.state, "player_0").text.rpartition("Available Moves")[2]
    assert ("[0]" in left, "[8]" in left) == (True, False)
    assert third == answer(second, "[0]", step)


def test_what_cannot_be_played_is_refused():
    with pytest.raises(UnknownName, match="Did you mean 'TicTacToe-v0'"):
        resolve("textarena:TicTacTo-v0")
    with pytest.raises(BadValue, match=r"cannot be made with .*TypeError"):
        resolve("textarena:TicTacToe-v0", size=4)


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    def missing(name):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(adapter.importlib, "import_module", missing)
    with pytest.raises(BadValue, match=r'No module named .textarena.\. pip install "masgym\[textarena\]"'):
        adapter.live("TicTacToe-v0", {})
