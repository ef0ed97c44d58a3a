"""`python -m mastrain.compare`: mistakes are told before anything runs."""

import re

import pytest
from small_suites import fake

from masgym.errors import BadFile, BadValue, MasgymError, UnknownName
from mastrain.compare import main
from mastrain.suite import cells


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
@pytest.mark.parametrize("there", [True, False])
def test_a_report_of_a_folder_in_which_nothing_is_done_is_refused(tmp_path, there):
    out = tmp_path / "out"
    if there:
        out.mkdir()
    with pytest.raises(BadFile, match=r"nothing of suite=small, as it is said here, is done in"):
        main(["suite=small", f"out={out}", "report_only=true"], fake)
    assert out.exists() == there
    assert not there or not list(out.iterdir())


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("table.md", "# My results\n", "begins with '# My results' instead of '# suite=small'"),
        ("table.md", "# suite=smaller\n", "is not of suite=small"),
        ("table.md", "", "begins with ''"),
        ("table.csv", "mine\n", r"holds table\.csv without table\.md"),
        ("plan_path.svg", "<svg/>", r"holds plan_path\.svg without table\.md"),
    ],
)
@pytest.mark.parametrize("more", [[], ["report_only=true"]])
def test_tables_that_are_not_the_suites_are_kept(tmp_path, name, text, says, more):
    (out := tmp_path / "out").mkdir()
    (out / name).write_text(text)
    with pytest.raises((BadFile, BadValue), match=says):
        main(["suite=small", f"out={out}", *more], lambda cell, out: pytest.fail("ran"))
    assert [(path.name, path.read_text()) for path in out.iterdir()] == [(name, text)]


@pytest.mark.usefixtures("_small")
def test_what_only_the_algorithm_knows_is_told_before_the_first_cell(tmp_path):
    with pytest.raises(BadValue, match=r"algo\.loss is dapo; srpo"):
        main(["suite=small", f"out={tmp_path}", "algo.name=srpo", "algo.loss=dapo", "algo.entropy_target=0"], fake)
    assert not (tmp_path / "cells").exists()


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
