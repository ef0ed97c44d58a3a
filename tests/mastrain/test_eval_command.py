"""The command that a run ends with plays the run's own game."""

import shlex

import pytest

from masgym.cli.arguments import game_of
from masgym.cli.commands import parser
from mastrain.__main__ import compose_run
from mastrain.config import parse
from mastrain.games import eval_command, make_game

REWARDS = ("alpha", "malformed", "outcome_only")  # those of `masgym eval`


@pytest.mark.parametrize(
    "words",
    [
        ["env=sokoban"],
        ["env=sudoku"],
        ["env=code", "env.T=3"],
        ["env=search", "workflow=solo"],
        ["env=plan_path", "workflow=ensemble", "workflow.params.n=2", "policies=shared", "algo=srpo"],
        ["env=math", "workflow=mixed", "policies=shared", "algo=srpo"],
    ],
)
def test_it_plays_the_game_of_the_run(words):
    config = parse(compose_run(words))
    command = shlex.split(eval_command(config, "hf:runs/a b"))
    assert command[:2] == ["masgym", "eval"]
    assert command[-2:] == ["--agent", "hf:runs/a b"]
    played = game_of(parser().parse_args([*command[1:], "--style", "compact"])).spec()
    wanted = make_game(config).spec()
    assert {k: v for k, v in played.items() if k not in REWARDS} == {
        k: v for k, v in wanted.items() if k not in REWARDS
    }
