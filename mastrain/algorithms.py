"""An Algorithm is a value of four functions; adding one touches no other file.

rollout    task -> Episode: what is sampled
actions    Event -> Actions, each with its group key: what is compared with what
advantage  a group's rewards -> advantages
objective  detached log-probs, batch -> coefficients (`mastrain.objectives`)
"""

import math
from collections.abc import Awaitable, Callable, Iterable, Sequence

from masgym.errors import UnknownName
from masgym.rng import Key, keyed
from masgym.types import Task, value
from mastrain.config import AlgoConfig
from mastrain.objectives import Objective, token_clip
from mastrain.rollout import Team, TreeSettings, tree
from mastrain.types import Action, Episode, Event, Group, Row

EPS = 1e-6  # added to the standard deviation (method, section 3)


@value
class Algorithm:
    """See the module's docstring."""

    rollout: Callable[[Team, Task, Key], Awaitable[Episode]]
    actions: Callable[[Event], Iterable[tuple[Key, Action]]]
    advantage: Callable[[Sequence[float]], tuple[float, ...]]
    objective: Objective


def at_grpo(config: AlgoConfig) -> Algorithm:
    """AT-GRPO (STRONGER-MAS, arXiv 2510.11062): groups by (task, episode, agent, turn), all on one prompt.

    Departures: the switches of AlgoConfig away from the paper's values (`configs/algo/at_grpo.yaml` has those).
    """
    settings = TreeSettings(
        branches=config.branches,
        greedy_fraction=config.greedy_fraction,
        credit=config.credit,
        advice_credit=config.advice_credit,
        stop_hopeless=config.stop_hopeless,
    )

    async def rollout(team: Team, task: Task, key: Key) -> Episode:
        return await tree(team, task, key, settings)

    return Algorithm(
        rollout=rollout,
        actions=per_member,
        advantage=lambda rewards: standardise(rewards, config.normalise),
        objective=token_clip(config.clip),
    )


ALGORITHMS: dict[str, Callable[[AlgoConfig], Algorithm]] = {"at_grpo": at_grpo}


def make(config: AlgoConfig) -> Algorithm:
    """The algorithm of `config.name`. Raises UnknownName."""
    if config.name not in ALGORITHMS:
        raise UnknownName("algorithm", config.name, ALGORITHMS)
    return ALGORITHMS[config.name](config)


def per_member(event: Event) -> Iterable[tuple[Key, Action]]:
    """Each member's reply is an action of its own, compared with the member's other replies at this event."""
    for agent in event.members:
        for candidate in event.candidates:
            action = Action(event=event, candidate=candidate, members=(agent,), reward=candidate.scores[agent])
            yield (*event.key, agent, event.turn), action


def standardise(rewards: Sequence[float], normalise: bool = True) -> tuple[float, ...]:
    """A_c = (r_c - mean) / (std + 1e-6), population std; without `normalise` r_c - mean."""
    mean = math.fsum(rewards) / len(rewards)
    centred = [reward - mean for reward in rewards]
    std = math.sqrt(math.fsum(c * c for c in centred) / len(rewards))
    return tuple(0.0 if std == 0 else c / (std + EPS) if normalise else c for c in centred)


def groups_of(events: Iterable[Event], algorithm: Algorithm) -> tuple[Group, ...]:
    """Events -> groups, in the order in which their keys first come."""
    found: dict[Key, list[Action]] = {}
    for event in events:
        for key, action in algorithm.actions(event):
            found.setdefault(key, []).append(action)
    return tuple(Group(key=key, actions=tuple(actions)) for key, actions in found.items())


def split(groups: Sequence[Group], parts: int, key: Key) -> list[list[Group]]:
    """Mini-batches, split between groups, never inside one, in a keyed random order."""
    order = keyed(*key, "mini-batches").permutation(len(groups))
    return [[groups[i] for i in sorted(order[part::parts])] for part in range(parts) if len(order[part::parts])]


def rows_of(
    groups: Sequence[Group], policy_of: Callable[[str], str], algorithm: Algorithm, drop_zero_variance: bool
) -> dict[str, list[Row]]:
    """Policy -> its rows of one mini-batch. Each carries the weight 1 / (its policy's groups * |group|)."""
    scored = [(group, algorithm.advantage(group.rewards)) for group in groups]
    if drop_zero_variance:
        scored = [(group, advantages) for group, advantages in scored if any(advantages)]
    count: dict[str, int] = {}
    for group, _ in scored:
        for policy in {policy_of(agent) for action in group.actions for agent in action.members}:
            count[policy] = count.get(policy, 0) + 1
    rows: dict[str, list[Row]] = {}
    for group, advantages in scored:
        for action, advantage in zip(group.actions, advantages, strict=True):
            for agent in action.members:
                policy = policy_of(agent)
                weight = 1 / (count[policy] * len(group.actions))
                rows.setdefault(policy, []).append(_row(group, action, agent, policy, advantage, weight))
    return rows


def _row(group: Group, action: Action, agent: str, policy: str, advantage: float, weight: float) -> Row:
    event = action.event
    return Row(
        policy=policy,
        group=group.key,
        event=event.key,
        state_id=event.state_id,
        candidate=action.candidate.index,
        agent=agent,
        member=event.members.index(agent),
        cardinality=len(event.members),
        prompt=event.prompts[agent],
        completion=action.candidate.completions[agent],
        reward=action.reward,
        advantage=advantage,
        weight=weight,
    )
