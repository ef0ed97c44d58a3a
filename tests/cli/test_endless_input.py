"""Devices, pipes and huge folders where a file was expected: one line at once, never a command without an end."""

import json
import os
import subprocess
import sys

import pytest

from masgym.cli import main
from masgym.paths import MOST_FILES, few_files, regular

EVAL = ["eval", "sokoban", "--agent", "random", "--turns", "2", "--tasks", "2", "--json", "--out", "run"]


def told(words, folder):
    """Standard error of a command that must fail in time."""
    done = subprocess.run(
        [sys.executable, "-m", "masgym", *words], capture_output=True, text=True, cwd=folder, timeout=60
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.mark.parametrize("source", ["/dev/zero", "pipe"])
@pytest.mark.parametrize(
    "words",
    [
        "verify {}",
        "show sokoban --task-file {}",
        "show math --task-file {}",
        "show code --task-file {}",
        "show search --task-file {}",
        "eval sokoban --agent scripted:{}",
        "audit {}",
        "import math500 {} --out out.jsonl",
        "import boxoban {} --out out.jsonl",
    ],
)
def test_what_may_have_no_end_is_not_read(tmp_path, words, source):
    os.mkfifo(tmp_path / "pipe.jsonl")
    if "math500" in words and source == "/dev/zero":
        (tmp_path / "zero.jsonl").symlink_to("/dev/zero")
        source = "zero.jsonl"
    source = "pipe.jsonl" if source == "pipe" else source
    assert "no regular file" in told(words.format(source).split(), tmp_path)


@pytest.mark.parametrize("name", ["run.json", "episodes.jsonl", ".lock"])
def test_a_pipe_in_a_run_folder(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    assert main(EVAL) == 0
    (tmp_path / "run" / name).unlink()
    os.mkfifo(tmp_path / "run" / name)
    assert "no regular file" in told([*EVAL, "--resume"], tmp_path)
    if name != ".lock":
        assert "no regular file" in told(["compare", "run", "other"], tmp_path) or name == "episodes.jsonl"
    if name == "episodes.jsonl":
        assert "no regular file" in told(["view", "run"], tmp_path)


@pytest.mark.parametrize("name", ["math500", "boxoban"])
def test_a_folder_of_everything_is_no_data_set(tmp_path, monkeypatch, capsys, name):
    monkeypatch.setattr("masgym.paths.MOST_FILES", 20)
    for number in range(21):
        (tmp_path / f"{number}.txt").touch()
    assert main(["import", name, str(tmp_path), "--out", str(tmp_path / "out.jsonl")]) == 2
    assert "it holds more than 20 files; name the file" in capsys.readouterr().err
    assert MOST_FILES > 1000


def test_a_file_that_is_too_large_for_memory_is_told(tmp_path):
    path = tmp_path / "file"
    path.write_text("12345")
    assert (regular(path), few_files(tmp_path)) == (path, tmp_path)
    with pytest.raises(OSError, match="it has 5 bytes; at most 4 are read"):
        regular(path, 4)


def test_a_run_that_is_not_there_is_told_as_such(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["compare", "none"]) == 2
    assert "none is no folder of a run" in capsys.readouterr().err
    assert main(EVAL) == 0
    capsys.readouterr()
    for words, says in ((["run"], "two different runs"), (["run", "run/"], "two different"), (["run", "x"], "x is no")):
        assert main(["compare", *words]) == 2
        assert says in capsys.readouterr().err


def test_a_damaged_file_is_left_as_it_was(tmp_path, monkeypatch, capsys):
    """Its torn last line too; where all else holds that is cut off."""
    monkeypatch.chdir(tmp_path)
    assert main(EVAL) == 0
    path = tmp_path / "run" / "episodes.jsonl"
    whole, other = path.read_bytes().splitlines(keepends=True)
    bad = json.dumps(json.loads(whole) | {"turns": -1}).encode() + b"\n"
    path.write_bytes(bad + other[:-9])
    assert main([*EVAL, "--resume"]) == 2
    assert path.read_bytes() == bad + other[:-9]
    path.write_bytes(whole + other[:-9])
    assert main([*EVAL, "--resume"]) == 0
    assert len(path.read_bytes().splitlines()) == 2
