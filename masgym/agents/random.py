"""A player that draws from the legal replies: the floor of every comparison."""

import string

import numpy as np

from masgym.agents.base import Reply, Request
from masgym.agents.names import Options
from masgym.game import OF_WORKFLOW, Game
from masgym.rng import keyed
from masgym.types import State


def random_reply(game: Game, state: State, agent: str, rng: np.random.Generator, most: int = 4) -> str:
    """1 to `most` legal replies of the present state, joined by spaces (a verdict or a route is only one); printable
    text where none can be listed."""
    legal, slot = game.legal(state, agent), game.slot(agent)
    if legal and slot in OF_WORKFLOW:
        return str(rng.choice(legal))
    if legal:
        return " ".join(legal[i] for i in rng.integers(len(legal), size=rng.integers(1, most + 1)))
    return "".join(string.printable[i] for i in rng.integers(len(string.printable), size=20))


class RandomAgent:
    """Draws by the request's key, so equal keys give equal replies."""

    async def act(self, request: Request) -> Reply:
        return Reply(text=random_reply(request.game, request.state, request.observation.agent, keyed(*request.key)))


def make(argument: str, options: Options) -> RandomAgent:
    """See `masgym.agents.names`."""
    return RandomAgent()
