"""The math-verify tool: right judgements, and processes that can be lost without losing an answer."""

import multiprocessing
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from masgym.errors import BadValue
from masgym.tools import math_verify as module
from masgym.tools import workers as pool
from masgym.tools.driver import default_driver
from masgym.tools.math_verify import MathVerify
from masgym.types import ToolCall, ToolResult

RIGHT, WRONG = ToolResult(outcome="ok", value=True), ToolResult(outcome="ok", value=False)
TIMEOUT = ToolResult(outcome="timeout", value=None)
ENDLESS = "9^{9^{9^9}}"


def ask(tool, expected, answer):
    return tool({"expected": expected, "answer": answer})


@pytest.fixture(scope="module")
def tool():
    made = MathVerify(workers=1, cpu=1.0)
    yield made
    made.close()


@pytest.fixture
def started(monkeypatch):
    """The processes started while a test runs."""
    made = []
    popen = pool.subprocess.Popen
    monkeypatch.setattr(pool.subprocess, "Popen", lambda *a, **k: made.append(popen(*a, **k)) or made[-1])
    return made


@pytest.mark.parametrize(
    ("expected", "answer", "result"),
    [
        (r"2\sqrt{3}", r"\sqrt{12}", RIGHT),
        (r"2\sqrt{3}", r"\frac{6}{\sqrt{3}}", RIGHT),
        (r"36\pi", r"\pi \cdot 36", RIGHT),
        ("1/3", "0.333333", RIGHT),
        ("x^2+1", "1+x^2", RIGHT),
        (r"\{1,2\}", r"\{2,1\}", RIGHT),
        ("(1,2)", "(1,2)", RIGHT),
        ("7", r"7\text{ cm}", RIGHT),
        (r"2\sqrt{3}", r"\sqrt{11}", WRONG),
        ("1/3", "0.33", WRONG),
        ("(1,2)", "(2,1)", WRONG),
        ("7", r"\{6,7,8\}", WRONG),
        ("7", r"[0,9]", WRONG),
        ("7", r"x \in [0,9]", WRONG),
        ("7", r"7 \text{ or } 8", WRONG),
        ("7", r"\infty", WRONG),
        ("7", r"\frac{0}{0}", WRONG),
        ("7", "...", WRONG),
        ("7", r"\frac{", WRONG),
        ("7", "}{", WRONG),
        ("7", r"\text{final answer is } 8 $7$ I hope", WRONG),
        (r"\text{Evelyn}", r"\text{Evelyn}", RIGHT),
        (r"\text{Evelyn}", r"\text{Bob}", WRONG),
        (r"\text{(A)}", r"\text{(B)}", WRONG),
        (r"\text{even}", r"\text{odd}", WRONG),
        ("7", "__import__('os').system('true') or 7", WRONG),
    ],
)
def test_judgements(tool, expected, answer, result):
    assert ask(tool, expected, answer) == result


@pytest.mark.parametrize("answer", [ENDLESS, r"\sum_{i=1}^{10^9} \sin(i)", "{" * 2000 + "7" + "}" * 2000])
def test_what_hangs_is_killed_and_the_next_is_judged(tool, answer):
    assert ask(tool, "7", answer) == TIMEOUT
    assert ask(tool, "7", "7") == RIGHT


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_is_limited(started):
    small = MathVerify(workers=1, memory=300 << 20)
    assert ask(small, "7", "2^{10^{10}}") == WRONG  # 1.2 GB, if it were to be had
    limits = Path(f"/proc/{started[0].pid}/limits").read_text()
    assert f"{300 << 20}" in next(line for line in limits.splitlines() if line.startswith("Max address space"))
    assert ask(small, "7", "7") == RIGHT
    small.close()


def test_one_process_is_reused_and_started_only_when_needed(started):
    tool = MathVerify(workers=2)
    assert started == []
    assert [ask(tool, "7", str(n)).value for n in (6, 7, 8)] == [False, True, False]
    assert len(started) == 1
    tool.close()
    assert started[0].poll() is not None


def test_from_many_threads(started):
    tool = MathVerify(workers=2, cpu=1.0)

    def one(n):
        return ask(tool, "7", ENDLESS if n == 5 else str(n % 10))

    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(one, range(40)))
    assert results == [TIMEOUT if n == 5 else RIGHT if n % 10 == 7 else WRONG for n in range(40)]
    assert len(started) <= 3
    tool.close()


def test_a_process_that_others_killed_is_replaced(started):
    tool = MathVerify(workers=1)
    assert ask(tool, "7", "7") == RIGHT
    os.kill(started[0].pid, signal.SIGKILL)
    started[0].wait()
    assert ask(tool, "7", "7") == RIGHT
    assert len(started) == 2
    tool.close()


def test_a_stuck_process_is_stopped_by_the_clock(started):
    tool = MathVerify(workers=1, wall=2.0)
    assert ask(tool, "7", "7") == RIGHT
    os.kill(started[0].pid, signal.SIGSTOP)
    assert ask(tool, "7", "7") == TIMEOUT
    assert ask(tool, "7", "7") == RIGHT
    tool.close()


def test_an_interrupted_question_leaves_no_answer_behind(tool, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(pool.json, "loads", interrupt)
        with pytest.raises(KeyboardInterrupt):
            ask(tool, "7", "7")
    assert ask(tool, "7", "8") == WRONG


def _in_fork(tool, channel):
    channel.put(ask(tool, "7", "7"))


def test_a_fork_starts_its_own_process(tool):
    assert ask(tool, "7", "7") == RIGHT
    context = multiprocessing.get_context("fork")
    channel = context.Queue()
    child = context.Process(target=_in_fork, args=(tool, channel))
    child.start()
    assert channel.get(timeout=60) == RIGHT
    child.join()
    assert ask(tool, "7", "8") == WRONG


def test_a_missing_library_is_named(monkeypatch, tmp_path):
    broken = tmp_path / "worker.py"
    broken.write_text("import no_such_library\n")
    monkeypatch.setattr(module, "_WORKER", broken)
    tool = MathVerify(workers=1)
    for _ in range(2):  # the place in the pool is given back
        with pytest.raises(BadValue, match=r"No module named 'no_such_library'.*math-verify installed"):
            ask(tool, "7", "7")


def test_a_process_that_is_killed_as_it_starts_is_told_as_such(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import os, signal\ndef prepare():\n    os.kill(os.getpid(), signal.SIGKILL)\n")
    made = pool.Workers(script, "Is there memory?", workers=1, cpu=0.2, wall=30.0, memory=1 << 30)
    with pytest.raises(BadValue, match=r"did not start: it ended with code -9. Is there memory\?"):
        made.ask("x")


def test_half_a_line_of_a_process_that_ended_is_no_answer(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import os\ndef prepare():\n    pass\ndef answered(asked):\n    for fd in range(1, 9):\n"
        "        try:\n            os.write(fd, b'{\"outcome')\n        except OSError:\n            pass\n"
        "    os._exit(3)\n"
    )
    made = pool.Workers(script, "?", workers=1, cpu=0.2, wall=30.0, memory=1 << 30)
    assert [made.ask("x").outcome for _ in range(2)] == ["error", "error"]


def test_any_script_can_be_a_worker(tmp_path):
    """What it prints or raises is no answer; what ends it costs one question."""
    script = tmp_path / "script.py"
    script.write_text(
        "import os\nprint('{}')\nready = []\n"
        "def prepare():\n    print('{}')\n    ready.append(1)\n"
        "def answered(asked):\n    print('{}')\n"
        "    if asked == 'exit':\n        os._exit(3)\n"
        "    while asked == 'spin':\n        pass\n"
        "    return int(asked) if asked == 'raise' else [asked, ready]\n"
    )
    made = pool.Workers(script, "?", workers=1, cpu=0.2, wall=30.0, memory=1 << 30)
    outcomes = [made.ask(asked).outcome for asked in ("x", "raise", "x", "exit", "x", "spin", "x")]
    assert outcomes == ["ok", "error", "ok", "error", "ok", "timeout", "ok"]
    assert made.ask({"a": None}).value == [{"a": None}, [1]]
    made.close()


@pytest.mark.parametrize("arguments", [{}, {"expected": "7"}, {"expected": "7", "answer": 7}])
def test_wrong_arguments(tool, arguments):
    with pytest.raises(BadValue, match="two texts"):
        tool(arguments)


def test_the_driver_has_it():
    call = ToolCall(tool="math_verify", arguments={"expected": "7", "answer": r"\frac{14}{2}"})
    assert default_driver().run({"a": (call,)}) == {"a": (RIGHT,)}
