"""Whole processes: two that want one folder, an agent that hangs, Ctrl-C, --resume."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from masgym.cli import main

TEAM = """
import os, time
from pathlib import Path

class Team:
    def act(self, observation):
        if Path("hang").exists() and len(list(Path.cwd().glob("run/episodes.jsonl"))):
            Path("hanging").touch()
            time.sleep(1000)
        return "U"

class Waits:
    def act(self, observation):
        Path("waiting").touch()
        while not Path("go").exists():
            time.sleep(0.02)
        return "U"
"""
TELLING = """
import sys
from pathlib import Path
import {0} as module
from masgym.cli import main

real = module.{1}

def telling(*given):
    Path("there").touch()
    return real(*given)

module.{1} = telling
sys.exit(main())
"""
EVAL = ["eval", "sokoban", "--workflow", "solo", "--turns", "2", "--tasks", "6", "--workers", "1", "--json"]


@pytest.fixture
def start(tmp_path):
    """Words -> the process of that command. Those that are left are killed."""
    (tmp_path / "team.py").write_text(TEAM)
    started = []

    def heeds_ctrl_c():  # a background shell starts its commands with SIGINT ignored, and the tests with them
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def go(*words, python=("-m", "masgym")):
        given = {"stdout": -1, "stderr": -1, "text": True, "cwd": tmp_path, "preexec_fn": heeds_ctrl_c}
        process = subprocess.Popen([sys.executable, *python, *words], **given)
        started.append(process)
        return process

    yield go
    for process in started:
        process.kill()
        process.communicate()


def until(path, process):
    while not path.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


def ended(process):
    """(status, standard output, standard error)"""
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_a_folder_is_of_one_process_at_a_time(start, tmp_path):
    words = [*EVAL, "--agent", "python:team:Waits", "--out", "run"]
    first = start(*words)
    until(tmp_path / "waiting", first)
    for second in [start(*words, *more) for more in ([], ["--resume"])]:
        status, out, err = ended(second)
        assert (status, out) == (2, "")
        assert err == "masgym: the folder run is in use by another process; wait for its end, or choose another one.\n"
    (tmp_path / "go").touch()
    status, out, _ = ended(first)
    assert (status, json.loads(out)["episodes"]) == (0, 6)


def test_a_run_whose_agent_hangs_can_be_stopped_and_resumed(start, tmp_path):
    """A thread that hangs does not hold up Ctrl-C; resumed, the report is that of a run that was never stopped."""
    words = [*EVAL, "--agent", "python:team:Team"]
    (tmp_path / "hang").touch()
    process = start(*words, "--out", "run")
    until(tmp_path / "hanging", process)
    process.send_signal(signal.SIGINT)
    since = time.monotonic()
    status, out, err = ended(process)
    assert (status, out) == (130, "")
    assert time.monotonic() - since < 20
    assert "Traceback" not in err
    (tmp_path / "hang").unlink()
    again = [start(*words, *more) for more in (["--out", "run", "--resume"], ["--out", "two"])]
    reports = [json.loads(ended(process)[1]) for process in again]
    assert reports[0] | {"latency": 0} == reports[1] | {"latency": 0}


def test_an_agent_that_hangs_is_a_named_outcome(start, tmp_path):
    (tmp_path / "hang").touch()
    words = [*EVAL, "--agent", "python:team:Team", "--out", "run", "--timeout", "0.3"]
    status, out, err = ended(start(*words))
    assert (status, err) == (0, "")
    report = json.loads(out)
    assert (report["episodes"], report["failures"]) == (6, {"timeout": 5})
    assert report["run"]["settings"] == {}


@pytest.mark.parametrize(("tasks", "where"), [(5000, "masgym.evaluate.play"), (2, "masgym.validate._contract")])
def test_ctrl_c_is_heard_though_no_agent_ever_waits(start, tmp_path, tasks, where):
    """Among thousands of episodes at once, and in the checks that follow them."""
    words = ["validate", "sokoban", "--workflow", "solo", "--tasks", str(tasks)]
    process = start(*words, python=["-c", TELLING.format(*where.rsplit(".", 1))])
    until(tmp_path / "there", process)
    process.send_signal(signal.SIGINT)
    since = time.monotonic()
    assert ended(process) == (130, "", "\nmasgym: stopped.\n")
    assert time.monotonic() - since < 10


@pytest.mark.parametrize("words", ["list", "list --json", "show sokoban", "eval sokoban --agent random --tasks 2"])
@pytest.mark.parametrize(("closed", "left"), [(">&-", "stderr"), ("2>&-", "stdout"), ("<&-", "stdout")])
def test_a_stream_may_be_closed(tmp_path, words, closed, left):
    """What is written there is lost; it goes into no file of the run."""
    words = f"{words} --out run" if "eval" in words else words
    command = f'exec "{sys.executable}" -m masgym {words} {closed}'
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0
    assert (done.stdout != "", done.stderr) == (left == "stdout", "")
    if "eval" in words:
        assert json.loads((tmp_path / "run" / "report.json").read_text())["episodes"] == 2


@pytest.mark.parametrize("closed", [">&-", "2>&-", "2>/dev/full"])
def test_an_error_where_a_stream_is_closed(tmp_path, closed):
    command = f'exec "{sys.executable}" -m masgym verify none.json {closed}'
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == (closed == ">&-")


@pytest.mark.parametrize(
    "words", ["list", "list --json", "eval sokoban --agent random --tasks 1", "validate sokoban --tasks 1"]
)
def test_a_reader_that_is_gone_is_no_check_that_failed(tmp_path, words):
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "masgym", *words.split()]
    done = subprocess.run(command, stdout=write, stderr=-1, text=True, cwd=tmp_path)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize(("package", "words"), [("masgym", "list"), ("mastrain", "env=none")])
def test_ctrl_c_while_modules_are_imported(start, tmp_path, package, words):
    """`rich` and `difflib`, as a module that Ctrl-C meets when it is imported by one, and used by the other."""
    (tmp_path / "rich").mkdir()
    (tmp_path / "rich" / "__init__.py").write_text("raise KeyboardInterrupt")
    stopped = (
        "import sys, difflib\ndef stop(*given, **more): raise KeyboardInterrupt\ndifflib.get_close_matches = stop\n"
    )
    module = f"{stopped}import runpy\nsys.path.insert(0, '')\nrunpy.run_module('{package}', run_name='__main__')"
    assert ended(start(words, python=["-c", module])) == (130, "", f"\n{package}: stopped.\n")


STOPS = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nfor _ in range(10**9): pass\n"
SCRIPT = "import sys\nfrom masgym.cli import main\nsys.exit(main())\n"  # as it is installed


@pytest.mark.parametrize("python", [["-m", "masgym"], ["-mmasgym"], ["-E", "-s", "-m", "masgym"], ["masgym"]])
@pytest.mark.parametrize("module", ["gymnasium", "numpy", "rich"])
def test_ctrl_c_while_the_package_itself_is_imported(start, tmp_path, python, module):
    """A module that presses it stands where masgym finds another one."""
    (tmp_path / module).mkdir()
    (tmp_path / module / "__init__.py").write_text(STOPS)
    (tmp_path / "masgym").write_text(SCRIPT)
    assert ended(start("list", python=python)) == (130, "", "\nmasgym: stopped.\n")


@pytest.mark.parametrize("name", ["own.py", "masgym"])
def test_ctrl_c_belongs_to_who_imports_the_package_and_to_who_ignores_it(start, tmp_path, name):
    kept = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n" if name == "masgym" else ""
    told = (
        "import masgym, signal\nprint(signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, signal.default_int_handler))"
    )
    (tmp_path / name).write_text(kept + told)
    assert ended(start("masgym", python=[name])) == (0, "True\n", "")


HOSTILE = """
import asyncio
from masgym.agents.base import Reply

class Untold(Exception):
    def __str__(self):
        raise ValueError

def hostile(kind):
    def no(*given, **more):
        raise RuntimeError
    names = ("__eq__", "__len__", "__iter__", "__add__", "__radd__", "__lt__", "__contains__", "__getattribute__")
    return type("Hostile", (kind,), {**dict.fromkeys((*names, "__str__", "__repr__"), no), "__hash__": None})

def raising(error):
    class Made:
        def act(self, observation):
            raise error
    class MadeAsync:
        async def act(self, observation):
            raise error
    class MadeWith:
        def __init__(self):
            raise error
        act = None
    return Made, MadeAsync, MadeWith

Exit, ExitAsync, ExitInit = raising(GeneratorExit())
Base, BaseAsync, BaseInit = raising(BaseException("no"))
Text, TextAsync, TextInit = raising(Untold())
Stop, StopAsync, _ = raising(KeyboardInterrupt())

class Cancels:
    async def act(self, observation):
        asyncio.current_task().cancel()
        await asyncio.sleep(0)

class CancelsAll:
    async def act(self, observation):
        for task in asyncio.all_tasks():
            task.cancel()
        await asyncio.sleep(0)

class StopsLoop:
    async def act(self, observation):
        asyncio.get_running_loop().stop()
        return "U"

class Part:
    def act(self, observation):
        return Reply(text="U", failure=3)

class OwnText:
    def act(self, observation):
        return hostile(str)("U")

class OwnReply:
    async def act(self, observation):
        return Reply(text=hostile(str)("U"), tokens=hostile(int)(3), failure=hostile(str)(""))
"""


@pytest.mark.parametrize(
    ("name", "says"),
    [
        *((f"Exit{how}", "raised GeneratorExit") for how in ("", "Async", "Init")),
        *((f"Base{how}", "raised BaseException: no") for how in ("", "Async", "Init")),
        *((f"Text{how}", "raised Untold, which cannot be told") for how in ("", "Async", "Init")),
        *((f"Stop{how}", "raised KeyboardInterrupt") for how in ("", "Async")),
        ("Cancels", "Cancels raised CancelledError"),
        ("CancelsAll", "an agent cancelled the evaluation"),
        ("StopsLoop", "an agent stopped the event loop"),
        ("Part", "gave a Reply whose failure is int; str was expected"),
        ("OwnText", ""),
        ("OwnReply", ""),
    ],
)
def test_whatever_an_agent_of_theirs_does_is_one_line(tmp_path, monkeypatch, capsys, name, says):
    (tmp_path / "hostile.py").write_text(HOSTILE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "hostile", raising=False)
    status = main([*EVAL, "--agent", f"python:hostile:{name}", "--out", "run"])
    out, err = capsys.readouterr()
    if says:
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert err.startswith("masgym: ")
        assert says in err
    else:
        assert (status, err, json.loads(out)["episodes"]) == (0, "", 6)


LOUD = """
import os, sys
print("imported")

class Loud:
    def __init__(self):
        print("made")
    def act(self, observation):
        print("asked")
        os.chdir("/")
        return "U"
"""


@pytest.mark.parametrize("words", [EVAL[1:-1], ["--suite", "v1", "--only", "sokoban-easy-solo", "--workers", "1"]])
def test_what_an_agent_prints_is_not_in_the_result_and_where_it_goes_is_its_own_affair(start, tmp_path, words):
    """It leaves the folder that `--out` is relative to."""
    (tmp_path / "loud.py").write_text(LOUD)
    status, out, err = ended(start("eval", *words, "--json", "--agent", "python:loud:Loud", "--out", "run"))
    assert status == 0
    assert json.loads(out)["format"] == 1
    assert {"imported", "made", "asked"} == set(err.split())
    kept = {path.name for path in (tmp_path / "run").iterdir()}
    assert kept >= {"report.md", "report.csv", "submission.json" if "--suite" in words else "report.json"}
    assert len(list((tmp_path / "run").rglob("episodes.jsonl"))) == 1
