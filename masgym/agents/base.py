"""What an agent is to the evaluator: one `act`. A whole team of another framework fits behind it."""

from typing import Protocol

from masgym.game import Game
from masgym.rng import Key
from masgym.types import Observation, State, value


@value
class Request:
    """One agent is asked for one reply."""

    game: Game
    state: State  # for oracles and the like; an honest agent reads only `observation`
    observation: Observation
    key: Key  # names the draw: an agent that samples from `masgym.rng.keyed(*key)` is reproducible


@value
class Reply:
    """What came back, and what it cost."""

    text: str  # with a failure what was told of it, for people to read
    tokens: int = 0  # sampled
    prompt_tokens: int = 0
    cut: bool = False  # by the limit of its tokens: the model would have gone on
    failure: str = ""  # a named outcome when no reply could be had ("timeout", ...); the episode ends there


class Agent(Protocol):
    """Anything that answers. It may also have `style`, of the prompts that it learned, and `roles`, a frozenset of
    those that it can play (default: all)."""

    async def act(self, request: Request) -> Reply: ...
