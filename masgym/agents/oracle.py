"""A player that looks at the state and replies optimally: the ceiling of every comparison."""

from masgym.agents.base import Reply, Request
from masgym.agents.names import Options


class OracleAgent:
    """Replies what the domain's solver says."""

    async def act(self, request: Request) -> Reply:
        return Reply(text=request.game.oracle(request.state, request.observation.agent))


def make(argument: str, options: Options) -> OracleAgent:
    """See `masgym.agents.names`."""
    return OracleAgent()
