"""PettingZoo-style module: `code_v0.env(...)`, with the arguments of `masgym.make("code", ...)`."""

from functools import partial

from masgym import registry

env = partial(registry.make, "code")
raw_env = partial(registry.raw_env, "code")
parallel_env = partial(registry.parallel_env, "code")
