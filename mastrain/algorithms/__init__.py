"""What is learned from what was sampled. `base` says what an Algorithm is, `registry` which there are."""

from mastrain.algorithms.base import Algorithm, groups_of, per_member, rows_of, split, standardise
from mastrain.algorithms.registry import ALGORITHMS, make

__all__ = ["ALGORITHMS", "Algorithm", "groups_of", "make", "per_member", "rows_of", "split", "standardise"]
