"""GRPO on flat episodes, for one agent and for a team, and what needs no training at all."""

from asyncio import gather
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace

from masgym.errors import BadValue
from masgym.rng import Key
from masgym.types import Task
from mastrain.algorithms.base import Algorithm, per_group, standardise
from mastrain.config import AlgoConfig
from mastrain.flat import FlatSettings, flat
from mastrain.objectives import token_clip
from mastrain.rollout import Team
from mastrain.types import Action, Episode, Event


def grpo(config: AlgoConfig) -> Algorithm:
    """GRPO (arXiv 2402.03300) for a single agent in a closed loop: `team_grpo` with `workflow=solo`.

    Departure from the paper, which has one reply an episode: a task's `branches` episodes have several turns; replies
    of one turn are a group, each with the return from its turn on.
    """
    return team_grpo(config)


def team_grpo(config: AlgoConfig) -> Algorithm:
    """GRPO for a team: a task's `branches` flat episodes; groups by (task, agent, turn), so never two agents in one
    group; every turn is kept.

    A reply's reward is the return form of `credit=episode`: what the team gains from its event to the end, and its own
    local terms. Prompts within a group may differ: that is what AT-GRPO (arXiv 2510.11062) mends.
    """
    check_flat(config)
    return Algorithm(
        rollout=flat_rollout(config),
        actions=per_member_of_task,
        advantage=lambda rewards: standardise(rewards, config.normalise),
        weights=per_group,
        objective=token_clip(config.clip),
    )


def warm(config: AlgoConfig) -> Algorithm:
    """No training: the supervised start as it is, which is any run before its first step."""
    return replace(team_grpo(config), trains=False)


def best_of_k(config: AlgoConfig) -> Algorithm:
    """No training: `branches` sampled episodes a held-out task, of which the best counts, told by the true outcome (so
    it is Pass@k, more than a team could choose by itself). All their tokens count."""
    return replace(warm(config), attempts=config.branches)


def per_member_of_task(event: Event) -> Iterable[tuple[Key, Action]]:
    """Each member's reply is an action, compared with the same agent's in the same turn of the task's other
    episodes."""
    for agent in event.members:
        for candidate in event.candidates:
            action = Action(event=event, candidate=candidate, members=(agent,), reward=candidate.scores[agent])
            yield (*event.key[:3], agent, event.turn), action


def flat_rollout(config: AlgoConfig) -> Callable[[Team, Task, Key], Awaitable[tuple[Episode, ...]]]:
    """`branches` flat episodes a task."""
    settings = FlatSettings(guide=config.guide, lost=config.lost, stop_hopeless=config.stop_hopeless)

    async def rollout(team: Team, task: Task, key: Key) -> tuple[Episode, ...]:
        episodes = (flat(team, task, (*key, i), settings) for i in range(config.branches))
        return tuple(await gather(*episodes))

    return rollout


def check_flat(config: AlgoConfig) -> None:
    """Raises BadValue for settings of a tree that a flat episode cannot have."""
    for name, found, expected in (
        ("credit", config.credit, "episode"),
        ("advice_credit", config.advice_credit, "episode"),
        ("greedy_fraction", config.greedy_fraction, 0),
        ("turns", config.turns, 0),
    ):
        if found != expected:
            raise BadValue(
                f"algo.{name} is {found}; {config.name} plays flat episodes, which have {name} {expected}. "
                "algo=at_grpo and algo=srpo_tree make trees."
            )
