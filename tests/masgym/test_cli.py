"""The command `masgym`."""

import subprocess
import sys

import pytest
from importer_rows import write

import masgym
from masgym.cli import main
from masgym.importers import SETS

ROWS = [{"problem": "What is 1+1?", "answer": 2}, {"problem": "What is 1+1?", "answer": 2}]


def test_import(tmp_path, capsys):
    out = tmp_path / "aime.jsonl"
    assert main(["import", "aime24", write(tmp_path / "rows.jsonl", ROWS), "--out", str(out)]) == 0
    told = f'1 tasks (test 1): masgym.make("math", tasks="{out}")\nleft out 1: it is there already\n'
    assert capsys.readouterr().out == told
    assert masgym.game("math", tasks=out).domain.tasks.size("test") == 1


def test_options(tmp_path):
    source = write(tmp_path / "rows.jsonl", [*ROWS, {"problem": "What is 2+1?", "answer": 3}])
    out = tmp_path / "aime.jsonl"
    assert main(["import", "aime24", source, "--out", str(out), "--split", "train", "--limit", "1"]) == 0
    assert masgym.game("math", tasks=out).domain.tasks.size("train") == 1


def test_errors_are_one_line(tmp_path, capsys):
    assert main(["import", "aime24", str(tmp_path / "none.jsonl"), "--out", str(tmp_path / "out.jsonl")]) == 2
    told = capsys.readouterr().err
    assert told.startswith("masgym: ")
    assert told.count("\n") == 1
    assert main(["import", "aime", "rows.jsonl", "--out", "out.jsonl"]) == 2
    assert "unknown data set 'aime'" in capsys.readouterr().err
    assert main(["import", "aime24", write(tmp_path / "r.jsonl", ROWS), "--out", "o.jsonl", "--hub-split", "test"]) == 2
    assert "is a file" in capsys.readouterr().err
    for words in ([], ["import"], ["export"], ["import", "aime24", "x", "--out", "y", "--limit", "some"]):
        with pytest.raises(SystemExit, match="2"):
            main(words)


def test_the_module_and_what_its_help_tells():
    done = subprocess.run([sys.executable, "-m", "masgym", "import", "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    assert all(name in "".join(done.stdout.split()) for name in SETS)
