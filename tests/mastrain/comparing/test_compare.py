"""`python -m mastrain.compare`: what is done is not run again, and the report is what the runs came to."""

import csv
import io
import json
import subprocess
import sys
from xml.etree import ElementTree

import pytest
import yaml
from small_suites import SMALL, fake, report

from masgym.errors import BadFile, BadValue
from masgym.report import from_json
from mastrain import compare
from mastrain.compare import main, run_cell
from mastrain.comparison import Row, mean_curve
from mastrain.finished import Result, read_result
from mastrain.suite import cells, read_suite


@pytest.mark.usefixtures("_small")
def test_a_suite_is_run_in_pieces_and_reported(tmp_path):
    out = tmp_path / "out"
    arguments, ran = ["suite=small", f"out={out}"], []

    def one_by_one(most):
        def run(cell, out):
            if len(ran) == most:
                return 130
            ran.append(cell)
            return fake(cell, out)

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
def test_an_interrupted_cell_goes_on(tmp_path, monkeypatch):
    import mastrain.main

    (cell, *_), seen = cells(read_suite("small")), []
    folder = tmp_path / "cells" / cell.hash
    monkeypatch.setattr(mastrain.main, "main", lambda config, data: seen.append(data) or 0)
    run_cell(cell, tmp_path)
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(cell.data(tmp_path)))
    run_cell(cell, tmp_path)
    assert [data["resume"] for data in seen] == [None, str(folder)]
    assert seen[0]["run_dir"] == str(folder)
    assert seen[0]["algo"] == cell.config["algo"]


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("error", [BadFile("the disk is full"), RuntimeError("a bug"), MemoryError()])
def test_a_cell_that_fails_does_not_lose_the_others(tmp_path, capsys, error):
    out, ran = tmp_path / "out", []

    def run(cell, out):
        ran.append(cell)
        if len(ran) == 2:
            raise error
        return fake(cell, out)

    assert main(["suite=small", f"out={out}"], run) == 1
    assert len(ran) == 4
    assert "3 of 4 runs done" in (out / "table.md").read_text()
    assert f"failed: {ran[1].label}" in capsys.readouterr().err
    assert main(["suite=small", f"out={out}"], run) == 0
    assert ran[4:] == [ran[1]]


@pytest.mark.usefixtures("_small")
def test_cells_side_by_side_come_to_the_same_report(tmp_path):
    for jobs in (1, 3):
        assert main(["suite=small", f"out={tmp_path / str(jobs)}", f"jobs={jobs}"], fake) == 0
    assert (tmp_path / "1" / "table.csv").read_text() == (tmp_path / "3" / "table.csv").read_text()


@pytest.mark.usefixtures("_small")
def test_one_cell_alone_is_run_by_its_hash(tmp_path):
    ran, (_, second, *_) = [], cells(read_suite("small"))
    run = lambda cell, out: ran.append((cell.label, out)) or 130  # noqa: E731
    assert main(["suite=small", f"out={tmp_path}", f"cell={second.hash}"], run) == 130
    assert ran == [(second.label, tmp_path)]


TWINS = SMALL.replace("  warm:", "  twin: [algo=warm]\n  warm:")


@pytest.mark.parametrize("jobs", [1, 4])
def test_rows_of_one_config_are_one_run(suites, tmp_path, jobs):
    made, ran = cells(suites("twins", TWINS)), []
    assert len({cell.hash for cell in made}) == 4 < len(made)
    run = lambda cell, out: ran.append(cell.hash) or fake(cell, out)  # noqa: E731
    assert main(["suite=twins", f"out={tmp_path}", f"jobs={jobs}"], run) == 0
    assert sorted(ran) == sorted({cell.hash for cell in made})
    twin, warm, _ = csv.DictReader((tmp_path / "table.csv").open())
    assert twin | {"method": ""} == warm | {"method": ""}


@pytest.mark.usefixtures("_small")
def test_an_interrupt_ends_the_suite_and_it_goes_on(tmp_path):
    def run(cell, out):
        raise KeyboardInterrupt

    assert main(["suite=small", f"out={tmp_path / 'out'}"], run) == 130
    assert main(["suite=small", f"out={tmp_path / 'out'}"], fake) == 0


@pytest.mark.parametrize("end", [KeyboardInterrupt, 130])
def test_after_an_interrupt_it_is_said_how_to_go_on(monkeypatch, capsys, end):
    """With several jobs main raises it, with one it returns."""

    def interrupted(arguments):
        if end == 130:
            return 130
        raise end

    monkeypatch.setattr(sys, "argv", ["compare", "suite=small", "out=a b", "jobs=2"])
    monkeypatch.setattr(compare, "main", interrupted)
    with pytest.raises(SystemExit) as ended:
        compare.cli()
    assert ended.value.code == 130
    assert capsys.readouterr().out.endswith("go on with: python -m mastrain.compare suite=small 'out=a b' jobs=2\n")


@pytest.mark.usefixtures("_small")
def test_two_at_once_in_one_folder_are_refused_but_for_the_report(tmp_path):
    out = tmp_path / "out"
    fake(cells(read_suite("small"))[0], out)
    program = (
        "from pathlib import Path\nfrom masgym.files import locked\n"
        f"with locked(Path({str(out)!r})):\n    print(1, flush=True)\n    input()"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=-1, stdout=-1, text=True) as other:
        assert other.stdout.readline() == "1\n"
        with pytest.raises(BadValue, match="in use by another process"):
            main(["suite=small", f"out={out}"], fake)
        assert main(["suite=small", f"out={out}", "report_only=true"], fake) == 0
        other.communicate("\n")
    assert main(["suite=small", f"out={out}"], fake) == 0


@pytest.mark.usefixtures("_small")
def test_a_curve_ends_where_the_run_does(tmp_path):
    warm, srpo, *_ = cells(read_suite("small"))
    for cell in (warm, srpo):
        fake(cell, tmp_path)
    (tmp_path / "cells" / warm.hash / "after.json").write_text(json.dumps({"sampled": report(0.8)}))  # best of k
    assert read_result(warm, tmp_path / "cells" / warm.hash).curve == [(0.0, 0.8)]
    assert read_result(srpo, tmp_path / "cells" / srpo.hash).curve == [(0.0, 0.2), (1000, 0.4), (2000, 0.6)]


def test_mean_curves_are_read_between_points():
    found = mean_curve([[(0, 0.2), (10, 0.4)], [(0, 0.0), (5, 0.2), (20, 0.8)]])
    assert [at for at, _ in found] == [0, 10]
    assert [share for _, share in found] == pytest.approx([0.1, 0.4])


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("share", [0, 1])
def test_seeds_that_all_fail_or_solve_all_have_the_interval_of_their_tasks(share):
    """One is the run's own; more seeds make it smaller, as more tasks do."""
    cell, *_ = cells(read_suite("small"))

    def row(seeds, tasks):
        sampled = from_json(report(share, tasks))
        result = Result(cell=cell, sampled=sampled, greedy=None, tokens=0, curve=())
        return Row(domain="plan_path", method="warm", results=(result,) * seeds).success, sampled.success

    (one, own), (more, _), (large, _) = row(1, 10), row(3, 10), row(1, 100)
    assert (one.mean, one.low, one.high) == pytest.approx((own.mean, own.low, own.high))
    assert more.high - more.low < one.high - one.low
    assert large.high - large.low < 0.05
