"""A name on a command line -> a Game, whoever made what it names."""

from typing import Any

from masgym.errors import BadValue
from masgym.foreign.game import foreign_game
from masgym.game import Game
from masgym.registry import game


def resolve(name: str, workflow: Any = None, **options: Any) -> Game:
    """The Game that `name` stands for.

    A domain ("sokoban") or a member of a family ("reasoning_gym/leg_counting"): `masgym.game(name, workflow, ...)`.
    "pettingzoo:module", "textarena:Game-v0": `foreign_game(name, ...)`, a ForeignGame; it has its own order of play, so
    `workflow` must be None. Raises UnknownName and BadValue.
    """
    if ":" not in name:
        return game(name, "pair" if workflow is None else workflow, **options)
    if workflow is not None:
        raise BadValue(
            f"{name} is a foreign environment and has its own order of play; leave workflow {workflow!r} out."
        )
    return foreign_game(name, **options)
