"""Suites whose cells begin where others ended."""

import csv

import pytest
from small_suites import CHAIN, fake

from masgym.errors import BadValue
from mastrain.compare import main
from mastrain.config import parse
from mastrain.suite import cells


def test_one_cell_alone_waits_for_what_it_begins_from_and_is_not_run_twice(suites, tmp_path, capsys):
    """A checkpoint of a run in progress is not where it ends."""
    _, actor, _, swapped = cells(suites("chain", CHAIN))
    arguments = ["suite=chain", f"out={tmp_path}"]
    with pytest.raises(
        BadValue, match=rf"begins from plan_path, actor alone, seed 0 \(cell={actor.hash}\), which is not"
    ):
        main([*arguments, f"cell={swapped.hash}"], fake)
    assert main([*arguments, f"cell={actor.hash}"], fake) == 0
    assert main([*arguments, f"cell={swapped.hash}"], fake) == 0
    assert main([*arguments, f"cell={swapped.hash}"], lambda cell, out: pytest.fail("ran")) == 0
    assert f"{swapped.label} is done" in capsys.readouterr().out


def test_a_cell_begins_where_others_ended(suites, tmp_path):
    made = {cell.method: cell for cell in cells(suites("chain", CHAIN))}
    assert list(made) == ["tool alone", "actor alone", "together", "swapped"]
    tool, actor = made["tool alone"].hash, made["actor alone"].hash
    assert made["together"].needs == (tool, actor)
    assert made["swapped"].needs == (actor,)
    data = made["swapped"].data(tmp_path / "a b")
    there = tmp_path / "a b" / "cells" / actor
    assert data["policies"]["init_from"] == {"tool": f"{there}:actor", "actor": f"{there}:tool"}
    assert parse(data).run_dir == str(tmp_path / "a b" / "cells" / made["swapped"].hash)
    assert "init_from" not in str(made["tool alone"].data(tmp_path)["policies"]["init_from"])


def test_a_cell_is_another_one_when_what_it_begins_from_is(suites):
    plain = {cell.method: cell.hash for cell in cells(suites("chain", CHAIN))}
    changed = CHAIN.replace('"policies.frozen=[tool]"', '"policies.frozen=[tool]", algo.lr=1e-5')
    other = {cell.method: cell.hash for cell in cells(suites("chain", changed))}
    assert [name for name in plain if plain[name] != other[name]] == ["actor alone", "together", "swapped"]


def test_cells_run_after_those_they_begin_from_and_wait_for_them(suites, tmp_path, capsys):
    suites("chain", CHAIN)
    ran, broken = [], ["tool alone"]

    def run(cell, out):
        ran.append(cell.method)
        if cell.method in broken:
            raise RuntimeError("broken")
        return fake(cell, out)

    assert main(["suite=chain", f"out={tmp_path / 'out'}"], run) == 1
    assert ran == ["tool alone", "actor alone", "swapped"]
    assert "begins from plan_path, tool alone, seed 0, which is not done" in capsys.readouterr().err
    broken.clear()
    assert main(["suite=chain", f"out={tmp_path / 'out'}"], run) == 0
    assert ran[3:] == ["tool alone", "together"]
    rows = {row["method"]: row for row in csv.DictReader((tmp_path / "out" / "table.csv").open())}
    tokens = {name: float(row["training_tokens"]) for name, row in rows.items()}
    assert tokens == {"together": 4000, "swapped": 2000, "tool alone": 2000, "actor alone": 2000}


TINY = [
    "experiment=smoke",
    *("model.hidden=32", "model.layers=1", "model.heads=2", "model.warmstart.steps=4"),
    *("train.steps=1", "train.tasks=2", "train.eval_tasks=4", "train.validate_every=0", "algo.mini_batches=1"),
]


def test_roles_trained_apart_are_put_together_and_swapped(suites, tmp_path, monkeypatch):
    """With real runs, at the smallest size."""
    monkeypatch.setenv("MASGYM_CACHE", str(tmp_path / "cache"))
    made = {cell.method: cell for cell in cells(suites("chain", CHAIN), TINY)}
    out = tmp_path / "out"
    assert main(["suite=chain", f"out={out}", *TINY]) == 0
    assert "4 of 4 runs done" in (out / "table.md").read_text()

    def weights(method, step, policy):
        folder = out / "cells" / made[method].hash / "checkpoints" / f"step_{step:06d}" / policy
        return (folder / "model.safetensors").read_bytes()

    assert weights("together", 0, "tool") == weights("tool alone", 1, "tool")
    assert weights("together", 0, "actor") == weights("actor alone", 1, "actor")
    assert weights("swapped", 0, "tool") == weights("actor alone", 1, "actor")
    assert weights("swapped", 0, "actor") == weights("tool alone", 0, "tool")  # which was frozen
    assert main(["suite=chain", f"out={out}", *TINY], lambda cell, out: pytest.fail("ran")) == 0
