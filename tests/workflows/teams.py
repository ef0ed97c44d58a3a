"""Scripted play of teams on a corridor of Plan-Path: 4 moves to the right, 2 a turn, one step to the left."""

from collections.abc import Mapping

from masgym.domains.plan_path import PlanPath
from masgym.game import Game
from masgym.types import State, Task, Transition

TASK = Task(
    domain="plan_path",
    params={},
    seed=0,
    split="train",
    index=0,
    content={"grid": [".@...G"]},
    content_hash="0" * 64,
    level="easy",
    optimum=4,
)


def game_of(workflow, T: int = 3, style="full", **options) -> Game:
    return Game(domain=PlanPath(moves_per_turn=2), workflow=workflow, T=T, style=style, **options)


def play(game: Game, *replies: str | Mapping[str, str], state: State | None = None) -> list[Transition]:
    """The transitions that `replies` lead to, one for each event; a text is the reply of every member."""
    state, done = state or game.initial(TASK), []
    for reply in replies:
        members = game.active(state)
        outputs = dict.fromkeys(members, reply) if isinstance(reply, str) else reply
        done.append(game.apply(state, outputs, {}))
        state = done[-1].state
    return done


def schedule(game: Game, *replies: str | Mapping[str, str]) -> list[tuple[str, ...]]:
    """The active sets met on the way, that after the last reply included; () is the end."""
    start = game.initial(TASK)
    return [game.active(start), *(game.active(done.state) for done in play(game, *replies))]
