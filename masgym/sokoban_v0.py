"""PettingZoo-style module: `sokoban_v0.env(...)`, with the arguments of `masgym.make("sokoban", ...)`."""

from functools import partial

from masgym import registry

env = partial(registry.make, "sokoban")
raw_env = partial(registry.raw_env, "sokoban")
parallel_env = partial(registry.parallel_env, "sokoban")
