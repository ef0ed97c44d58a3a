"""PettingZoo-style module: `math_v0.env(...)`, with the arguments of `masgym.make("math", ...)`."""

from functools import partial

from masgym import registry

env = partial(registry.make, "math")
raw_env = partial(registry.raw_env, "math")
parallel_env = partial(registry.parallel_env, "math")
