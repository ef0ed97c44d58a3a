"""Cells of a suite at once: as many as asked, each after those it begins from, each in a process of its own."""

import os
import signal
import sys
import threading
import time

import pytest

from masgym.errors import MasgymError
from mastrain.side_by_side import INTERRUPTED, Processes, interrupted_by_any_end, side_by_side
from mastrain.suite import Cell


@pytest.fixture(autouse=True)
def _ctrl_c_is_heard():
    """Whatever started the tests may ignore it (or SIGHUP: nohup), and so would all that they start."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGHUP)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def cell(name, *needs):
    return Cell(domain=name, method="m", seed=0, config={"name": name}, needs=tuple(other.hash for other in needs))


A, B = cell("a"), cell("b")
C, D = cell("c", A, B), cell("d")


def test_as_many_at_once_as_asked_and_each_after_those_it_begins_from():
    gate, running, most, began = threading.Barrier(2, timeout=20), [], [], []

    def attempt(one):
        running.append(one)
        most.append(len(running))
        began.append((one, [other.domain for other in ended]))
        if one in (A, B):
            gate.wait()  # breaks unless both run at once
        running.remove(one)
        return "done"

    ended = []
    for one, outcome in side_by_side([A, B, C, D], 2, attempt, lambda: None):
        assert outcome == "done"
        ended.append(one)
    assert {one.domain for one in ended} == {"a", "b", "c", "d"}
    assert max(most) == 2
    assert {"a", "b"} <= set({one.domain: before for one, before in began}["c"])


def test_one_at_a_time_is_in_this_thread():
    here = [(one.domain, who) for one, who in side_by_side([A, B], 1, lambda _: threading.current_thread(), print)]
    assert here == [("a", threading.main_thread()), ("b", threading.main_thread())]


def test_left_early_it_stops_those_that_run():
    stopped = threading.Event()

    def attempt(one):
        return one is A or stopped.wait(20)

    for one, _ in (ends := side_by_side([A, B, D], 2, attempt, stopped.set)):
        assert one is A
        break
    ends.close()
    assert stopped.is_set()


def test_told_again_while_it_waits_for_them_it_stops_them_again():
    """The first Ctrl-C lets a run end its step, the second ends it at once: it is waited for none the less."""
    told, ended, over = [], [], threading.Event()

    def stop():
        told.append(1)
        if len(told) == 1:
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        else:
            over.set()

    def attempt(one):
        if one is not A:
            over.wait(20)
            time.sleep(0.5)
            ended.append(one)

    for _ in (ends := side_by_side([A, B], 2, attempt, stop)):
        break
    ends.close()
    assert len(told) == 2
    assert ended == [B]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_any_end_is_as_ctrl_c(number):
    before = signal.getsignal(number)

    def end():
        os.kill(os.getpid(), number)
        time.sleep(5)

    with pytest.raises(KeyboardInterrupt), interrupted_by_any_end():
        end()
    assert signal.getsignal(number) is before


def test_what_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interrupted_by_any_end():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_none_begins_after_the_stop(tmp_path):
    own = Processes([])
    own._command = [sys.executable, "-c", "import time; time.sleep(60)"]
    own.stop()
    assert own.run(A, tmp_path) == INTERRUPTED


def test_a_process_that_python_itself_ends_at_ctrl_c_is_interrupted(tmp_path):
    own = Processes([])
    own._command = [sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGINT)"]
    assert own.run(A, tmp_path) == INTERRUPTED


def test_a_process_that_fails_is_told_with_what_it_said(tmp_path):
    own = Processes(["suite=nope"])
    with pytest.raises(
        MasgymError, match=rf"a, m, seed 0: its process ended with status 2 \(.*'nope'.*\); see .*{A.hash}"
    ):
        own.run(A, tmp_path)
    assert "unknown suite 'nope'" in (tmp_path / "cells" / f"{A.hash}.log").read_text()


class Closed:
    """The output of a terminal that is closed."""

    def write(self, text):
        raise OSError(5, "Input/output error")

    def flush(self):
        pass


@pytest.mark.parametrize("closed", [False, True])
def test_stop_reaches_a_process_that_ctrl_c_does_not(tmp_path, monkeypatch, closed):
    if closed:
        monkeypatch.setattr(sys, "stdout", Closed())
    own, log, seen = Processes([]), tmp_path / "cells" / f"{A.hash}.log", []
    program = (
        "import signal, time; signal.signal(signal.SIGINT, lambda *_: exit(130)); print(1, flush=True); time.sleep(60)"
    )
    own._command = [sys.executable, "-c", program]
    thread = threading.Thread(target=lambda: seen.append(own.run(A, tmp_path)))
    thread.start()
    until = time.monotonic() + 30
    while not (log.exists() and log.read_text()) and time.monotonic() < until:
        time.sleep(0.05)
    own.stop()
    thread.join(30)
    assert seen == [INTERRUPTED]
