"""A run goes on with the config that it began with, in all that its results depend on."""

import copy
import os

import pytest
import yaml
from test_run import TINY

from masgym.errors import BadValue
from mastrain import main as module
from mastrain import runlog
from mastrain.__main__ import compose_run
from mastrain.config import parse
from mastrain.resuming import FREE, fixed_settings

FIXED = {  # a setting -> another value
    "seed": 1,
    "env.params": {"size": 6, "boxes": 2, "moves_per_turn": 4},
    "env.malformed": -1.0,
    "env.compact_pairs": "#.",
    "model.hidden": 64,
    "model.warmstart.steps": 9,
    "policies.frozen": ["tool"],
    "policies.init_from": {"tool": "runs/other"},
    "algo.lr": 0.5,
    "algo.branches": 3,
    "algo.guide": 1.0,
    "train.steps": 3,
    "train.eval_tasks": 5,
    "budget.sampled_tokens": 9,
}
OTHERWISE = {
    "run_dir": "elsewhere",
    "sandbox": "unsafe",
    "engine.max_tokens": 9999,
    "algo.micro_batch_tokens": 64,
    "train.validate_every": 1,
    "train.checkpoint_every": 1,
}


def composed(folder="run"):
    return compose_run([*TINY, f"run_dir={folder}", "train.steps=1"])


def changed(data, changes):
    made = copy.deepcopy(data)
    for name, given in changes.items():
        *path, last = name.split(".")
        part = made
        for key in path:
            part = part[key]
        assert last not in part or part[last] != given
        part[last] = given
    return made


def interrupted(*_, **__):
    raise KeyboardInterrupt


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A run that was interrupted after its first checkpoint."""
    os.environ["MASGYM_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    folder = tmp_path_factory.mktemp("runs") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "evaluate_run", interrupted)
        data = composed(folder)
        assert module.main(parse(data), data) == 130
    return folder


def resume(folder, data):
    (folder / runlog.CONFIG).write_text(yaml.safe_dump(data))
    given = compose_run([f"resume={folder}"])
    return module.main(parse(given), given)


@pytest.mark.parametrize("name", FIXED)
def test_what_results_depend_on_must_be_as_it_was(begun, name):
    with pytest.raises(BadValue) as told:
        resume(begun, changed(composed(begun), {name: FIXED[name]}))
    assert f"has changed: {name} was " in str(told.value)
    assert "; " not in str(told.value)


def test_what_does_not_change_results_may_be_otherwise(begun):
    assert set(OTHERWISE) <= set(FREE)
    assert resume(begun, changed(composed(begun), OTHERWISE)) == 0
    assert {path.name for path in begun.parent.iterdir()} == {"run"}
    assert (begun / "after.json").exists()


def test_every_setting_is_fixed_or_free():
    def keys(part, at=""):
        for key, given in part.items():
            leaf = not isinstance(given, dict) or key == "params"
            yield from [f"{at}{key}"] if leaf else keys(given, f"{at}{key}.")

    fixed = fixed_settings(parse(composed()))
    assert set(keys(composed())) <= {*fixed, *FREE}
    assert not set(fixed) & set(FREE)


@pytest.mark.parametrize(("loss", "free"), [("group", True), ("dapo", True), ("grpo", False), ("bnpo", False)])
def test_micro_batches_are_free_where_the_loss_does_not_depend_on_them(loss, free):
    config = parse(compose_run([*TINY, "algo.entropy_target=0", f"algo.loss={loss}"]))
    assert ("algo.micro_batch_tokens" not in fixed_settings(config)) == free
