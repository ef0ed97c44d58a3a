"""An Algorithm is a value of five functions; adding one touches no other file than the registry.

rollout    task -> Episodes: what is sampled
actions    Event -> Actions, each with its group key: what is compared with what
advantage  a group's rewards -> advantages
weights    a batch's groups -> how much each row counts
objective  detached log-probs, batch -> coefficients (`mastrain.objectives`)
"""

import math
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Literal, TypeAlias

from masgym.rng import Key, keyed
from masgym.types import Task, value
from mastrain.objectives import Objective
from mastrain.rollout import Team
from mastrain.types import Action, Episode, Event, Group, Row

EPS = 1e-6  # added to the standard deviation (method, section 3)

PolicyOf: TypeAlias = Callable[[str], str]  # agent -> policy
Weight: TypeAlias = Callable[
    [Group, Action, str], float
]  # (group, action, policy) -> weight of the action's rows there


@value
class Algorithm:
    """See the module's docstring."""

    rollout: Callable[[Team, Task, Key], Awaitable[tuple[Episode, ...]]]  # the key is (seed, step, task)
    actions: Callable[[Event], Iterable[tuple[Key, Action]]]
    advantage: Callable[[Sequence[float]], tuple[float, ...]]
    weights: Callable[[Sequence[Group], PolicyOf], Weight]  # of all groups of an optimiser step
    objective: Objective
    trains: bool = True  # False: no step is made
    attempts: int = 1  # sampled episodes a held-out task gets at the end, of which the best counts


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


def per_group(groups: Sequence[Group], policy_of: PolicyOf) -> Weight:
    """1 / (its policy's groups * |group|): the mean over groups of the mean over a group's actions."""
    count: dict[str, int] = {}
    for group in groups:
        for policy in {policy_of(agent) for action in group.actions for agent in action.members}:
            count[policy] = count.get(policy, 0) + 1
    return lambda group, action, policy: 1 / (count[policy] * len(group.actions))


def per_action(reduction: Literal["event", "row", "token"]) -> Callable[[Sequence[Group], PolicyOf], Weight]:
    """The mean over all actions of a batch, whatever policies they belong to (SRPO, Eq. 7). `row` and `token` count an
    action once per member and once per token: larger sets and longer replies count more."""

    def size(action: Action) -> int:
        lengths = _lengths(action)
        return {"event": 1, "row": len(lengths), "token": sum(lengths)}[reduction]

    def weights(groups: Sequence[Group], policy_of: PolicyOf) -> Weight:
        total = sum(size(action) for group in groups for action in group.actions)
        return lambda group, action, policy: size(action) / total

    return weights


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
    groups: Sequence[Group], policy_of: PolicyOf, algorithm: Algorithm, drop_zero_variance: bool
) -> dict[str, list[Row]]:
    """Policy -> its rows of one mini-batch, weighted by the algorithm."""
    scored = [(group, algorithm.advantage(group.rewards)) for group in groups]
    if drop_zero_variance:
        scored = [(group, advantages) for group, advantages in scored if any(advantages)]
    weight = algorithm.weights([group for group, _ in scored], policy_of)
    rows: dict[str, list[Row]] = {}
    for group, advantages in scored:
        for action, advantage in zip(group.actions, advantages, strict=True):
            for agent in action.members:
                policy = policy_of(agent)
                row = _row(group, action, agent, policy, advantage, weight(group, action, policy))
                rows.setdefault(policy, []).append(row)
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
        set_tokens=_lengths(action),
        place=action.members.index(agent),
        prompt=event.prompts[agent],
        completion=action.candidate.completions[agent],
        reward=action.reward,
        advantage=advantage,
        weight=weight,
    )


def _lengths(action: Action) -> tuple[int, ...]:
    """Tokens of the reply of each of its members."""
    return tuple(len(action.candidate.completions[agent].ids) for agent in action.members)
