"""The algorithms by name (`algo.name`)."""

from collections.abc import Callable

from masgym.errors import UnknownName
from mastrain.algorithms.at_grpo import at_grpo
from mastrain.algorithms.base import Algorithm
from mastrain.algorithms.flat_grpo import best_of_k, grpo, team_grpo, warm
from mastrain.algorithms.srpo import srpo, srpo_tree
from mastrain.config import AlgoConfig

ALGORITHMS: dict[str, Callable[[AlgoConfig], Algorithm]] = {
    "at_grpo": at_grpo,
    "srpo": srpo,
    "srpo_tree": srpo_tree,
    "grpo": grpo,
    "team_grpo": team_grpo,
    "best_of_k": best_of_k,
    "warm": warm,
}


def make(config: AlgoConfig) -> Algorithm:
    """The algorithm of `config.name`. Raises UnknownName, and BadValue for settings that it cannot have."""
    if config.name not in ALGORITHMS:
        raise UnknownName("algorithm", config.name, ALGORITHMS)
    return ALGORITHMS[config.name](config)
