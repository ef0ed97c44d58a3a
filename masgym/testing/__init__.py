"""The contract that every Game keeps, as checks for anyone's domain or workflow.

    from masgym.testing import check_game
    check_game(masgym.game("my_domain", "pair"))

Each check raises AssertionError with what broke. `masgym` itself is tested by the same functions.
"""

from collections.abc import Sequence

from masgym.game import Game
from masgym.testing.faces import check_handed_out, check_visibility
from masgym.testing.play import first_tasks
from masgym.testing.pure import check_determinism, check_fuzz, check_observations, check_purity
from masgym.testing.rewards import check_oracle, check_returns, check_terms, check_weights
from masgym.testing.shape import check_shape
from masgym.testing.snapshots import check_json, check_new_process, check_snapshots

__all__ = [
    "check_determinism",
    "check_fuzz",
    "check_game",
    "check_handed_out",
    "check_json",
    "check_new_process",
    "check_observations",
    "check_oracle",
    "check_purity",
    "check_returns",
    "check_shape",
    "check_snapshots",
    "check_terms",
    "check_visibility",
    "check_weights",
]


def check_game(
    game: Game, *, tasks: int = 2, beam: int = 8, replies: Sequence[str] = (), new_process: bool = True
) -> None:
    """Every check on `tasks` tasks of the game, in a few seconds with the defaults.

    The oracle has to solve five times as many. `beam` states are kept at each event of the search for a better return
    than the oracle's. `replies` are tried beside those that the checks make up: give some where `Domain.legal` lists
    none. `new_process=False` leaves out the one check that needs the game's classes to be importable.
    """
    check_shape(game)
    check_weights(game)
    check_oracle(game, tasks=5 * tasks)
    check_terms(game, replies=replies)
    for task in first_tasks(game, tasks):
        check_determinism(game, task)
        check_purity(game, task)
        check_observations(game, task)
        check_visibility(game, task)
        check_fuzz(game, task, replies)
        check_returns(game, task, beam=beam, replies=replies)
        check_handed_out(game, task)
        check_snapshots(game, task)
        check_json(game, task)
        if new_process:
            check_new_process(game, task)
