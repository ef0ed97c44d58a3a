"""Play tasks with given agents -> records -> Report. The one evaluator: the trainer's policies are agents to it too.

One candidate a turn, no search: what is measured is how a team plays alone.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import isawaitable
from statistics import fmean
from typing import Any, TypeVar

from masgym.agents.base import Agent, Reply, Request
from masgym.errors import BadValue, UnknownName
from masgym.game import Game, role_of
from masgym.report import EpisodeRecord
from masgym.rng import Key
from masgym.tags import clean
from masgym.tools.driver import RunCalls, default_driver, step
from masgym.types import Split, State, Task, Transition

T = TypeVar("T")


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
    """The first `tasks` tasks of `split` (all of a smaller finite set), `samples` episodes each, in task order.

    What an agent raises ends the evaluation, the other episodes with it; `on_episode` has had those that were over.
    """
    size = game.domain.tasks.size(split)
    team, tools = assign(game, agents), run or default_driver()

    async def one(index: int, sample: int) -> EpisodeRecord:
        task = game.domain.tasks.get(split, index)
        record = await play(game, task, team, (*key, index, sample), tools)
        on_episode(record)
        return record

    count = tasks if size is None else min(tasks, size)
    return await _together(one(i, s) for i in range(count) for s in range(samples))


async def play(game: Game, task: Task, team: Mapping[str, Agent], key: Key, run: RunCalls) -> EpisodeRecord:
    """One episode. `key` ends with the sample's number; a failed reply ends the episode by that name.

    Raises BadValue where an agent gives what is no Reply.
    """
    state, seen, replies, failure = game.initial(task), list[Transition](), list[Reply](), ""
    while members := game.active(state):
        requests = [_request(game, state, agent, (*key, len(seen))) for agent in members]
        answers = await _together(_asked(team[r.observation.agent], r) for r in requests)
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


async def _asked(player: Agent, request: Request) -> Reply:
    """What the agent replies, checked; its text as the faces take it."""
    awaited: Any = player.act(request)
    reply: Any = await awaited if isawaitable(awaited) else awaited
    who = f"{request.observation.agent}, played by {type(player).__name__},"
    if not isawaitable(awaited) or not isinstance(reply, Reply):
        raise BadValue(f"{who} gave {type(reply).__name__}; `async def act` that returns a Reply was expected.")
    for name, kind in (("text", str), ("failure", str), ("tokens", int), ("prompt_tokens", int)):
        found: Any = getattr(reply, name)
        if not isinstance(found, kind) or isinstance(found, bool):
            raise BadValue(f"{who} gave a Reply whose {name} is {found!r}; {kind.__name__} was expected.")
    if min(reply.tokens, reply.prompt_tokens) < 0:
        raise BadValue(
            f"{who} gave a Reply with {reply.tokens} and {reply.prompt_tokens} tokens; counts are 0 or more."
        )
    return replace(reply, text=clean(reply.text))


async def _together(jobs: Iterable[Coroutine[Any, Any, T]]) -> tuple[T, ...]:
    """What the jobs return. What the first to fail raises comes out as it is, the others cancelled."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(job) for job in jobs]
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return tuple(task.result() for task in tasks)


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
