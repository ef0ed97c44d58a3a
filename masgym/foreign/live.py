"""What an adapter makes of somebody else's environment: the language between `game.py` and the adapters."""

from collections.abc import Mapping
from dataclasses import field
from typing import Protocol

from masgym.types import value


@value
class Shown:
    """What an environment shows after a reset or a step."""

    active: tuple[str, ...]  # whose replies it waits for; () when the episode is over
    texts: Mapping[str, str]  # agent -> what it observes, of those that were shown something
    rewards: Mapping[str, float] = field(default_factory=dict)  # agent -> what was handed to it since the last step
    legal: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # agent -> replies that the environment lists
    truncated: bool = False  # over, and by a limit
    success: Mapping[str, bool] = field(default_factory=dict)  # agent -> over, and its info says whether it succeeded


class Live(Protocol):
    """One running environment. It moves on at every step; nothing takes it back."""

    @property
    def agents(self) -> tuple[str, ...]: ...
    def reset(self, seed: int) -> Shown: ...
    def refuses(self, agent: str, reply: str) -> str:
        """Why `reply` is no action of `agent`; "" if it is one."""
        ...

    def step(self, outputs: Mapping[str, str]) -> Shown:
        """`outputs` has the replies of the active agents. May raise whatever the environment raises."""
        ...

    def close(self) -> None: ...
