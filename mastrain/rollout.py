"""One coroutine per episode. Coroutines await only the engine and tools.

Every draw is keyed by (seed, step, task, episode, path, ...): the order of completion changes nothing.
"""

import hashlib
import json
from asyncio import gather
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from masgym.game import Game, role_of
from masgym.rng import Key, keyed
from masgym.tools.driver import RunCalls, step
from masgym.types import Observation, State, Task, Transition, value
from mastrain.engines.base import Engine, Request, SamplingFailed
from mastrain.types import Candidate, Completion, Credit, Episode, Event, Lost, Prompt, Sampling


@value
class Team:
    """The game, who answers for each role, and how."""

    game: Game
    engine: Engine
    policies: Mapping[str, str]  # role -> policy
    encode: Callable[[str, Observation], Prompt]  # (policy, observation) -> prompt
    sampling: Sampling
    run_calls: RunCalls

    def prompt(self, state: State, agent: str) -> Prompt:
        return self.encode(self.policies[role_of(agent)], self.game.observe(state, agent))

    async def sample(self, prompt: Prompt, n: int, key: Key) -> tuple[Completion, ...]:
        policy = self.policies[role_of(prompt.agent)]
        request = Request(policy=policy, prompt=prompt, n=n, key=key, sampling=self.sampling)
        return await self.engine.sample(request)


@value
class TreeSettings:
    """AT-GRPO's tree (STRONGER-MAS, arXiv 2510.11062). `greedy_fraction` below 1, credits other than `immediate`,
    `guide`, `lost`, `stop_hopeless` and `turns` are ours."""

    branches: int
    greedy_fraction: float
    credit: Credit  # of events in which somebody acts
    advice_credit: Credit  # of all others: drafts, tools, judges
    guide: float = 0.0  # weight of the candidate's change of `Game.progress`, added to its scores
    lost: float = 0.0  # added to the scores of a candidate that loses the task for good
    stop_hopeless: bool = False  # end the episode where the task is lost: what follows teaches nothing about solving
    turns: int = 0  # end the episode after so many; 0 = play all


async def tree(team: Team, task: Task, key: Key, settings: TreeSettings) -> Episode:
    """From each state, for its active set: sample candidates on the SAME prompts, score each, go on along one.

    Departures from the paper: 1. an event may have several members (candidate c joins every member's c-th output);
    2. a candidate that lacks a member or a score is dropped before any statistic, named and counted; an event left
    with none ends the episode by that name.
    """
    game, episode = team.game, int(key[-1])
    state, events = game.initial(task), list[Event]()
    while members := _asked(game, state, settings):
        at = (*key, len(events))
        prompts = {agent: team.prompt(state, agent) for agent in members}
        joint = await sample_sets(team, prompts, settings.branches, at)
        played = await gather(*(play(team, state, outputs, (*at, c), settings) for c, outputs in enumerate(joint)))
        candidates = tuple(c for c in played if isinstance(c, Candidate))
        lost = tuple(c for c in played if isinstance(c, Lost))
        if not candidates:
            return Episode(key=key, task=task, events=tuple(events), final=state, failure=lost[0].outcome, lost=lost)
        chosen = follow(candidates, at, settings.greedy_fraction)
        events.append(
            Event(
                key=at,
                task=task,
                episode=episode,
                turn=state.turn,
                phase=state.phase,
                state_id=state_id(state),
                members=members,
                prompts=prompts,
                candidates=candidates,
                chosen=chosen,
                lost=lost,
            )
        )
        state = candidates[chosen].transition.state
    return Episode(key=key, task=task, events=tuple(events), final=state)


async def sample_sets(
    team: Team, prompts: Mapping[str, Prompt], n: int, key: Key
) -> list[Mapping[str, Completion] | Lost]:
    """`n` joint outputs of the members of `prompts`; one that lacks a member is lost as a whole."""
    replies = await gather(*(_replies(team, prompt, n, key) for prompt in prompts.values()))
    return [_joined(dict(zip(prompts, outputs, strict=True))) for outputs in zip(*replies, strict=True)]


async def play(
    team: Team, state: State, completions: Mapping[str, Completion] | Lost, key: Key, settings: TreeSettings
) -> Candidate | Lost:
    """Score one candidate, the last part of `key`: its own transition and, for `turn` and `episode`, a playout that
    is thrown away."""
    if isinstance(completions, Lost):
        return completions
    acts = any(team.game.slot(agent) == "act" for agent in completions)
    credit = settings.credit if acts else settings.advice_credit
    first = last = await advance(team, state, completions)
    value, tokens, depth = 0.0, 0, 0
    while _plays_on(credit, state, last.state):
        members = speakers(team.game, last.state, settings.stop_hopeless)
        if not members:
            break
        prompts = {agent: team.prompt(last.state, agent) for agent in members}
        (outputs,) = await sample_sets(team, prompts, 1, (*key, depth))
        if isinstance(outputs, Lost):
            return Lost(outcome=outputs.outcome, tokens=count_tokens(completions.values()) + tokens + outputs.tokens)
        last = await advance(team, last.state, outputs)
        value += last.gain + last.penalty
        tokens += count_tokens(outputs.values())
        depth += 1
    way = shaping(team.game, state, last.state, settings.guide, settings.lost)
    own = scores(first, value, credit)
    ways = dict.fromkeys(own, way)
    if credit == "immediate":  # a proposal is worth the way that it would make
        after = {a: replace(last.state, world=first.effects[a].world) for a in own}
        ways = {a: shaping(team.game, state, after[a], settings.guide, settings.lost) for a in own}
    return Candidate(
        index=int(key[-1]),
        completions=completions,
        transition=first,
        scores={a: own[a] + ways[a] for a in own},
        returns=first.gain + first.penalty + value + way,
        playout_tokens=tokens,
    )


def shaping(game: Game, before: State, after: State, guide: float, lost: float) -> float:
    """What the way between two states is worth beyond its return (ours): `guide` times its change of progress, which
    telescopes, and `lost` where it loses the task for good."""
    worth = guide * (game.progress(after) - game.progress(before)) if guide else 0.0
    return worth + (lost if lost and game.hopeless(after) and not game.hopeless(before) else 0.0)


def scores(first: Transition, playout: float, credit: Credit) -> dict[str, float]:
    """Member -> reward. `immediate`: the published form (Eq. 3). Else the return form: gain and the malformed costs
    of all members, then and in the playout, plus the member's own local terms."""
    if credit == "immediate":
        return {agent: first.published(agent) for agent in first.rewards}
    shared = first.gain + first.penalty + playout
    return {agent: shared + sum(terms.local.values()) for agent, terms in first.rewards.items()}


def follow(candidates: tuple[Candidate, ...], at: Key, greedy_fraction: float) -> int:
    """Position of the candidate to go on along: the best one (ties by a keyed draw), or one drawn uniformly."""
    rng = keyed(*at, "follow")
    if rng.random() >= greedy_fraction:
        return int(rng.integers(len(candidates)))
    means = [sum(c.scores.values()) / len(c.scores) for c in candidates]
    best = [i for i, mean in enumerate(means) if mean == max(means)]
    return best[int(rng.integers(len(best)))]


def state_id(state: State) -> str:
    """A hash of (task, log): equal states have equal ids."""
    text = json.dumps([state.task.id, [[dict(outputs), repr(results)] for outputs, results in state.log]])
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def speakers(game: Game, state: State, stop_hopeless: bool) -> tuple[str, ...]:
    """The active set; () where a training episode ends."""
    return () if stop_hopeless and game.hopeless(state) else game.active(state)


def _asked(game: Game, state: State, settings: TreeSettings) -> tuple[str, ...]:
    """Whose candidates are sampled next; () where the tree ends."""
    over = settings.turns and state.turn >= settings.turns
    return () if over else speakers(game, state, settings.stop_hopeless)


async def advance(team: Team, state: State, completions: Mapping[str, Completion]) -> Transition:
    return await step(team.game, state, {a: c.text for a, c in completions.items()}, team.run_calls)


def count_tokens(completions: Iterable[Completion]) -> int:
    return sum(len(completion.ids) for completion in completions)


def _plays_on(credit: Credit, start: State, now: State) -> bool:
    return credit == "episode" or (credit == "turn" and now.turn == start.turn)


async def _replies(team: Team, prompt: Prompt, n: int, key: Key) -> Sequence[Completion | SamplingFailed]:
    """A member's `n` replies; in place of one that is missing, why it is."""
    try:
        return await team.sample(prompt, n, key)
    except SamplingFailed as failed:
        return [reply or failed for reply in failed.sampled or (None,) * n]


def _joined(outputs: Mapping[str, Completion | SamplingFailed]) -> Mapping[str, Completion] | Lost:
    made = {agent: reply for agent, reply in outputs.items() if isinstance(reply, Completion)}
    failed = [reply for reply in outputs.values() if isinstance(reply, SamplingFailed)]
    return Lost(outcome=failed[0].outcome, tokens=count_tokens(made.values())) if failed else made
