"""Team size, roles, event schedule and who maps to which policy are config; every team goes through all stages."""

import json

import pytest

from masgym.errors import BadValue, UnknownName
from mastrain.__main__ import compose_run
from mastrain.checkpoint import latest
from mastrain.config import parse
from mastrain.games import check_names, make_game
from mastrain.main import main
from mastrain.policies import policy_map

TINY = [
    "experiment=smoke",
    "env=plan_path",
    *("model.hidden=32", "model.layers=1", "model.heads=2", "model.warmstart.steps=4", "model.warmstart.batch=8"),
    *("train.tasks=2", "train.eval_tasks=2", "train.validate_every=0", "train.steps=1", "train.checkpoint_every=1"),
    *("algo.mini_batches=1", "algo.branches=2"),
]
MAP = "policies.map={router: boss, aggregator: boss, worker: hand, tool: hand}"


def game_of(*overrides):
    config = parse(compose_run(list(overrides)))
    check_names(config)
    return make_game(config), config


def test_team_size_and_verifier():
    game, _ = game_of(
        "workflow=ensemble", "workflow.params.n=5", "workflow.params.tools=2", "workflow.params.verifier=true"
    )
    assert game.agents == ("worker_0", "worker_1", "worker_2", "tool_0", "tool_1", "verifier_0", "aggregator_0")


def test_the_schedule():
    game, _ = game_of("workflow=mixed")
    assert [len(event) for event in game.workflow.events] == [1, 2, 1, 1]
    game, _ = game_of("workflow=ensemble", "workflow.params.schedule=[[worker_1],[tool_0,worker_0]]")
    assert game.workflow.events == (("worker_1",), ("worker_0", "tool_0"), ("aggregator_0",))


def test_route_costs():
    assert game_of("workflow=routed", "workflow.params.route_cost=0.1")[0].workflow.route_cost == 0.1


def test_policies_by_role():
    game, config = game_of("workflow=routed", "policies=map", MAP)
    assert policy_map(config.policies, game.roles) == {
        "router": "boss",
        "worker": "hand",
        "tool": "hand",
        "aggregator": "boss",
    }


@pytest.mark.parametrize(
    ("overrides", "error", "says"),
    [
        (["workflow=ensemble", "workflow.params.n=9"], BadValue, "from 1 to 7"),
        (["workflow=ensemble", "+workflow.params.m=2"], UnknownName, "argument of workflow ensemble"),
        (["workflow=mixed", "workflow.params.n=4"], BadValue, "once was expected"),
        (["workflow=routed", "policies=map", "policies.map={router: a, worker: a}"], BadValue, "'tool', 'aggregator'"),
    ],
)
def test_what_cannot_be_is_told(overrides, error, says):
    with pytest.raises(error, match=says):
        game_of(*overrides)


@pytest.mark.parametrize(
    ("changes", "policies"),
    [
        (("workflow=ensemble", "policies=shared"), {"shared"}),
        (("workflow=mixed",), {"worker", "tool", "verifier", "aggregator"}),
        (("workflow=routed", "policies=map", MAP), {"boss", "hand"}),
    ],
)
def test_every_team_is_trained(tmp_path, monkeypatch, changes, policies):
    monkeypatch.setenv("MASGYM_CACHE", str(tmp_path / "cache"))
    data = compose_run([*TINY, f"run_dir={tmp_path / 'run'}", *changes])
    assert main(parse(data), data) == 0
    (metrics,) = (json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines())
    assert metrics["sample/events"] > 0
    found = {path.name for path in latest(tmp_path / "run" / "checkpoints").iterdir() if path.is_dir()}
    assert found == policies
