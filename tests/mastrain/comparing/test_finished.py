"""What counts as a finished cell of a suite; any other is told, and keeps none from being run and reported."""

import copy
import shutil

import pytest
import yaml
from small_suites import CHAIN, fake

from masgym.errors import BadFile
from mastrain.__main__ import compose_run
from mastrain.compare import main, run_cell
from mastrain.finished import done, read_results
from mastrain.suite import Suite, cells


@pytest.fixture(scope="module")
def made():
    """The cells of the small suite."""
    methods = {"warm": ("algo=warm",), "srpo ensemble(5)": ("algo=srpo", "workflow=ensemble", "workflow.params.n=5")}
    common, domains = ("budget.sampled_tokens=2000", "train.eval_tasks=10"), {"plan_path": ("env=plan_path",)}
    return cells(Suite(name="small", seeds=(0, 1), common=common, domains=domains, methods=methods))


@pytest.fixture
def finished(made, tmp_path):
    """Those cells, all done, in `tmp_path`."""
    for cell in made:
        fake(cell, tmp_path)
    return made


def put(config, key, given):
    *path, last = key.split(".")
    for part in path:
        config = config[part]
    config[last] = given


DAMAGE = {  # what is written into a cell's file -> what is said
    ("after.json", "{"): "holds no reports",
    ("after.json", "[" * 99_999): "holds no reports",
    ("before.json", "{}"): "holds no reports",
    ("config.yaml", ": ["): "is no YAML",
    ("config.yaml", "{}"): "config key seed is missing",
    ("metrics.jsonl", ""): "does not hold all steps of the run: it has 0 .* the run makes [0-9]+ steps, or 2000 tokens",
    ("metrics.jsonl", '{"step": 1, "budget/sampled_tokens": 1000}\n'): "up to step 1 and 1000 tokens",
    ("metrics.jsonl", '{"step": 2, "budget/sampled_tokens": 2000}\n'): "it has 1 with",
    ("metrics.jsonl", '{"step": 1, "x": 0}\n{"step": 2, "budget/sampled_tokens": Infinity}\n'): "it has 0 with",
    ("metrics.jsonl", "{\n"): "metrics.jsonl, line 1",
}


@pytest.mark.parametrize(("file", "text"), DAMAGE)
def test_a_damaged_cell_is_not_done(finished, tmp_path, file, text):
    (tmp_path / "cells" / finished[1].hash / file).write_text(text)
    results, damaged = read_results(finished, tmp_path)
    assert [result.cell for result in results] == [finished[0], *finished[2:]]
    assert [*damaged] == [finished[1].hash]
    with pytest.raises(BadFile, match=DAMAGE[file, text]):
        raise damaged[finished[1].hash]


@pytest.mark.usefixtures("_small")
def test_a_damaged_cell_is_told_as_failed_and_the_others_run(finished, tmp_path, capsys):
    other, damaged, *_ = finished
    shutil.rmtree(tmp_path / "cells" / other.hash)
    (tmp_path / "cells" / damaged.hash / "after.json").write_text("{")
    for more in ([], ["report_only=true"]):
        assert main(["suite=small", f"out={tmp_path}", *more], fake) == 1
        told = capsys.readouterr().err
        assert told.count(f"failed: {damaged.label}: {tmp_path / 'cells' / damaged.hash} holds no reports") == 1
    assert (tmp_path / "cells" / other.hash / "after.json").exists()
    assert "3 of 4 runs done" in (tmp_path / "table.md").read_text()


@pytest.mark.parametrize("key", ["env", "algo.lr", "seed"])
def test_the_run_of_another_config_is_not_the_cells(finished, tmp_path, key):
    cell = finished[1]
    path = tmp_path / "cells" / cell.hash / "config.yaml"
    config = copy.deepcopy(cell.data(tmp_path))
    put(config, key, {"env": compose_run(["env=sokoban"])["env"], "algo.lr": 0.5, "seed": 9}[key])
    path.write_text(yaml.safe_dump(config))
    results, damaged = read_results(finished, tmp_path)
    assert len(results) == 3
    assert f"is no run of {cell.label}: {key}" in str(damaged[cell.hash])
    with pytest.raises(BadFile, match="is no run of"):
        done(cell, tmp_path)
    (path.parent / "after.json").unlink()
    with pytest.raises(BadFile, match="is no run of"):  # nor does it go on as the cell's
        run_cell(cell, tmp_path)


def test_what_does_not_change_results_may_be_otherwise(finished, tmp_path):
    cell = finished[1]
    config = copy.deepcopy(cell.data(tmp_path))
    for key, given in (("run_dir", "elsewhere"), ("torch_threads", 7), ("engine.workers", 3)):
        put(config, key, given)
    (tmp_path / "cells" / cell.hash / "config.yaml").write_text(yaml.safe_dump(config))
    assert len(read_results(finished, tmp_path)[0]) == 4


def test_a_suite_can_be_moved(suites, tmp_path):
    made = cells(suites("chain", CHAIN))
    assert main(["suite=chain", f"out={tmp_path / 'old'}"], fake) == 0
    (tmp_path / "old").rename(tmp_path / "new")
    results, damaged = read_results(made, tmp_path / "new")
    assert (len(results), damaged) == (4, {})


@pytest.mark.parametrize("lost", ["folder", "config", "metrics"])
def test_what_begins_from_a_cell_depends_on_it(suites, tmp_path, capsys, lost):
    """Its training tokens are its own, too; and no run begins from one of another config."""
    made = {cell.method: cell for cell in cells(suites("chain", CHAIN))}
    assert main(["suite=chain", f"out={tmp_path}"], fake) == 0
    source, folder = made["actor alone"], tmp_path / "cells" / made["actor alone"].hash
    if lost == "folder":
        shutil.rmtree(folder)
    elif lost == "config":
        (folder / "config.yaml").write_text(yaml.safe_dump(source.data(tmp_path) | {"seed": 9}))
    else:
        (folder / "metrics.jsonl").write_text("")
    results, damaged = read_results([*made.values()], tmp_path)
    assert [result.cell.method for result in results] == ["tool alone"]
    assert f"began from {source.hash}, whose training tokens" in str(damaged[made["swapped"].hash])
    if lost != "folder":
        shutil.rmtree(tmp_path / "cells" / made["swapped"].hash)
    ran = []
    run = lambda cell, out: ran.append(cell.method) or fake(cell, out)  # noqa: E731
    assert main(["suite=chain", f"out={tmp_path}"], run) == (0 if lost == "folder" else 1)
    assert ran == {"folder": ["actor alone"], "config": [], "metrics": ["swapped"]}[lost]
