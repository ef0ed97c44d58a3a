"""The other process of `check_new_process`: rebuilds a game from names and JSON (no pickle), restores, steps."""

import importlib
import json
import sys
from dataclasses import fields
from functools import reduce
from typing import Any

from masgym.faces import RawAEC
from masgym.game import Game
from masgym.snapshot import Snapshot
from masgym.types import JSON


def recipe(game: Game) -> JSON:
    """The game as JSON. Raises AssertionError for a class that another process cannot import."""
    own = {f.name: getattr(game, f.name) for f in fields(game) if f.name not in ("domain", "workflow")}
    return {"domain": _part(game.domain), "workflow": _part(game.workflow), "own": own}


def shown(env: RawAEC) -> JSON:
    """All that an environment hands out and holds, as JSON."""
    now = env.snapshot()
    return {
        "snapshot": now.to_json(),
        "world": repr(now.state.world),
        "agents": list(env.agents),
        "selection": env.agent_selection,
        "rewards": dict(env.rewards),
        "owed": dict(now.owed),
        "over": [dict(env.terminations), dict(env.truncations)],
        "infos": env.infos,
        "texts": {agent: env.observe(agent)["text"] for agent in env.possible_agents},
    }


def main() -> None:
    """stdin: {"game", "steps": [[snapshot, reply]]} -> stdout: what the environment shows after each step."""
    work = json.load(sys.stdin)
    made = work["game"]
    game = Game(domain=_build(made["domain"]), workflow=_build(made["workflow"]), **made["own"])
    answers: list[JSON] = []
    for text, reply in work["steps"]:
        env = RawAEC(game)
        env.restore(Snapshot.from_json(text, game))
        env.step(reply)
        answers.append(shown(env))
    json.dump(answers, sys.stdout)


def _part(part: Any) -> JSON:
    kind = type(part)
    if kind.__module__ == "__main__" or "<locals>" in kind.__qualname__:
        raise AssertionError(
            f"new process: {kind.__module__}.{kind.__qualname__} cannot be imported by another process; "
            "define it at the top of an importable module."
        )
    return [kind.__module__, kind.__qualname__, {f.name: getattr(part, f.name) for f in fields(part) if f.init}]


def _build(part: JSON) -> Any:
    module, name, given = part
    kind: Any = reduce(getattr, name.split("."), importlib.import_module(module))
    return kind(**given)
