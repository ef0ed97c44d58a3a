"""Scripted teams: the whole sampling side without a model."""

from masgym.tools.driver import default_driver
from mastrain import rollout
from mastrain.engines.base import Engine, run
from mastrain.engines.scripted import Codepoints, ScriptedEngine
from mastrain.types import Episode, Prompt, Sampling


def encode(policy, observation):
    ids = Codepoints().encode(observation.text)
    return Prompt(agent=observation.agent, messages=observation.messages, ids=ids)


def team_of(game, reply, policies=None) -> rollout.Team:
    engine: Engine = ScriptedEngine(reply)
    return rollout.Team(
        game=game,
        engine=engine,
        policies=policies or {role: role for role in game.roles},
        encode=encode,
        sampling=Sampling(),
        run_calls=default_driver(),
    )


def play_tree(team, task, key=(0, 1, 0, 0), **changes) -> Episode:
    settings = {"branches": 4, "greedy_fraction": 1.0, "credit": "immediate", **changes}
    settings.setdefault("advice_credit", settings["credit"])
    return run(rollout.tree(team, task, key, rollout.TreeSettings(**settings)), team.engine)
