"""In which states a team speaks: in training, and where its policies play alone.

A tree goes on along candidates and ends where it is told to, so it may train on states that the policy alone never
meets, and leave out some that it meets. Both sides are counted alike: decision events by turn and by stage.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from masgym.agents.base import Request
from masgym.game import Game
from masgym.types import State
from mastrain.types import Episode

STAGES = ("lost", "behind", "0", "25", "50", "75")  # see `stage`


def stage(game: Game, state: State) -> str:
    """How far the task is: "lost" for good, "behind" the start, or the quarter of the way that is done ("0" .. "75",
    in percent). The way is counted in moves left where the domain knows them, else it is Phi."""
    if game.hopeless(state):
        return "lost"
    done = game.progress(state) if _charted(game) and state.task.optimum else game.domain.potential(state.world)
    return "behind" if done < 0 else STAGES[2 + min(3, int(4 * done))]


def of_training(game: Game, episodes: Sequence[Episode]) -> dict[str, float]:
    """The events that were trained on, and the share of episodes that ended lost."""
    out = _counted(game, (state for episode in episodes for state in _asked(game, episode)), "visits")
    if _charted(game):
        out["sample/lost"] = sum(game.hopeless(episode.final) for episode in episodes) / len(episodes)
    return out


def of_validation(game: Game, requests: Iterable[Request], episodes: int) -> dict[str, float]:
    """The events of played episodes, and the share of episodes that asked somebody in a lost state (one that is lost
    by its last move is not among them)."""
    first = [r.state for r in requests if r.observation.agent == game.active(r.state)[0]]  # of each active set
    out = _counted(game, first, "validation/visits")
    if _charted(game):
        out["validation/lost"] = len({state.task.id for state in first if game.hopeless(state)}) / episodes
    return out


def _asked(game: Game, episode: Episode) -> list[State]:
    """The pre-action states of its events."""
    after = [event.candidates[event.chosen].transition.state for event in episode.events]
    return [game.initial(episode.task), *after][: len(after)]


def _counted(game: Game, states: Iterable[State], prefix: str) -> dict[str, float]:
    """ "<prefix>/turn<from 1>/<stage>" -> events; those that do not come are left out."""
    counts = Counter((state.turn + 1, STAGES.index(stage(game, state))) for state in states)
    return {f"{prefix}/turn{turn}/{STAGES[at]}": count for (turn, at), count in sorted(counts.items())}


def _charted(game: Game) -> bool:
    """Whether the domain knows how many moves are left (`masgym.optional.Charted`)."""
    return hasattr(game.domain, "remaining")
