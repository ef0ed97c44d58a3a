"""AT-GRPO: STRONGER-MAS, arXiv 2510.11062."""

from masgym.rng import Key
from masgym.types import Task
from mastrain.algorithms.base import Algorithm, per_group, per_member, standardise
from mastrain.config import AlgoConfig
from mastrain.objectives import token_clip
from mastrain.rollout import Team, TreeSettings, tree
from mastrain.types import Episode


def at_grpo(config: AlgoConfig) -> Algorithm:
    """AT-GRPO (STRONGER-MAS, arXiv 2510.11062): groups by (task, episode, agent, turn), all on one prompt.

    Departures: the switches of AlgoConfig away from the paper's values (`configs/algo/at_grpo.yaml` has those).
    """
    settings = tree_settings(config)

    async def rollout(team: Team, task: Task, key: Key) -> tuple[Episode, ...]:
        return (await tree(team, task, (*key, 0), settings),)

    return Algorithm(
        rollout=rollout,
        actions=per_member,
        advantage=lambda rewards: standardise(rewards, config.normalise),
        weights=per_group,
        objective=token_clip(config.clip),
    )


def tree_settings(config: AlgoConfig) -> TreeSettings:
    return TreeSettings(
        branches=config.branches,
        greedy_fraction=config.greedy_fraction,
        credit=config.credit,
        advice_credit=config.advice_credit,
        guide=config.guide,
        lost=config.lost,
        stop_hopeless=config.stop_hopeless,
        turns=config.turns,
    )
