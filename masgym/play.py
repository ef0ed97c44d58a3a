"""One episode: ask the active set, run its tool calls, apply, and so on. No search: one candidate a turn."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import isawaitable
from statistics import fmean
from time import perf_counter
from typing import Any, TypeAlias, TypeVar

from masgym.agents.base import Agent, Reply, Request
from masgym.episodes import EpisodeRecord, EventTrace, Judged, MemberTrace, ToolRun
from masgym.errors import BadValue
from masgym.game import Game
from masgym.rng import Key
from masgym.tags import clean
from masgym.tools.driver import RunCalls, step
from masgym.types import Calls, Results, State, Task, ToolCall, Transition, value

T = TypeVar("T")
Watch: TypeAlias = Callable[[EventTrace], None]


@value
class Answer:
    """What one member was asked, and what it replied."""

    request: Request
    reply: Reply
    latency: float  # seconds


async def play(
    game: Game,
    task: Task,
    team: Mapping[str, Agent],
    key: Key,
    run: RunCalls,
    watch: Watch | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> EpisodeRecord:
    """One episode. `key` ends with the sample's number; a failed reply ends the episode by that name.

    `watch` gets a trace of every event. Raises BadValue where an agent gives what is no Reply, and CancelledError at
    the next event once it is `stopped`.
    """
    state, seen, answers, failure, started = game.initial(task), list[Transition](), list[Answer](), "", perf_counter()
    events = 0
    while members := game.active(state):
        if stopped():
            raise asyncio.CancelledError
        tools, since = _Recorder(run), perf_counter()
        requests = [_request(game, state, agent, (*key, events)) for agent in members]
        new = await together(_asked(team[r.observation.agent], r) for r in requests)
        answers += new
        events += 1
        failure = next((answer.reply.failure for answer in new if answer.reply.failure), "")
        if failure:
            if watch:
                watch(_failed(game, state, new, perf_counter() - since))
            break
        outputs = {agent: answer.reply.text for agent, answer in zip(members, new, strict=True)}
        transition = await step(game, state, outputs, tools)
        if watch:
            watch(_traced(game, state, new, transition, tools.calls, perf_counter() - since))
        seen.append(transition)
        state = transition.state
    replies = [answer.reply for answer in answers]
    return _record(task, state, seen, replies, events, failure or state.ended, int(key[-1]), perf_counter() - started)


async def together(jobs: Iterable[Coroutine[Any, Any, T]]) -> tuple[T, ...]:
    """What the jobs return. What the first to fail raises comes out as it is, the others cancelled."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(job) for job in jobs]
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return tuple(task.result() for task in tasks)


class _Recorder:
    """Runs tool calls and remembers which they were: results alone are in the state."""

    def __init__(self, run: RunCalls) -> None:
        self._run = run
        self.calls: dict[str, tuple[ToolCall, ...]] = {}

    async def __call__(self, calls: Calls) -> Results:
        self.calls |= {agent: self.calls.get(agent, ()) + asked for agent, asked in calls.items()}
        return await self._run(calls)


def _request(game: Game, state: State, agent: str, key: Key) -> Request:
    return Request(game=game, state=state, observation=game.observe(state, agent), key=(*key, agent))


async def _asked(player: Agent, request: Request) -> Answer:
    """What the agent replies, checked; its text as the faces take it."""
    started = perf_counter()
    awaited: Any = player.act(request)
    reply: Any = await awaited if isawaitable(awaited) else awaited
    latency = perf_counter() - started
    who = f"{request.observation.agent}, played by {type(player).__name__},"
    if not isawaitable(awaited) or not isinstance(reply, Reply):
        raise BadValue(f"{who} gave {type(reply).__name__}; `async def act` that returns a Reply was expected.")
    for name, kind in (("text", str), ("failure", str), ("tokens", int), ("prompt_tokens", int), ("cut", bool)):
        found: Any = getattr(reply, name)
        if not isinstance(found, kind) or (isinstance(found, bool) and kind is not bool):
            raise BadValue(f"{who} gave a Reply whose {name} is {found!r}; {kind.__name__} was expected.")
    if min(reply.tokens, reply.prompt_tokens) < 0:
        raise BadValue(
            f"{who} gave a Reply with {reply.tokens} and {reply.prompt_tokens} tokens; counts are 0 or more."
        )
    if reply.failure in ("done", "T") or not reply.failure.isprintable():  # as games end; control characters
        raise BadValue(f"{who} gave a Reply whose failure is {reply.failure!r}; a name of its own was expected.")
    return Answer(request=request, reply=replace(reply, text=clean(reply.text)), latency=latency)


def _record(
    task: Task,
    state: State,
    seen: Sequence[Transition],
    replies: Sequence[Reply],
    events: int,
    ended: str,
    sample: int,
    latency: float,
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
        ended=ended,
        turns=state.turn,
        returns=sum(t.gain + t.penalty for t in seen),
        event_count=events,
        replies=len(replies),
        tool_calls=sum(len(results) for _, by_agent in state.log for results in by_agent.values()),
        malformed=tuple(effect.note for _, effect, _ in effects if effect.malformed),
        tokens=sum(reply.tokens for reply in replies),
        prompt_tokens=sum(reply.prompt_tokens for reply in replies),
        cut=sum(reply.cut for reply in replies),
        terms={name: fmean(found) for name, found in terms.items()},
        latency=latency,
    )


def _members(answers: Sequence[Answer]) -> tuple[MemberTrace, ...]:
    return tuple(
        MemberTrace(
            agent=a.request.observation.agent,
            slot=a.request.observation.slot,
            messages=a.request.observation.messages,
            reply=a.reply.text,
            failure=a.reply.failure,
            tokens=a.reply.tokens,
            prompt_tokens=a.reply.prompt_tokens,
            cut=a.reply.cut,
            latency=a.latency,
        )
        for a in answers
    )


def _failed(game: Game, state: State, answers: Sequence[Answer], latency: float) -> EventTrace:
    board = game.domain.render(state.world, "full")
    return EventTrace(
        turn=state.turn + 1,
        members=_members(answers),
        judged={},
        before=board,
        after=board,
        team=0.0,
        gain=0.0,
        latency=latency,
    )


def _traced(
    game: Game, state: State, answers: Sequence[Answer], done: Transition, calls: Calls, latency: float
) -> EventTrace:
    return EventTrace(
        turn=state.turn + 1,
        members=_members(answers),
        judged={agent: _judged(done, agent, calls.get(agent, ())) for agent in done.effects},
        before=game.domain.render(state.world, "full"),
        after=game.domain.render(done.state.world, "full"),
        team=done.team,
        gain=done.gain,
        latency=latency,
    )


def _judged(done: Transition, agent: str, calls: Sequence[ToolCall]) -> Judged:
    effect, reward = done.effects[agent], done.rewards[agent]
    results = done.state.log[-1][1].get(agent, ())
    return Judged(
        tools=tuple(
            ToolRun(tool=call.tool, arguments=call.arguments, outcome=result.outcome, value=result.value)
            for call, result in zip(calls, results, strict=True)
        ),
        malformed=effect.malformed,
        note=effect.note,
        right=effect.right,
        done=effect.done,
        terms=reward.local,
        penalty=reward.penalty,
    )
