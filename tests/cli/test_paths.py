"""Paths as users give them: what is theirs is not overwritten, one folder under two names is one, an odd name is shown
as text."""

import json
import os

import pytest
from commands import as_json, run

EVAL = ("eval", "sokoban", "--agent", "random", "--tasks", "2", "--turns", "1")
SUITE = ("eval", "--suite", "v1", "--agent", "random", "--only", "sokoban-easy-solo")


@pytest.fixture
def here(tmp_path, monkeypatch, capsys):
    """The working folder, with a run in `run`."""
    monkeypatch.chdir(tmp_path)
    as_json(capsys, *EVAL, "--out", "run")
    return tmp_path


def told(capsys, *words):
    status, out, err = run(capsys, *words)
    assert (status, out, err.count("\n")) == (2, "", 1), (status, out, err)
    return err


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", ["report.md", "report.csv", "report.json", "episodes.jsonl"])
@pytest.mark.parametrize("more", [[], ["--resume"]])
def test_a_run_takes_no_folder_with_a_file_of_that_name(here, capsys, name, more):
    (here / name).write_text("mine")
    assert f"holds {name} without run.json" in told(capsys, *EVAL, "--out", ".", *more)
    assert (here / name).read_text() == "mine"


@pytest.mark.parametrize("name", ["report.md", "report.csv", "submission.json"])
def test_nor_does_a_suite(here, capsys, name):
    (here / name).write_text("mine")
    assert f"holds {name} without cells" in told(capsys, *SUITE, "--out", ".")
    assert (here / name).read_text() == "mine"


def test_a_run_and_a_suite_have_folders_of_their_own(here, capsys):
    before = contents(here / "run")
    assert "holds run.json without cells" in told(capsys, *SUITE, "--out", "run")
    assert contents(here / "run") == before
    as_json(capsys, *SUITE, "--out", "suite")
    assert "without run.json" in told(capsys, *EVAL, "--out", "suite")
    (here / "suite" / "submission.json").unlink()  # as if it had been killed
    as_json(capsys, *SUITE, "--out", "suite", "--resume")
    assert (here / "suite" / "submission.json").exists()


@pytest.mark.parametrize("again", ["./run", "run/", "../{}/run", "link", "run/../run"])
def test_a_run_under_another_name_is_the_same_one(here, capsys, again):
    (here / "link").symlink_to("run")
    assert "two different runs" in told(capsys, "compare", "run", again.format(here.name))


@pytest.mark.parametrize("words", [("compare", "run", ""), ("view", ""), ("view", "run", "--out", ""), ("verify", "")])
@pytest.mark.parametrize("json_too", [False, True])
def test_an_empty_name_is_no_working_folder(here, capsys, words, json_too):
    more = ["--json"] if json_too and words[0] != "view" else []
    assert "it is empty (an unset variable?)" in told(capsys, *words, *more)


@pytest.mark.parametrize(
    "words", [("audit", ""), ("import", "aime24", "", "--out", "x.jsonl"), (*EVAL, "--task-file", "")]
)
def test_nor_is_that_of_a_file(here, capsys, words):
    assert "it is empty (an unset variable?)" in told(capsys, *words)


def test_the_root_is_the_root(here, capsys):
    assert "/ is no folder of a run" in told(capsys, "compare", "/", "run")


@pytest.mark.parametrize("name", ["episodes.jsonl", "run.json", "report.json", "report.md", ".lock"])
def test_a_page_does_not_take_the_place_of_a_file_of_the_run(here, capsys, name):
    before = contents(here / "run")
    (here / "link").symlink_to(f"run/{name}")
    for out in (f"run/{name}", "link"):
        assert "a file of the run" in told(capsys, "view", "run", "--out", out)
    assert contents(here / "run") == before
    assert run(capsys, "view", "run")[0] == run(capsys, "view", "run")[0] == 0


def test_a_run_folder_of_others_does_not_choose_what_is_replaced(here, capsys):
    (here / "mine").write_text("mine")
    (here / "run" / "view.html").symlink_to("../mine")
    assert "is a link" in told(capsys, "view", "run")
    assert (here / "mine").read_text() == "mine"
    assert run(capsys, "view", "run", "--out", "page.html")[0] == 0


def test_rows_are_not_replaced_by_their_tasks(here, capsys):
    rows = json.dumps({"problem": "What is 1+1?", "answer": 2}) + "\n"
    (here / "rows.jsonl").write_text(rows)
    (here / "link.jsonl").symlink_to("rows.jsonl")
    for out in ("rows.jsonl", "link.jsonl", "./rows.jsonl"):
        assert "would be replaced" in told(capsys, "import", "polaris", "rows.jsonl", "--out", out)
    assert (here / "rows.jsonl").read_text() == rows


def test_an_odd_name_moves_no_cursor(here, capsys):
    odd = "a\x1b[2J\u202eb\nc"
    os.rename("run", odd)
    for words in (
        (*EVAL, "--out", odd, "--resume"),
        ("view", odd),
        ("verify", f"{odd}/report.json"),
        ("compare", odd, odd),
        ("view", f"{odd}x"),
    ):
        _, out, err = run(capsys, *words)
        assert "\x1b" not in out + err
        assert "\u202e" not in out + err
