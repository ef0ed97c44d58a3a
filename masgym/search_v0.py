"""PettingZoo-style module: `search_v0.env(...)`, with the arguments of `masgym.make("search", ...)`."""

from functools import partial

from masgym import registry

env = partial(registry.make, "search")
raw_env = partial(registry.raw_env, "search")
parallel_env = partial(registry.parallel_env, "search")
