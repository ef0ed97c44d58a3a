"""The command eval: its folder, Ctrl-C, what the screen shows meanwhile."""

import asyncio
import dataclasses
import io
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from commands import as_json, run

import masgym
from masgym.agents.human import HumanAgent
from masgym.agents.oracle import OracleAgent
from masgym.cli.progress import Progress
from masgym.evaluate import evaluate


class TestEval:
    def test_a_run_folder_and_its_report(self, capsys, tmp_path):
        words = ["sokoban", "--agent", "tool=oracle", "--agent", "actor_0=random", "--tasks", "4", "--samples", "2"]
        words += ["--temperature", "0.5", "--level", "easy", "--turns", "5", "--out", str(tmp_path / "run")]
        report = as_json(capsys, "eval", *words)
        assert set(report["success"]) == {"mean", "low", "high"}
        assert (report["tasks"], report["episodes"]) == (4, 8)
        assert report["run"]["agents"] == {"tool": "oracle", "actor_0": "random"}
        assert report["run"]["settings"] == {"temperature": 0.5}
        assert report["run"]["game"]["T"] == 5
        assert report == json.loads((tmp_path / "run" / "report.json").read_text())
        status, out, err = run(capsys, "eval", *words)
        assert (status, out) == (2, "")
        assert "resume" in err
        assert as_json(capsys, "eval", *words, "--resume") == report

    def test_the_oracle_solves_and_the_screen_says_so(self, capsys):
        status, out, err = run(capsys, "eval", "sokoban", "--agent", "oracle", "--tasks", "5")
        assert (status, err) == (0, "")
        assert "100.0 [56.6, 100.0] %" in out

    def test_workers_change_nothing(self, capsys):
        one, many = (
            as_json(capsys, "eval", "plan_path", "--agent", "random", "--tasks", "6", "--workers", workers)
            for workers in ("1", "6")
        )
        assert one | {"latency": 0} == many | {"latency": 0}

    def test_what_their_class_raises_is_one_line_and_how_to_go_on(self, capsys, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "failing.py").write_text("class Team:\n    def act(self, observation):\n        return {}[0]\n")
        words = ["eval", "sokoban", "--agent", "python:failing:Team", "--tasks", "2", "--out", "run"]
        status, _, err = run(capsys, *words)
        assert status == 2
        assert err.count("\n") == 1
        assert "KeyError: 0 (failing.py, line 3)" in err
        assert f"masgym {' '.join(words)} --resume" in err


SLOW = """
import time
class Team:
    def act(self, observation):
        time.sleep(0.2)
        return "U"
"""


def heeds_ctrl_c():
    """A background shell starts its commands with SIGINT ignored, and the tests with them."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def command(*words, **given):
    given |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "preexec_fn": heeds_ctrl_c}
    return subprocess.Popen([sys.executable, "-m", "masgym", *words], **given)


def test_ctrl_c_says_how_to_resume_and_resuming_gives_the_whole_report(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    words = ["eval", "sokoban", "--agent", "python:slow:Team", "--tasks", "12", "--turns", "2", "--workers", "1"]
    words += ["--workflow", "solo", "--out", "run"]
    process = command(*words, cwd=tmp_path)
    file = tmp_path / "run" / "episodes.jsonl"
    while not (file.exists() and file.read_text().count("\n") >= 2):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    way = f"masgym {' '.join(words)} --resume"
    assert way in err
    kept = file.read_text().splitlines()
    assert 2 <= len(kept) < 12
    again = command(*way.split()[1:], cwd=tmp_path)
    assert again.wait(120) == 0
    assert file.read_text().splitlines()[: len(kept)] == kept
    assert json.loads((tmp_path / "run" / "report.json").read_text())["episodes"] == 12


def test_a_reader_that_has_seen_enough():
    process = command("list", "--json", env={**os.environ, "PYTHONUNBUFFERED": "1"})
    process.stdout.close()
    assert process.wait(60) == 141
    assert process.stderr.read() == ""


def test_a_terminal_that_knows_ascii_only(tmp_path):
    task = tmp_path / "tasks.jsonl"
    task.write_text(json.dumps({"problem": "Was ist 1 + 1? \u00e9\u4e2d", "answer": "2"}) + "\n")
    process = command("import", "aime24", str(task), "--out", str(tmp_path / "t.jsonl"))
    assert process.wait(60) == 0
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    process = command("show", "math", "--task-file", str(tmp_path / "t.jsonl"), env=environment)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert "Was ist 1 + 1? ??" in out


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("terminal", "agents", "shown"),
    [(Terminal, (), True), (io.StringIO, (), False), (Terminal, (HumanAgent(),), False)],
)
def test_progress_with_the_running_success(monkeypatch, terminal, agents, shown):
    monkeypatch.setattr(sys, "stderr", stream := terminal())
    game = masgym.game("sokoban", "solo")
    records = asyncio.run(evaluate(game, {"*": OracleAgent()}, tasks=3))
    with Progress(agents) as progress:
        progress.start(records[:1], 3)
        progress.episode(dataclasses.replace(records[1], success=False, ended="timeout"))
        progress.episode(records[2])
        assert progress.text == "2 of 3 solved, 66.7 %, 1 cut short"
    assert ("2 of 3 solved" in stream.getvalue()) == shown
