"""Play tasks with given agents -> records -> Report. The one evaluator: the trainer's policies are agents to it too.

One candidate a turn, no search: what is measured is how a team plays alone.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from masgym.agents.base import Agent, Reply, Request
from masgym.errors import UnknownName
from masgym.game import Game, role_of
from masgym.report import EpisodeRecord
from masgym.rng import Key
from masgym.tools.driver import RunCalls, default_driver, step
from masgym.types import Split, State, Task, Transition


def assign(game: Game, agents: Mapping[str, Agent]) -> dict[str, Agent]:
    """Agent id -> who plays it. Keys are ids or roles; "*" is everybody else. Raises UnknownName."""
    for name in agents:
        if name not in (*game.agents, *game.roles, "*"):
            raise UnknownName("agent or role", name, (*game.agents, *game.roles, "*"))
    found = {a: agents.get(a) or agents.get(role_of(a)) or agents.get("*") for a in game.agents}
    missing = [a for a, agent in found.items() if agent is None]
    if missing:
        raise UnknownName("player of", missing[0], agents)
    return {a: agent for a, agent in found.items() if agent is not None}


async def evaluate(
    game: Game,
    agents: Mapping[str, Agent],
    *,
    tasks: int,
    split: Split = "test",
    samples: int = 1,
    key: Key = ("evaluate", 0),
    run: RunCalls | None = None,
    on_episode: Callable[[EpisodeRecord], None] = lambda record: None,
) -> tuple[EpisodeRecord, ...]:
    """The first `tasks` tasks of `split` (all of a smaller finite set), `samples` episodes each, in task order."""
    size = game.domain.tasks.size(split)
    team, tools = assign(game, agents), run or default_driver()

    async def one(index: int, sample: int) -> EpisodeRecord:
        task = game.domain.tasks.get(split, index)
        record = await play(game, task, team, (*key, index, sample), tools)
        on_episode(record)
        return record

    count = tasks if size is None else min(tasks, size)
    return tuple(await asyncio.gather(*(one(i, s) for i in range(count) for s in range(samples))))


async def play(game: Game, task: Task, team: Mapping[str, Agent], key: Key, run: RunCalls) -> EpisodeRecord:
    """One episode. `key` ends with the sample's number; a failed reply ends the episode by that name."""
    state, seen, replies, failure = game.initial(task), list[Transition](), list[Reply](), ""
    while members := game.active(state):
        requests = [_request(game, state, agent, (*key, len(seen))) for agent in members]
        answers = await asyncio.gather(*(team[r.observation.agent].act(r) for r in requests))
        replies += answers
        failure = next((answer.failure for answer in answers if answer.failure), "")
        if failure:
            break
        outputs = {agent: answer.text for agent, answer in zip(members, answers, strict=True)}
        transition = await step(game, state, outputs, run)
        seen.append(transition)
        state = transition.state
    return _record(task, state, seen, replies, failure, int(key[-1]))


def _request(game: Game, state: State, agent: str, key: Key) -> Request:
    return Request(game=game, state=state, observation=game.observe(state, agent), key=(*key, agent))


def _record(
    task: Task, state: State, seen: Sequence[Transition], replies: Sequence[Reply], failure: str, sample: int
) -> EpisodeRecord:
    effects = [(a, t.effects[a], t.rewards[a]) for t in seen for a in t.effects]
    terms: dict[str, list[float]] = {}
    for agent, _, reward in effects:
        for name, term in reward.local.items():
            terms.setdefault(f"{agent}/{name}", []).append(term)
    return EpisodeRecord(
        task=task.id,
        index=task.index,
        sample=sample,
        level=task.level,
        optimum=task.optimum,
        success=state.success,
        ended=failure or state.ended,
        turns=state.turn,
        returns=sum(t.gain + t.penalty for t in seen),
        replies=len(replies),
        malformed=tuple(effect.note for _, effect, _ in effects if effect.malformed),
        tokens=sum(reply.tokens for reply in replies),
        prompt_tokens=sum(reply.prompt_tokens for reply in replies),
        terms={name: fmean(found) for name, found in terms.items()},
    )
