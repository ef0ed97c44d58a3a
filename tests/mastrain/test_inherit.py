"""Frozen policies, and policies that begin where other runs ended."""

import json
import os

import pytest
from safetensors.torch import load_file

from masgym.errors import BadFile, BadValue, UnknownName
from mastrain import checkpoint
from mastrain.__main__ import compose_run
from mastrain.config import parse
from mastrain.games import check_names
from mastrain.inherit import source_of
from mastrain.main import main

TINY = [
    "experiment=smoke",
    *("model.hidden=32", "model.layers=1", "model.heads=2", "model.warmstart.steps=4"),
    *("train.tasks=4", "train.eval_tasks=4", "train.validate_every=0", "train.steps=2"),
]


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory):
    before = os.environ.get("MASGYM_CACHE")
    os.environ["MASGYM_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    yield
    os.environ.pop("MASGYM_CACHE") if before is None else os.environ.update(MASGYM_CACHE=before)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run of two policies, of which `tool` is frozen."""
    return start(tmp_path_factory.mktemp("trained") / "run", "policies.frozen=[tool]")


def start(folder, *overrides):
    data = compose_run([*TINY, f"run_dir={folder}", *overrides])
    assert main(parse(data), data) == 0
    return folder


def weights(folder, policy, step):
    return load_file(folder / "checkpoints" / f"step_{step:06d}" / policy / "model.safetensors")


def equal(a, b):
    return a.keys() == b.keys() and all((a[k] == b[k]).all() for k in a)


def test_a_frozen_policy_samples_and_stays(trained):
    assert equal(weights(trained, "tool", 0), weights(trained, "tool", 2))
    assert not equal(weights(trained, "actor", 0), weights(trained, "actor", 2))
    last = [json.loads(line) for line in (trained / "metrics.jsonl").read_text().splitlines()][-1]
    assert last["tool/reply_tokens"] > 0
    assert "actor/grad_norm" in last
    assert "tool/grad_norm" not in last


def test_a_set_with_a_frozen_member_trains_the_others(tmp_path):
    overrides = ["algo=srpo", "workflow=ensemble", "algo.epochs=2", "algo.branches=3", "policies.frozen=[tool]"]
    folder = start(tmp_path / "run", *overrides)
    assert equal(weights(folder, "tool", 0), weights(folder, "tool", 2))
    assert not equal(weights(folder, "worker", 0), weights(folder, "worker", 2))


def test_roles_swapped_without_training(trained, tmp_path):
    swapped = f"policies.init_from={{tool: {trained}:actor, actor: {trained}:tool}}"
    folder = start(tmp_path / "run", "algo=warm", swapped)
    assert equal(weights(folder, "actor", 0), weights(trained, "tool", 2))
    assert equal(weights(folder, "tool", 0), weights(trained, "actor", 2))
    assert (folder / "after.json").exists()


def test_one_policy_inherits_and_the_other_has_its_supervised_start(trained, tmp_path):
    folder = start(tmp_path / "run", "algo=warm", f"policies.init_from={{actor: {trained}}}")
    assert equal(weights(folder, "actor", 0), weights(trained, "actor", 2))
    assert equal(weights(folder, "tool", 0), weights(trained, "tool", 0))


def test_what_a_source_may_be(trained):
    step = trained / "checkpoints" / "step_000002"
    assert source_of(str(trained), "tool") == source_of(str(step), "tool") == step / "tool"
    assert source_of(f"{trained}:actor", "tool") == step / "actor"
    assert source_of(str(step / "actor"), "tool") == step / "actor"


def test_a_source_that_is_none_is_told(trained, tmp_path):
    with pytest.raises(BadFile, match="does not exist"):
        source_of(str(tmp_path / "nowhere"), "tool")
    (tmp_path / "weights.safetensors").write_text("")
    with pytest.raises(BadFile, match=r"weights\.safetensors is a file, not a folder; give a run, a checkpoint of one"):
        source_of(str(tmp_path / "weights.safetensors"), "tool")
    for given in ("", " "):
        with pytest.raises(BadValue, match=rf"policies\.init_from\.tool is '{given}' and names no folder; give a run"):
            source_of(given, "tool")
    with pytest.raises(BadValue, match="names no folder"):
        source_of(":actor", "tool")
    with pytest.raises(BadFile, match=r"no run, .*; give a run"):
        source_of(str(tmp_path), "tool")
    with pytest.raises(UnknownName, match="Known: actor, tool"):
        source_of(f"{trained}:planner", "tool")
    (tmp_path / "begun" / "checkpoints").mkdir(parents=True)
    with pytest.raises(BadFile, match="no checkpoint"):
        source_of(str(tmp_path / "begun"), "tool")


@pytest.mark.parametrize(
    ("overrides", "says"),
    [
        (["model.hidden=64"], "checkpoint of another model"),
        (["env=plan_path"], "another vocabulary"),
    ],
)
def test_weights_of_another_model_are_refused_and_the_folder_can_be_used_again(trained, tmp_path, overrides, says):
    with pytest.raises(BadValue, match=says):
        start(tmp_path / "run", *overrides, f"policies.init_from={{actor: {trained}}}")
    assert not (tmp_path / "run" / "config.yaml").exists()


def test_a_damaged_source_is_refused(trained, tmp_path):
    copy = tmp_path / "copy" / "step_000002"
    copy.parent.mkdir()
    os.system(f"cp -r {checkpoint.latest(trained / 'checkpoints')} {copy}")
    with (copy / "actor" / "model.safetensors").open("r+b") as file:
        file.seek(-4, 2)
        file.write(b"\1\2\3\4")
    with pytest.raises(BadFile, match="SHA-256"):
        source_of(str(copy), "actor")


@pytest.mark.parametrize(
    ("overrides", "error", "says"),
    [
        (["policies.frozen=[planner]"], UnknownName, "policies.frozen 'planner'"),
        (["policies.frozen=[tool,actor]"], BadValue, "algo=warm"),
        (["policies=shared", "policies.frozen=[shared]"], BadValue, "algo=warm"),
        (["policies.frozen=tool"], BadValue, "a list was expected"),
        (["policies.init_from={planner: runs/a}"], UnknownName, "policies.init_from 'planner'"),
    ],
)
def test_mistakes_are_told_before_time_is_spent(overrides, error, says):
    with pytest.raises(error, match=says):
        check_names(parse(compose_run(overrides)))
