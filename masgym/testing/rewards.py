"""Checks of what a game is worth: weights, live terms, an oracle that solves, returns that cannot be farmed."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

from masgym.game import Game
from masgym.rng import keyed
from masgym.testing.play import first_tasks, must, players, remembering, returns, slots, step, tried, walk, weights
from masgym.types import Outputs, State, Task, Transition


def check_weights(game: Game) -> None:
    """The weights of every slot's local terms are at least 0 and sum to 1."""
    for slot in slots(game):
        given = dict(weights(game, slot))
        must(min(given.values(), default=0) >= 0, f"weights: {slot} has a negative one: {given}.")
        total = sum(given.values())
        must(math.isclose(total, 1.0), f"weights: those of {slot} sum to {total}, not to 1: {given}.")


def check_terms(game: Game, *, tasks: int = 40, replies: Sequence[str] = ()) -> None:
    """Every named term, the team term and the malformed cost take at least two values over a sweep of replies."""
    values: dict[str, set[float]] = defaultdict(set)
    expected = {f"local {slot}/{name}" for slot in slots(game) for name in weights(game, slot)} | {
        "team",
        "gain",
        "malformed",
    }
    for task in first_tasks(game, tasks):
        for agent, done in _sweep(game, task, replies):
            _collect(game, agent, done, values)
        if all(len(values[name]) > 1 for name in expected):
            break
    for name in sorted(values.keys() | expected):
        must(name in expected, f"terms: {name} has no weight, so it is never paid.")
        must(len(values[name]) > 1, f"terms: {name} never varied: {sorted(values[name]) or 'never set'}.")


def check_oracle(game: Game, *, tasks: int = 10) -> None:
    """The oracle solves within T, its return is the most there is, and it is well-formed from any state."""
    for task in first_tasks(game, tasks):
        _check_optimal_play(game, task)
        for state, outputs, _ in walk(game, task, players(game, task)["random"]):
            replies = {agent: game.oracle(state, agent) for agent in outputs}
            for agent, effect in step(game, state, replies).effects.items():
                what = f"its reply {replies[agent]!r} for {agent} in a random play"
                must(not effect.malformed, f"oracle: {what} is malformed: {effect.note}.")


def _check_optimal_play(game: Game, task: Task) -> None:
    played = [done for _, _, done in walk(game, task, game.oracle)]
    must(
        played[-1].state.success,
        f"oracle: task {task.id} is not solved within T = {game.T}; at last {_said(played[-1])}. Where a verifier "
        "judges, Effect.right of a draft says whether it may pass.",
    )
    start, end = (game.domain.potential(s.world) for s in (game.initial(task), played[-1].state))
    must(math.isclose(start, 0, abs_tol=1e-9), f"oracle: the potential of task {task.id} starts at {start}, not 0.")
    must(math.isclose(end, 1), f"oracle: the potential of the solved task {task.id} is {end}, not 1.")
    most = game.alpha * (1.0 if game.outcome_only else 2.0)  # Phi from 0 to 1, and success
    got = returns(played)
    must(math.isclose(got, most), f"oracle: its return on task {task.id} is {got}, not {most}.")


def _said(done: Transition) -> str:
    outputs, _ = done.state.log[-1]
    notes = {agent: effect.note for agent, effect in done.effects.items()}
    return ", ".join(f"{agent} replied {reply!r} ({notes.get(agent, '')})" for agent, reply in outputs.items())


def check_returns(game: Game, task: Task, *, beam: int = 8, replies: Sequence[str] = ()) -> None:
    """No sequence of replies that a beam search finds earns more than the oracle."""
    most = returns([done for _, _, done in walk(game, task, game.oracle)])
    kept, run = [(0.0, game.initial(task))], remembering()
    while kept:
        found: list[tuple[float, State]] = []
        for earned, state in kept:
            for outputs in _joint(game, state, replies):
                done = step(game, state, outputs, run)
                total = earned + returns([done])
                log = [*(o for o, _ in done.state.log)]
                must(total <= most + 1e-9, f"returns: {total} by {log}; the oracle earns {most} (task {task.id}).")
                found.append((total, done.state))
        kept = _best(game, found, beam)


def _sweep(game: Game, task: Task, extra: Sequence[str]) -> Iterator[tuple[str, Transition]]:
    """(agent, transition) of every tried reply at every state of a random and an optimal play."""
    run = remembering()
    for player in players(game, task).values():
        for state, outputs, _ in walk(game, task, player):
            for agent in outputs:
                for reply in tried(game, state, agent, extra, keyed("sweep", task.id, len(state.log), agent)):
                    yield agent, step(game, state, {**outputs, agent: reply}, run)


def _collect(game: Game, agent: str, done: Transition, values: dict[str, set[float]]) -> None:
    for name, term in done.effects[agent].terms.items():
        values[f"local {game.slot(agent)}/{name}"].add(term)
    values["team"].add(done.team)
    values["gain"].add(done.gain)
    values["malformed"].add(float(done.effects[agent].malformed))


def _joint(game: Game, state: State, extra: Sequence[str]) -> Iterator[Outputs]:
    """One member tries everything while the others reply optimally."""
    optimal = {agent: game.oracle(state, agent) for agent in game.active(state)}
    for agent in optimal:
        for reply in tried(game, state, agent, extra, keyed("beam", len(state.log), agent)):
            yield {**optimal, agent: reply}


def _best(game: Game, found: list[tuple[float, State]], beam: int) -> list[tuple[float, State]]:
    """Of states that go on, one per world and event: half by what they earned, half drawn (detours may pay later)."""
    found = [(earned, state) for earned, state in found if game.active(state)]
    ranked = sorted(found, key=lambda item: -item[0])
    alone = list({(state.world, state.phase): (earned, state) for earned, state in reversed(ranked)}.values())[::-1]
    ranked = sorted(alone, key=lambda item: -item[0])
    best, rest = ranked[: beam - beam // 2], ranked[beam - beam // 2 :]
    drawn = keyed("beam", len(found), len(rest)).permutation(len(rest))[: beam // 2]
    return [*best, *(rest[i] for i in drawn)]
