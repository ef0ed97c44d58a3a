"""The Parallel face: one step consumes the replies of the whole active set."""

from collections.abc import Mapping
from typing import Any

from pettingzoo.utils.env import ParallelEnv

from masgym.errors import BadValue
from masgym.faces.base import Face
from masgym.game import Game
from masgym.snapshot import Snapshot
from masgym.types import JSON

Obs = dict[str, str]


class Parallel(Face, ParallelEnv[str, Obs, str]):
    """`infos[agent]["active"]` says whose reply the next step awaits; entries of the others are ignored."""

    def __init__(self, game: Game, render_mode: str | None = None) -> None:
        super().__init__(game, render_mode)
        self.possible_agents = list(game.agents)
        self.agents: list[str] = []

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Obs], dict[str, dict[str, JSON]]]:
        """`seed` selects the task; `options` may hold "task" and "split" (`Face`)."""
        self._begin(seed, options)
        return self._all(self._observation), self._all(self._info)

    def step(
        self, actions: Mapping[str, str]
    ) -> tuple[dict[str, Obs], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, JSON]]]:
        """One transition, or none: BadValue (a ValueError) where a member of the active set has no reply, or no str."""
        now = self.now
        if not isinstance(actions, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadValue(f"step takes a mapping, agent -> reply, not a {type(actions).__name__}.")
        members = [a for a in self.game.active(now.state) if a not in now.pending]
        missing = [a for a in members if a not in actions]
        if missing or not members:
            awaited = f"of {missing}, members of the active set {members}" if members else "at all: the game is over"
            raise BadValue(f"no reply {awaited}; there came replies of {sorted(map(str, actions))}.")
        self._reply(*(actions[agent] for agent in members))
        terminated, truncated = self._over()
        return (
            self._all(self._observation),
            dict(self.now.rewards),
            self._all(lambda _: terminated),
            self._all(lambda _: truncated),
            self._all(self._info),
        )

    def observation_space(self, agent: str) -> Any:
        return self._space(self.observation_spaces, agent)

    def action_space(self, agent: str) -> Any:
        return self._space(self.action_spaces, agent)

    def _set(self, now: Snapshot) -> None:
        super()._set(now)
        self.agents = [] if now.state.ended else list(now.agents)

    def _all(self, of: Any) -> dict[str, Any]:
        return {agent: of(agent) for agent in self.game.agents}
