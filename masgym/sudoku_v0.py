"""PettingZoo-style module: `sudoku_v0.env(...)`, with the arguments of `masgym.make("sudoku", ...)`."""

from functools import partial

from masgym import registry

env = partial(registry.make, "sudoku")
raw_env = partial(registry.raw_env, "sudoku")
parallel_env = partial(registry.parallel_env, "sudoku")
