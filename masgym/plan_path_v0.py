"""PettingZoo-style module: `plan_path_v0.env(...)`, with the arguments of `masgym.make("plan_path", ...)`."""

from functools import partial

from masgym import registry

env = partial(registry.make, "plan_path")
raw_env = partial(registry.raw_env, "plan_path")
parallel_env = partial(registry.parallel_env, "plan_path")
