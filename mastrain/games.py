"""config -> Game, without torch: wrong names and ranges are told at once."""

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import cast

import masgym
from masgym.errors import BadValue
from masgym.game import Game
from masgym.registry import make_workflow
from masgym.types import JSON, Split
from mastrain.config import RunConfig
from mastrain.policies import check_policies, policy_map


def check_names(config: RunConfig) -> None:
    """Raises UnknownName and BadValue for an env, workflow, option or role that does not exist."""
    game = make_game(config)
    check_policies(config.policies, policy_map(config.policies, game.roles))
    for split in ("train", "test", *(["validation"] if config.train.validate_every else [])):
        if game.domain.tasks.size(cast(Split, split)) == 0:
            raise BadValue(f"the tasks given hold none of split {split!r}, which this run needs; give more tasks.")


def check_runs(configs: Sequence[RunConfig]) -> None:
    """All that can be told before the first of these runs begins. Raises UnknownName and BadValue."""
    for config in configs:
        check_names(config)
    from mastrain import algorithms  # torch: only now that the names are right

    for config in configs:
        algorithms.make(config.algo)


def make_game(config: RunConfig) -> Game:
    """The game of a config. Raises UnknownName and BadValue."""
    env = config.env
    game = masgym.game(
        env.name,
        workflow=make_workflow(config.workflow.name, **config.workflow.params),
        T=env.T,
        style=env.style,
        alpha=env.alpha,
        malformed=env.malformed,
        outcome_only=env.outcome_only,
        level=env.level,
        **env.params,
    )
    idle = [agent for agent in game.agents if game.slot(agent) != "act"]
    if env.outcome_only and config.algo.advice_credit == "immediate" and idle:
        raise BadValue(
            f"env.outcome_only with algo.advice_credit=immediate leaves {idle} without any signal: what they say "
            "does not act on the world, so all of a group's rewards are equal. Use algo.advice_credit=turn or episode."
        )
    return game


def eval_command(config: RunConfig, agent: str) -> str:
    """The words for a shell that have `agent` play the config's game; rewards are those of `masgym eval`."""
    env, workflow = config.env, config.workflow
    given = f"({', '.join(_settings(workflow.params))})" if workflow.params else ""
    words = ["masgym", "eval", env.name, "--workflow", workflow.name + given, "--turns", str(env.T)]
    words += ["--level", env.level] if env.level else []
    fields = {name: found for name, found in env.params.items() if name != "tasks"}
    words += ["--task-file", str(env.params["tasks"])] if env.params.get("tasks") else []
    words += [word for setting in _settings(fields) for word in ("--set", setting)]
    return shlex.join([*words, "--agent", agent])


def _settings(given: Mapping[str, JSON]) -> list[str]:
    return [f"{name}={json.dumps(found)}" for name, found in given.items()]
