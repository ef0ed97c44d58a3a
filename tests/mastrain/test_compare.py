"""Suites: every cell composes, what is done is not run again, and the report is what the runs came to."""

import csv
import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from masgym.episodes import EpisodeRecord
from masgym.errors import BadFile, BadValue, MasgymError, UnknownName
from masgym.report import summarise, to_json
from mastrain.__main__ import compose_run
from mastrain.compare import main, run_cell
from mastrain.comparison import mean_curve, read_result
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


def fake(cell, out):
    """A run that got 20 % better for every thousand tokens."""
    folder = out / "cells" / cell.hash
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


CHAIN = """
seeds: [0]
common: [train.eval_tasks=10]
domains:
  plan_path: [env=plan_path]
methods:
  together: [algo=warm, "policies.init_from={tool: <tool alone>, actor: <actor alone>}"]
  swapped: [algo=warm, "policies.init_from={tool: <actor alone>:actor, actor: <actor alone>:tool}"]
  tool alone: [algo=at_grpo_explore, "policies.frozen=[actor]"]
  actor alone: [algo=at_grpo_explore, "policies.frozen=[tool]"]
"""


@pytest.fixture
def suites(tmp_path, monkeypatch):
    """name, text -> a suite of that name."""
    folder = tmp_path / "configs" / "suite"
    folder.mkdir(parents=True)
    monkeypatch.setattr("mastrain.suite.configs_dir", lambda: tmp_path / "configs")

    def make(name, text):
        (folder / f"{name}.yaml").write_text(text)
        return read_suite(name)

    return make


@pytest.fixture
def _small(suites):
    suites("small", SMALL)


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
def test_another_config_is_another_cell():
    suite = with_seeds(read_suite("small"), "0")
    plain, longer = cells(suite), cells(suite, ["train.eval_tasks=7"])
    assert not {cell.hash for cell in plain} & {cell.hash for cell in longer}
    assert [cell.hash for cell in plain] == [cell.hash for cell in cells(suite)]


@pytest.mark.usefixtures("_small")
def test_an_interrupted_cell_goes_on(tmp_path, monkeypatch):
    import mastrain.main

    (cell, *_), seen = cells(read_suite("small")), []
    folder = tmp_path / "cells" / cell.hash
    monkeypatch.setattr(mastrain.main, "main", lambda config, data: seen.append(data) or 0)
    run_cell(cell, tmp_path)
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("")
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
@pytest.mark.parametrize(
    ("argument", "says"),
    [
        ("resume=runs/other", "out=FOLDER says"),  # each cell would go on with that run
        ("run_dir=runs/other", "out=FOLDER says"),
        ("out=", "out= names no folder"),
        ("--jobs", "'--jobs' is no setting"),
    ],
)
def test_where_runs_go_is_said_by_out(argument, says):
    with pytest.raises(BadValue, match=says):
        main(["suite=small", argument], lambda cell, out: pytest.fail("ran"))


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("given", ["True", "yes", "1", ""])
def test_report_only_is_true_or_false(tmp_path, given):
    """A slip does not begin a suite."""
    with pytest.raises(BadValue, match="true or false was expected"):
        main(["suite=small", f"out={tmp_path}", f"report_only={given}"], lambda cell, out: pytest.fail("ran"))


@pytest.mark.usefixtures("_small")
def test_an_interrupt_ends_the_suite_and_it_goes_on(tmp_path):
    def run(cell, out):
        raise KeyboardInterrupt

    assert main(["suite=small", f"out={tmp_path / 'out'}"], run) == 130
    assert main(["suite=small", f"out={tmp_path / 'out'}"], fake) == 0


@pytest.mark.usefixtures("_small")
def test_two_at_once_in_one_folder_are_refused_but_for_the_report(tmp_path):
    out = tmp_path / "out"
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
def test_a_report_of_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(BadFile, match=r"nothing of suite=small was run there"):
        main(["suite=small", f"out={tmp_path / 'none'}", "report_only=true"], fake)
    assert not (tmp_path / "none").exists()


@pytest.mark.usefixtures("_small")
def test_what_only_the_algorithm_knows_is_told_before_the_first_cell(tmp_path):
    with pytest.raises(BadValue, match=r"algo\.loss is dapo; srpo"):
        main(["suite=small", f"out={tmp_path}", "algo.name=srpo", "algo.loss=dapo", "algo.entropy_target=0"], fake)
    assert not (tmp_path / "cells").exists()


@pytest.mark.usefixtures("_small")
def test_a_damaged_report_is_told_with_its_cell(tmp_path):
    assert main(["suite=small", f"out={tmp_path}"], fake) == 0
    cell = cells(read_suite("small"))[0]
    (tmp_path / "cells" / cell.hash / "after.json").write_text("{")
    with pytest.raises(BadFile, match=f"{cell.hash} holds no reports"):
        main(["suite=small", f"out={tmp_path}", "report_only=true"], fake)


@pytest.mark.usefixtures("_small")
def test_a_damaged_cell_does_not_keep_the_others_from_being_run(tmp_path, capsys):
    damaged, *others = cells(read_suite("small"))
    (tmp_path / "cells" / damaged.hash).mkdir(parents=True)
    (tmp_path / "cells" / damaged.hash / "after.json").write_text("{")
    with pytest.raises(BadFile, match=f"{damaged.hash} holds no reports"):
        main(["suite=small", f"out={tmp_path}"], fake)
    assert all((tmp_path / "cells" / cell.hash / "after.json").exists() for cell in others)
    assert "holds no reports" in capsys.readouterr().err


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


@pytest.mark.parametrize(
    ("methods", "error", "says"),
    [
        ("a: [algo=warm, 'policies.init_from={tool: <b>}']", UnknownName, "method in <...> of 'a' 'b'"),
        (
            "a: [algo=warm, 'policies.init_from={tool: <b>}']\n  b: [algo=warm, 'policies.init_from={tool: <a>}']",
            BadValue,
            "a begins from b begins from a",
        ),
        ("a: [nowhere]", UnknownName, "Known: team_grpo, warm"),
    ],
)
def test_what_a_method_names_must_be_there(suites, tmp_path, methods, error, says):
    (tmp_path / "configs" / "suite" / "shared").mkdir()
    (tmp_path / "configs" / "suite" / "shared" / "methods.yaml").write_text(
        "warm: [algo=warm]\nteam_grpo: [algo=team_grpo]"
    )
    text = f"seeds: [0]\ncommon: []\ndomains:\n  plan_path: [env=plan_path]\nmethods:\n  {methods}\n"
    with pytest.raises(error, match=re.escape(says)):
        cells(suites("wrong", text))


def test_a_file_that_is_no_suite(suites):
    with pytest.raises(BadFile, match=r"wrong\.yaml is no suite"):
        suites("wrong", "seeds: [0]\nmethods: {}")


FREE = {  # what is the method, so that it may differ between rows; the rest of an algo is equal
    *("name", "branches", "greedy_fraction", "credit", "advice_credit", "turns", "normalise"),
    *("set_power", "length_power", "reduction"),
}


@pytest.mark.parametrize("name", ["quick", "games", "reasoning"])
def test_rows_of_a_domain_differ_by_method_only(name):
    suite = with_seeds(read_suite(name), "0")
    for domain in suite.domains:
        seen = {
            cell.method: {
                "algo": {k: v for k, v in cell.config["algo"].items() if k not in FREE},
                **{k: cell.config[k] for k in ("env", "train", "budget", "model")},
            }
            for cell in cells(replace(suite, domains={domain: suite.domains[domain]}))
        }
        assert len(seen) == len(suite.methods)
        for method, found in seen.items():
            assert found == seen["warm"], (domain, method)


@pytest.mark.parametrize("domain", ["plan_path", "sokoban"])
def test_at_grpo_of_the_suites_is_the_tuned_one(domain):
    """But for how deep its trees are, which all methods with trees share."""
    suite = with_seeds(read_suite("games"), "0")
    methods = {"at_grpo per role": suite.methods["at_grpo per role"]}
    (cell,) = cells(replace(suite, domains={domain: suite.domains[domain]}, methods=methods))
    tuned = compose_run([f"env={domain}"])
    assert cell.config["algo"] | {"turns": 0} == tuned["algo"] | {"turns": 0}
    assert cell.config["env"] == tuned["env"]
    assert cell.config["train"]["tasks"] == tuned["train"]["tasks"]


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


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        (["suite=quik"], UnknownName, "quick"),
        ([], BadValue, "suite=NAME"),
        (["suite=quick", "seeds=a"], BadValue, "whole numbers"),
        (["suite=quick", "jobs=0"], BadValue, "whole number from 1 to 1024"),
        (["suite=quick", "cell=abc"], UnknownName, "unknown cell 'abc'. Known: .*(plan_path, warm, seed 0)"),
        (["suite=quick", "train.setps=3"], MasgymError, "train.steps"),
    ],
)
def test_mistakes_are_told_before_anything_runs(arguments, error, says, tmp_path):
    with pytest.raises(error, match=says):
        main([*arguments, f"out={tmp_path}"], lambda cell, out: pytest.fail("ran"))
