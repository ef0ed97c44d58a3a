"""TextArena's games, of one player and of several: `player_0`, `player_1`, ... are its player ids."""

import importlib
import random
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from masgym.errors import BadValue, UnknownName
from masgym.foreign.live import Shown
from masgym.types import JSON

MOST_PLAYERS = 15


def live(what: str, params: Mapping[str, JSON]) -> "TextArena":
    """what: a game's id, such as "TicTacToe-v0". params: `players`, and what the game itself takes.

    Without `players` the fewest that the game can be played by. Raises UnknownName and BadValue.
    """
    made = _make(what, {name: given for name, given in params.items() if name != "players"})
    wanted = params.get("players")
    reasons: list[str] = []
    for count in [wanted] if wanted is not None else range(1, MOST_PLAYERS + 1):
        try:
            game = TextArena(made, count)
            game.reset(0)
        except Exception as error:  # mostly an assertion about the number of players
            reasons.append(_said(error))
        else:
            return game
    raise BadValue(f"textarena:{what} cannot be begun by {wanted or f'1 to {MOST_PLAYERS}'} players: {reasons[-1]}.")


def _make(what: str, params: dict[str, JSON]) -> Any:
    try:
        library = importlib.import_module("textarena")
    except ImportError as error:
        raise BadValue(f'textarena cannot be imported: {error}. pip install "masgym[textarena]"') from error
    known = importlib.import_module("textarena.envs.registration").ENV_REGISTRY
    if what not in known:
        raise UnknownName("game of textarena", what, known)
    try:
        return library.make(what, **params)
    except Exception as error:  # word lists to be downloaded, keys of model servers, arguments that do not exist
        raise BadValue(f"textarena:{what} cannot be made with {params}: {_said(error)}.") from error


def _said(error: Exception) -> str:
    """The error's kind, and the first line of its message that says anything."""
    lines = [line.strip(" *.") for line in str(error).splitlines()]
    return ": ".join([type(error).__name__, *[line for line in lines if any(map(str.isalpha, line))][:1]])


class TextArena:
    """One game. TextArena draws from the global generators; here each game has states of its own for them."""

    def __init__(self, env: Any, players: int) -> None:
        self._env, self._players, self._dice = env, players, None

    @property
    def agents(self) -> tuple[str, ...]:
        return tuple(f"player_{number}" for number in range(self._players))

    def reset(self, seed: int) -> Shown:
        self._dice = random.Random(seed).getstate(), np.random.RandomState(seed).get_state()
        with self._own_dice():
            self._env.reset(num_players=self._players, seed=seed)
            return self._shown(False)

    def refuses(self, agent: str, reply: str) -> str:
        return ""  # the game itself says what is no move

    def step(self, outputs: Mapping[str, str]) -> Shown:
        (reply,) = outputs.values()
        with self._own_dice():
            done, _ = self._env.step(action=reply)
            return self._shown(bool(done))

    def close(self) -> None:
        """There is nothing to release."""

    def _shown(self, done: bool) -> Shown:
        if done:
            rewards = self._env.close()[0] or {}
            paid = {self.agents[number]: float(reward) for number, reward in rewards.items()}
            return Shown(active=(), texts={}, rewards=paid)
        number, seen = self._env.get_observation()
        text = seen if isinstance(seen, str) else "\n".join(str(part[1]) for part in seen)
        return Shown(active=(self.agents[number],), texts={self.agents[number]: text.strip()})

    @contextmanager
    def _own_dice(self) -> Generator[None, None, None]:
        outside = random.getstate(), np.random.get_state()
        assert self._dice is not None
        random.setstate(self._dice[0])
        np.random.set_state(self._dice[1])
        try:
            yield
        finally:
            self._dice = random.getstate(), np.random.get_state()
            random.setstate(outside[0])
            np.random.set_state(outside[1])
