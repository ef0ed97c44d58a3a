"""What the supervised start shows: prompts met by playing a game, each with the reply of a demonstrator.

What is demonstrated is right; what is played is sometimes spoilt. So states off the best path are met, and agents
see advice of every quality beside the right reply to it: an actor learns to judge what it is offered.
"""

import asyncio
from dataclasses import replace
from itertools import count

import numpy as np

from masgym.errors import BadValue
from masgym.game import OF_WORKFLOW, Game
from masgym.rng import keyed
from masgym.tools.driver import RunCalls, default_driver, step
from masgym.tools.sandbox import Sandbox
from masgym.types import Message, Outputs, State, value

_SPOIL = {"wander": 0.4, "slip": 0.4, "garble": 0.2}  # how a reply is spoilt, by chance
_GARBLED = ("", "?", "<answer></answer>", "go", "U D X")
_AT_ONCE = 8  # episodes; their tool calls run side by side
_PATIENCE = 4  # a state is lost when demonstrators need more than this times T turns


@value
class Demonstration:
    """One prompt and the reply to learn."""

    agent: str
    messages: tuple[Message, ...]
    reply: str


def demonstrations(game: Game, n: int, corrupt: float, seed: int, sandbox: Sandbox = "auto") -> list[Demonstration]:
    """`n` demonstrations on train tasks, from live states only. `corrupt`: share of played replies that are spoilt.

    Every slot has a demonstrator: the game's oracle. Raises BadValue for a share out of range.
    """
    if not 0 <= corrupt < 1:
        raise BadValue(f"corrupt is {corrupt}; a share from 0 to below 1 was expected.")
    return asyncio.run(_made(game, n, corrupt, seed, default_driver(sandbox)))


async def _made(game: Game, n: int, corrupt: float, seed: int, run: RunCalls) -> list[Demonstration]:
    made: list[Demonstration] = []
    for first in count(step=_AT_ONCE):
        if len(made) >= n:
            break
        episodes = (_episode(game, run, corrupt, seed, i) for i in range(first, first + _AT_ONCE))
        made += [shown for episode in await asyncio.gather(*episodes) for shown in episode]
    return made[:n]


async def _episode(game: Game, run: RunCalls, corrupt: float, seed: int, episode: int) -> list[Demonstration]:
    """The demonstrations met in one episode; it ends early in a state from which nothing can be shown."""
    rng, made = keyed(seed, "demonstrations", episode), list[Demonstration]()
    size = game.domain.tasks.size("train")
    index = int(rng.integers(size or 2**31))
    state = game.initial(game.domain.tasks.get("train", index))
    while members := game.active(state):
        wanted = _right(game, state)
        prompts = {game.observe(state, agent).messages: agent for agent in reversed(members)}  # equal ones count once
        made += [Demonstration(agent=a, messages=m, reply=wanted[a]) for m, a in reversed(prompts.items())]
        played = {a: _spoilt(game, state, a, r, rng) if rng.random() < corrupt else r for a, r in wanted.items()}
        state = await _step(game, state, played, run)
        if played != wanted and not await _live(game, state, run):
            break
    return made


async def _step(game: Game, state: State, outputs: Outputs, run: RunCalls) -> State:
    return (await step(game, state, outputs, run, game.foreseen(state, outputs))).state


def _right(game: Game, state: State) -> Outputs:
    return {agent: game.oracle(state, agent) for agent in game.active(state)}


async def _live(game: Game, state: State, run: RunCalls) -> bool:
    """Whether demonstrators succeed from here, were there turns enough."""
    patient = replace(game, T=state.turn + _PATIENCE * game.T)
    while patient.active(state):
        state = await _step(patient, state, _right(patient, state), run)
    return state.success


def _spoilt(game: Game, state: State, agent: str, reply: str, rng: np.random.Generator) -> str:
    """A reply to be played in place of the right one: legal but aimless, right but for one slip, or malformed."""
    legal = game.legal(state, agent)
    if game.slot(agent) in OF_WORKFLOW:
        return str(rng.choice([*legal, *_GARBLED]))
    kind = str(rng.choice(list(_SPOIL), p=list(_SPOIL.values()))) if legal else "garble"
    if kind == "wander":
        return _wander(game, state, agent, rng)
    if kind == "slip":
        place, other = rng.integers(len(reply)), rng.choice(legal)
        return f"{reply[:place]}{other}{reply[place + 1 :]}"
    return str(rng.choice(_GARBLED))


def _wander(game: Game, state: State, agent: str, rng: np.random.Generator) -> str:
    """One to four short legal replies, one after another."""
    world, slot, made = state.world, game.slot(agent), list[str]()
    for _ in range(rng.integers(1, 5)):
        legal = game.domain.legal(world, slot)
        if not legal:
            break
        made.append(str(rng.choice(legal)))
        world = game.domain.effect(slot, world, made[-1], ()).world
    return " ".join(made)
