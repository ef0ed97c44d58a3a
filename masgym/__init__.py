"""Teams of language-model agents as games: a PettingZoo suite with exact snapshots.

`masgym.game(...)` is the pure Game, `masgym.make(...)` its PettingZoo environment; importing masgym also registers
`masgym/NAME_v0` with pettingzoo and `masgym/Name-v0` with gymnasium. Domains are imported when first used.
"""

from masgym import interrupts as interrupts  # before what takes a while
from masgym.errors import BadFile, BadSnapshot, BadValue, MasgymError, UnknownName, UnsolvableTask
from masgym.game import Domain, Game, Workflow
from masgym.registry import (
    game,
    list_domains,
    list_levels,
    list_workflows,
    make,
    parallel_env,
    register_domain,
    register_workflow,
)
from masgym.snapshot import Snapshot
from masgym.tools.driver import register_tool
from masgym.types import Observation, State, Task, Transition

__all__ = [
    "BadFile",
    "BadSnapshot",
    "BadValue",
    "Domain",
    "Game",
    "MasgymError",
    "Observation",
    "Snapshot",
    "State",
    "Task",
    "Transition",
    "UnknownName",
    "UnsolvableTask",
    "Workflow",
    "game",
    "list_domains",
    "list_levels",
    "list_workflows",
    "make",
    "parallel_env",
    "register_domain",
    "register_tool",
    "register_workflow",
]
