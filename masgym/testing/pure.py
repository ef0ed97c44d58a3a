"""Checks that a game is a pure, deterministic, total function whose prompts show the present."""

import copy
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from masgym.game import Game
from masgym.rng import keyed
from masgym.testing.play import FUZZ, Run, disturb, must, players, remembering, step, tried, walk
from masgym.types import Effect, Outputs, State, Task, Transition


def check_determinism(game: Game, task: Task) -> None:
    """Equal seeds give equal tasks, equal replies equal transcripts, whatever the global generators do."""
    again: Any = replace(game.domain)  # pyright: ignore[reportArgumentType]
    disturb()
    found = again.tasks.get(task.split, task.index)
    must(found == task, f"determinism: task {task.id} drawn again is another one, {found.id}.")
    for name, player in players(game, task).items():
        first = _transcript(game, task, player)
        disturb()
        second = _transcript(game, task, player)
        for turn, (a, b) in enumerate(zip(first, second, strict=False)):
            must(a == b, f"determinism: the same {name} replies differ from transition {turn} on: {a} and then {b}.")
        must(len(first) == len(second), f"determinism: the same {name} replies took {len(first)}, then {len(second)}.")


def check_purity(game: Game, task: Task) -> None:
    """No method changes a state, a task or the outputs; `apply` on one state gives one result."""
    for name, player in players(game, task).items():
        state = game.initial(task)
        while members := game.active(state):
            outputs = {agent: player(state, agent) for agent in members}
            state = _check_step(game, state, outputs, f"({name} play, turn {state.turn})")


def _check_step(game: Game, state: State, outputs: Outputs, at: str) -> State:
    before, given, hashed = copy.deepcopy(state), dict(outputs), hash(state.world)
    done = step(game, state, outputs)
    must(state == before, f"purity: `apply` changed the state {at}.")
    _call_everything(game, state, outputs)
    must(state == before, f"purity: a method changed the state {at}.")
    must(hash(state.world) == hashed == hash(before.world), f"purity: equal worlds have unequal hashes {at}.")
    must(outputs == given, f"purity: a method changed the outputs that it was given {at}.")
    must(step(game, state, outputs) == done, f"purity: `apply` on one state gave two results {at}.")
    return done.state


def check_observations(game: Game, task: Task) -> None:
    """`observe` is total and shows the present world; what changes the potential changes the picture."""
    for player in players(game, task).values():
        _check_shown(game, game.initial(task))
        for before, _, done in walk(game, task, player):
            _check_shown(game, done.state)
            worlds = before.world, done.state.world
            one, two = (game.domain.render(world, game.style) for world in worlds)
            moved = game.domain.potential(worlds[0]) != game.domain.potential(worlds[1])
            must(one != two or not moved, f"observations: turn {before.turn} changed the potential, not the picture.")


def _check_shown(game: Game, state: State) -> None:
    picture = game.domain.render(state.world, game.style)
    for agent in game.agents:
        text = game.observe(state, agent).text
        must(bool(text.strip()), f"observations: {agent} is shown nothing in turn {state.turn}.")
        must(picture in text, f"observations: {agent} is not shown the present world in turn {state.turn}.")


def check_fuzz(game: Game, task: Task, extra: Sequence[str] = ()) -> None:
    """No reply raises; empty ones are malformed; memory never holds a raw reply."""
    run = remembering()
    for state in _some_states(game, task):
        for agent in game.active(state):
            for reply in (*FUZZ, *_mutated(game.oracle(state, agent)), *extra):
                _check_effect(game, state, agent, reply, run)


def _check_effect(game: Game, state: State, agent: str, reply: str, run: Run) -> None:
    what = f"{reply[:60]!r} ({len(reply)} characters) of {agent}"
    outputs = {a: reply if a == agent else game.oracle(state, a) for a in game.active(state)}
    try:
        effect = step(game, state, outputs, run).effects[agent]
    except Exception as error:  # whatever a domain may raise is what this check is for
        raise AssertionError(f"fuzz: the reply {what} raised {type(error).__name__}: {error}.") from error
    must(bool(reply.strip()) or effect.malformed, f"fuzz: the empty reply {what} is not malformed.")
    must(len(effect.note) + len(effect.brief) < 10_000, f"fuzz: a note of {len(effect.note)} characters from {what}.")
    _check_terms(effect, what)


def _check_terms(effect: Effect, what: str) -> None:
    for name, term in effect.terms.items():
        must(math.isfinite(term) and -1 <= term <= 1, f"fuzz: term {name!r} is {term} on {what}; it is in [-1, 1].")


def _mutated(reply: str) -> tuple[str, ...]:
    tagged = f"<answer>{reply}</answer>"
    return (
        *(reply * 50, f"I think {tagged}", tagged + tagged, reply[:-1], reply.upper(), reply.lower(), f"\ufeff{reply}"),
        *(f"{reply}\ud800", f"```\n{reply}\n```", "\u200b".join(reply), reply.replace(" ", "\u00a0"), f"{reply}\x00"),
    )


def _some_states(game: Game, task: Task) -> list[State]:
    """The first two events, and one in the middle of a random play."""
    states = [state for state, _, _ in walk(game, task, players(game, task)["random"])]
    return [states[i] for i in sorted({0, 1, len(states) // 2}) if i < len(states)]


def _transcript(game: Game, task: Task, player: Any) -> list[tuple[Transition, list[str]]]:
    return [(done, [game.observe(done.state, a).text for a in game.agents]) for _, _, done in walk(game, task, player)]


def _call_everything(game: Game, state: State, outputs: Outputs) -> None:
    game.active(state)
    game.calls(state, outputs, {})
    game.domain.potential(state.world)
    game.domain.team(state.world, state.world)
    for agent in game.agents:
        game.observe(state, agent)
        tried(game, state, agent, (), keyed("purity", len(state.log), agent))
