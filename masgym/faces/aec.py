"""The AEC face: agents speak one after another, as PettingZoo's AEC cycle has it."""

from typing import Any

from pettingzoo.utils.env import AECEnv
from pettingzoo.utils.env_logger import EnvLogger
from pettingzoo.utils.wrappers.order_enforcing import OrderEnforcingWrapper

from masgym.errors import BadValue
from masgym.faces.base import Face
from masgym.game import Game
from masgym.snapshot import Snapshot, leave
from masgym.types import JSON

Obs = dict[str, str]


class RawAEC(Face, AECEnv[str, Obs, str]):
    """A member that is not the last of its active set only has its reply stored; the last one's runs the transition.

    Rewards are in the return form (`masgym.snapshot`); no agent dies before the game ends; using up T truncates.
    """

    def __init__(self, game: Game, render_mode: str | None = None) -> None:
        super().__init__(game, render_mode)
        self.possible_agents = list(game.agents)
        self._infos: dict[str, dict[str, JSON]] | None = None

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """`seed` selects the task; `options` may hold "task" and "split" (`Face`)."""
        self._begin(seed, options)

    def step(self, action: str | None) -> None:
        """The reply of `agent_selection`; None once its game is over. Raises BadValue for anything else."""
        if not self.now.state.ended:
            self._reply(action)
        elif action is None:
            self._set(leave(self.now))
        else:
            raise BadValue(f"the game is over for {self.agent_selection}: the only valid action is None.")

    def observe(self, agent: str) -> Obs:
        """Total: any agent, also in the middle of a set (the state before it) and after the end."""
        return self._observation(agent)

    def last(self, observe: bool = True) -> tuple[Obs | None, float, bool, bool, dict[str, JSON]]:
        agent = self.agent_selection
        seen = self._observation(agent) if observe else None
        info = self._info(agent) if self._infos is None else self._infos[agent]
        return seen, self._cumulative_rewards[agent], self.terminations[agent], self.truncations[agent], info

    @property
    def infos(self) -> dict[str, dict[str, JSON]]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """By agent; made when first looked at, since most are not."""
        if self._infos is None:
            self._infos = {a: self._info(a) for a in self.agents}
        return self._infos

    def observation_space(self, agent: str) -> Any:
        return self._space(self.observation_spaces, agent)

    def action_space(self, agent: str) -> Any:
        return self._space(self.action_spaces, agent)

    def _set(self, now: Snapshot) -> None:
        super()._set(now)
        terminated, truncated = self._over()
        self.agents = list(now.agents)
        self.agent_selection = now.selection
        self.rewards = dict(now.rewards)
        self._cumulative_rewards = {a: now.owed[a] for a in now.agents}
        self.terminations = dict.fromkeys(now.agents, terminated)
        self.truncations = dict.fromkeys(now.agents, truncated)
        self._infos = None


class OrderEnforcing(OrderEnforcingWrapper[str, Obs, str]):
    """PettingZoo's wrapper, with snapshots: a restored environment counts as reset and as moved on."""

    def snapshot(self) -> Snapshot:
        return self._raw.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        self._raw.restore(snapshot)
        self._has_reset = self._has_updated = True

    def last(self, observe: bool = True) -> tuple[Obs | None, float, bool, bool, dict[str, JSON]]:
        if not self._has_reset:
            EnvLogger.error_observe_before_reset()
        return self._raw.last(observe)

    def __str__(self) -> str:
        return str(self.env)

    @property
    def _raw(self) -> RawAEC:
        assert isinstance(self.env, RawAEC)
        return self.env


def aec(game: Game, render_mode: str | None = None) -> OrderEnforcing:
    return OrderEnforcing(RawAEC(game, render_mode))
