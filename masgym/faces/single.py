"""The Gymnasium face of a game with one agent (workflow solo). T lives in the state, not in a TimeLimit."""

from typing import Any

import gymnasium

from masgym.errors import BadValue
from masgym.faces.base import Face
from masgym.game import Game
from masgym.snapshot import Snapshot
from masgym.types import JSON

Obs = dict[str, str]


class Single(Face, gymnasium.Env[Obs, str]):
    """Snapshots through `unwrapped`: `env.unwrapped.snapshot()`, `env.unwrapped.restore(snapshot)`.

    Of a vector environment: `envs.get_attr("position")`, `envs.set_attr("position", snapshots)`, one for each; or
    `envs.call("restore", snapshot)`, the same for all.
    """

    def __init__(self, game: Game, render_mode: str | None = None) -> None:
        if len(game.agents) != 1:
            raise BadValue(
                f"Gymnasium plays one agent; {game.name} has {', '.join(game.agents)}. "
                "Use workflow='solo', or masgym.make for the PettingZoo face."
            )
        super().__init__(game, render_mode)
        (self.agent,) = game.agents
        self.observation_space = self.observation_spaces[self.agent]
        self.action_space = self.action_spaces[self.agent]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Obs, dict[str, JSON]]:
        """`seed` selects the task; `options` may hold "task" and "split" (`Face`)."""
        self._begin(seed, options)
        gymnasium.Env.reset(self, seed=None if seed is None else int(seed))
        return self._observation(self.agent), self._info(self.agent)

    def step(self, action: str) -> tuple[Obs, float, bool, bool, dict[str, JSON]]:
        self._reply(action)
        terminated, truncated = self._over()
        reward = self.now.rewards[self.agent]
        return self._observation(self.agent), reward, terminated, truncated, self._info(self.agent)

    @property
    def position(self) -> Snapshot:
        """Where the game stands; setting it restores.

        Raises BadValue where the present game is over: a vector environment has noted that, and would reset this one
        at its next step, wherever it stands then.
        """
        return self.snapshot()

    @position.setter
    def position(self, snapshot: Snapshot) -> None:
        if self._now is not None and self._now.state.ended:
            raise BadValue("the game is over, and a vector environment resets it at its next step; restore after that.")
        self.restore(snapshot)
