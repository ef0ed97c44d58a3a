"""Suites: every cell composes, what is done is not run again, and the report is what the runs came to."""

import csv
import io
import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from masgym.episodes import EpisodeRecord
from masgym.errors import BadValue, MasgymError, UnknownName
from masgym.report import summarise, to_json
from mastrain.compare import main, run_cell
from mastrain.comparison import mean_curve
from mastrain.config import parse
from mastrain.games import check_names
from mastrain.paths import configs_dir
from mastrain.suite import cells, read_suite, with_seeds

SUITES = sorted(path.stem for path in (configs_dir() / "suite").glob("*.yaml"))


def record(index, success):
    return EpisodeRecord(
        task=f"t{index}",
        index=index,
        sample=0,
        level="easy",
        optimum=None,
        success=success,
        ended="done" if success else "T",
        turns=2,
        returns=float(success),
        event_count=2,
        replies=4,
        tool_calls=1,
        malformed=(),
        tokens=20,
        prompt_tokens=100,
        terms={},
        latency=0.1,
    )


def report(share, tasks=10):
    return to_json(summarise([record(i, i < share * tasks) for i in range(tasks)]))


def fake(cell, folder):
    """A run that got 20 % better for every thousand tokens."""
    folder.mkdir(parents=True)
    trains = cell.config["algo"]["name"] not in ("warm", "best_of_k")
    (folder / "before.json").write_text(json.dumps({"sampled": report(0.2), "greedy": report(0.3)}))
    after = {"sampled": report(0.6 + 0.1 * cell.seed if trains else 0.2), "greedy": report(0.7)}
    (folder / "after.json").write_text(json.dumps(after))
    if trains:
        rows = [
            {"step": s, "budget/sampled_tokens": 1000 * s, "validation/success": 0.2 + 0.2 * s} for s in range(1, 3)
        ]
        (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return 0


SMALL = """
seeds: [0, 1]
common: [budget.sampled_tokens=2000, train.eval_tasks=10]
domains:
  plan_path: [env=plan_path]
methods:
  warm: [algo=warm]
  srpo ensemble(5): [algo=srpo, workflow=ensemble, workflow.params.n=5]
"""


@pytest.fixture
def _small(tmp_path, monkeypatch):
    (tmp_path / "configs" / "suite").mkdir(parents=True)
    (tmp_path / "configs" / "suite" / "small.yaml").write_text(SMALL)
    monkeypatch.setattr("mastrain.suite.configs_dir", lambda: tmp_path / "configs")


@pytest.mark.parametrize("name", SUITES)
def test_every_domain_and_every_method_of_every_suite_composes(name):
    suite = with_seeds(read_suite(name), "0")
    (domain, first), *_ = suite.domains.items()
    methods = replace(suite, domains={domain: first})
    domains = replace(suite, methods=dict([next(iter(suite.methods.items()))]))
    for cell in [*cells(methods), *cells(domains)[1:]]:
        config = parse(cell.config)
        check_names(config)
        assert config.budget.sampled_tokens > 0


@pytest.mark.usefixtures("_small")
def test_a_suite_is_run_in_pieces_and_reported(tmp_path):
    out = tmp_path / "out"
    arguments, ran = ["suite=small", f"out={out}"], []

    def one_by_one(most):
        def run(cell, folder):
            if len(ran) == most:
                return 130
            ran.append(cell)
            return fake(cell, folder)

        return run

    assert main(arguments, one_by_one(1)) == 130
    assert "1 of 4 runs done" in (out / "table.md").read_text()
    assert main(arguments, one_by_one(9)) == 0
    assert len(ran) == len({cell.hash for cell in ran}) == 4
    assert main(arguments, one_by_one(4)) == 0  # nothing is left to run
    assert "4 of 4 runs done" in (out / "table.md").read_text()
    warm, srpo = csv.DictReader(io.StringIO((out / "table.csv").read_text()))
    assert (warm["method"], float(warm["success"]), float(warm["training_tokens"])) == ("warm", 0.2, 0)
    assert float(srpo["success"]) == pytest.approx(0.65)
    assert float(srpo["low"]) < 0.65 < float(srpo["high"])
    assert (float(srpo["seeds"]), float(srpo["C_tok"]), float(srpo["C_call"])) == (2, 20, 4)
    assert float(srpo["training_tokens"]) == 2000
    assert len(ElementTree.parse(out / "plan_path.svg").findall(".//{*}polyline")) == 2


@pytest.mark.usefixtures("_small")
def test_another_config_is_another_cell():
    suite = with_seeds(read_suite("small"), "0")
    plain, longer = cells(suite), cells(suite, ["train.eval_tasks=7"])
    assert not {cell.hash for cell in plain} & {cell.hash for cell in longer}
    assert [cell.hash for cell in plain] == [cell.hash for cell in cells(suite)]


@pytest.mark.usefixtures("_small")
def test_an_interrupted_cell_goes_on(tmp_path, monkeypatch):
    import mastrain.main

    (cell, *_), seen = cells(read_suite("small")), []
    monkeypatch.setattr(mastrain.main, "main", lambda config, data: seen.append(data) or 0)
    run_cell(cell, tmp_path / "cell")
    (tmp_path / "cell").mkdir()
    (tmp_path / "cell" / "config.yaml").write_text("")
    run_cell(cell, tmp_path / "cell")
    assert [data["resume"] for data in seen] == [None, str(tmp_path / "cell")]
    assert seen[0]["run_dir"] == str(tmp_path / "cell")
    assert seen[0]["algo"] == cell.config["algo"]


def test_mean_curves_are_read_between_points():
    found = mean_curve([[(0, 0.2), (10, 0.4)], [(0, 0.0), (5, 0.2), (20, 0.8)]])
    assert [at for at, _ in found] == [0, 10]
    assert [share for _, share in found] == pytest.approx([0.1, 0.4])


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        (["suite=quik"], UnknownName, "quick"),
        ([], BadValue, "suite=NAME"),
        (["suite=quick", "seeds=a"], BadValue, "whole numbers"),
        (["suite=quick", "train.setps=3"], MasgymError, "train.steps"),
    ],
)
def test_mistakes_are_told_before_anything_runs(arguments, error, says, tmp_path):
    with pytest.raises(error, match=says):
        main([*arguments, f"out={tmp_path}"], lambda cell, folder: pytest.fail("ran"))
