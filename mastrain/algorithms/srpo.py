"""SRPO: arXiv 2609.08452. An event's whole active set is ONE action, with one ratio, one clip, one advantage."""

from collections.abc import Iterable

from masgym.errors import BadValue
from masgym.rng import Key
from masgym.types import Task
from mastrain.algorithms.at_grpo import tree_settings
from mastrain.algorithms.base import Algorithm, per_action, standardise
from mastrain.algorithms.flat_grpo import check_flat, flat_rollout
from mastrain.config import AlgoConfig
from mastrain.objectives import Setwise, setwise
from mastrain.rollout import Team, tree
from mastrain.types import Action, Candidate, Episode, Event


def srpo(config: AlgoConfig) -> Algorithm:
    """SRPO (arXiv 2609.08452): a task's `branches` flat episodes; a set earns R_e, the team's return from its event
    to the end (no local terms); groups of comparable events, by (task, place in the turn, turn).

    Departures: 1. switches of AlgoConfig away from the paper's values, a = 1/2, b = 0, reduction by event, no KL, no
    entropy; 2. one optimiser step per batch unless told otherwise (the paper is silent); 3. an episode cut short has no
    return, so none of its sets is trained on; 4. `guide` and `lost` (ours) shape the return where they are not 0.
    """
    check_flat(config)
    return Algorithm(
        rollout=flat_rollout(config),
        actions=per_set_of_task,
        advantage=lambda rewards: standardise(rewards, config.normalise),
        weights=per_action(config.reduction),
        objective=_objective(config),
    )


def srpo_tree(config: AlgoConfig) -> Algorithm:
    """SRPO on AT-GRPO's tree (ours): groups are the candidates of exactly one state, each played to the end of its turn
    or of the episode; the episode goes on along any candidate (`greedy_fraction` 0), so that the states visited are
    those of the team alone.
    """
    settings = tree_settings(config)
    if "immediate" in (config.credit, config.advice_credit):
        raise BadValue(
            "algo.credit and algo.advice_credit of srpo_tree are turn or episode: a set's reward is a return, which "
            "immediate credit does not give to a set that does not act."
        )

    async def rollout(team: Team, task: Task, key: Key) -> tuple[Episode, ...]:
        return (await tree(team, task, (*key, 0), settings),)

    return Algorithm(
        rollout=rollout,
        actions=per_set,
        advantage=lambda rewards: standardise(rewards, config.normalise),
        weights=per_action(config.reduction),
        objective=_objective(config),
    )


def per_set(event: Event) -> Iterable[tuple[Key, Action]]:
    """Each candidate's whole set is one action, compared with the event's other candidates."""
    return ((event.key, _action(event, candidate)) for candidate in event.candidates)


def per_set_of_task(event: Event) -> Iterable[tuple[Key, Action]]:
    """Each candidate's whole set is one action, compared with those at the same place of the task's other episodes."""
    key = (*event.key[:3], event.phase, event.turn)
    return ((key, _action(event, candidate)) for candidate in event.candidates)


def _action(event: Event, candidate: Candidate) -> Action:
    return Action(event=event, candidate=candidate, members=event.members, reward=candidate.returns)


def _objective(config: AlgoConfig) -> Setwise:
    if config.loss != "group":
        raise BadValue(f"algo.loss is {config.loss}; {config.name} has one ratio per set, which TRL's losses have not.")
    return setwise(config.set_power, config.length_power, config.clip)
