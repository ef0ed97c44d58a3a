"""What of shared memory the workflows show by default."""

from masgym.types import Entry, State


def this_turn(state: State, agent: str) -> tuple[Entry, ...]:
    """What was committed to memory in this turn, after the agent's own last reply if that was malformed."""
    own = [e for e in state.memory if e.agent == agent and e.turn == state.turn - 1 and e.effect.malformed]
    return (*own[-1:], *(e for e in state.memory if e.turn == state.turn))
