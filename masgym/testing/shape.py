"""Whether a game's parts are what a domain and a workflow are, told before anything else fails on it."""

from dataclasses import fields
from typing import Any

from masgym.game import OF_WORKFLOW, Domain, Game, Workflow
from masgym.testing.play import first_tasks, must, slots

_JUDGING = {"effect", "weights", "legal", "oracle"}  # what a workflow without them is never asked for


def check_shape(game: Game) -> None:
    """Domain and workflow are frozen and have every method; each slot has a title; worlds can be hashed."""
    for kind, part, wanted in (("domain", game.domain, Domain), ("workflow", game.workflow, Workflow)):
        own: Any = type(part)
        at = f"shape: the {kind} {own.__name__}"
        lacking = _lacking(own, wanted)
        if kind == "workflow" and not lacking.intersection(("agents", "slot")) and not _own_slots(game):
            lacking -= _JUDGING
        told = ", ".join(name for name in vars(wanted) if name in lacking)
        must(not lacking, f"{at} lacks {told}; masgym.game.{wanted.__name__} documents each.")
        must(own.__dataclass_params__.frozen, f"{at} is a dataclass that is not frozen; write @dataclass(frozen=True).")
    _check_titles(game)
    for task in first_tasks(game, 1):
        world = game.domain.initial(task)
        _check_hash(world, f"shape: the world of {type(game.domain).__name__}, a {type(world).__name__}")


def _own_slots(game: Game) -> bool:
    return any(slot in OF_WORKFLOW for slot in slots(game))


def _lacking(own: Any, wanted: Any) -> set[str]:
    """What the protocol `wanted` has and the class `own` does not, or only as the protocol's empty one."""
    given = {field.name for field in fields(own)}
    return {
        name
        for name, member in vars(wanted).items()
        if not name.startswith("_") and name not in given and getattr(own, name, member) is member
    }


def _check_hash(world: object, what: str) -> None:
    try:
        hash(world)
    except TypeError as error:
        wanted = "make it a frozen dataclass of tuples and plain values"
        raise AssertionError(f"{what}, cannot be hashed ({error}); {wanted}.") from error


def _check_titles(game: Game) -> None:
    titles = game.domain.titles
    for slot in slots(game):
        must(
            slot in OF_WORKFLOW or slot in titles,
            f"shape: `titles` of {type(game.domain).__name__} has no {slot!r}, in which {type(game.workflow).__name__} "
            f"has an agent speak; it has {', '.join(map(repr, titles)) or 'none'}.",
        )
