"""A pool of processes that answer questions in JSON lines, for libraries that may hang or crash: killing helps.

A worker is `worker_main.py` with the path of a script that knows the answers. It writes a line when it is ready, then
for each line that it reads one with the fields of a ToolResult.
"""

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from queue import LifoQueue
from typing import IO, cast

from masgym.errors import BadValue
from masgym.types import JSON, ToolResult

_MAIN = Path(__file__).with_name("worker_main.py")
_START_S = 600.0  # wall seconds that a library may take to be imported on a busy machine
_TIMEOUT = ToolResult(outcome="timeout", value=None)
_ERROR = ToolResult(outcome="error", value=None)


class Workers:
    """Processes started when first needed, reused, and replaced when a question ends one.

    May be called from several threads; `workers` questions run at once. Outcomes: "ok", "timeout" (more than `cpu`
    seconds of CPU time, or `wall` seconds), "error" (the script raised or crashed, or ran out of `memory` bytes).
    Limits are in CPU time, so that a busy machine changes no result; `wall` is for a stuck process. `wanted` ends the
    message of the BadValue that is raised when a process does not come up: "Is math-verify installed?".
    """

    def __init__(self, script: Path, wanted: str, *, workers: int, cpu: float, wall: float, memory: int) -> None:
        self._script, self._wanted, self._wall, self._limits = script, wanted, wall, (str(cpu), str(memory))
        self._idle: LifoQueue[_Worker | None] = LifoQueue()
        for _ in range(workers):
            self._idle.put(None)

    def ask(self, question: JSON) -> ToolResult:
        worker, kept = self._idle.get(), None
        try:
            if worker is None or not worker.alive:
                worker = _Worker(self._script, self._wanted, self._limits)
            result = worker.ask(json.dumps(question).encode() + b"\n", self._wall)
            kept = worker if worker.alive else None
            return result
        finally:  # an interrupted question leaves an answer in the pipe: such a worker is not kept
            if worker and kept is None:
                worker.end()
            self._idle.put(kept)

    def close(self) -> None:
        """Ends the idle processes. The next question starts new ones."""
        for _ in range(self._idle.qsize()):
            worker = self._idle.get()
            if worker:
                worker.end()
            self._idle.put(None)


class _Worker:
    """One process. Raises BadValue when it does not come up."""

    def __init__(self, script: Path, wanted: str, limits: tuple[str, ...]) -> None:
        self._owner = os.getpid()
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(_MAIN), str(script), *limits],  # -P: nothing is imported from its own folder
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONHASHSEED": "0"},  # what a library draws from a set is the same in each
        )
        self._in, self._out = cast("IO[bytes]", self._process.stdin), cast("IO[bytes]", self._process.stdout)
        ready = self._line(_START_S)
        if not ready:
            self._process.kill()
            said = self._process.communicate()[1].decode(errors="replace").strip().rpartition("\n")[2]
            ended = f"it ended with code {self._process.returncode}"
            reason = said or (f"it said nothing for {_START_S:g} seconds" if ready is None else ended)
            raise BadValue(f"the process of {script.name} did not start: {reason}. {wanted}")

    @property
    def alive(self) -> bool:
        """Running, and this process's own: a fork's copy of the pipes is not to be used."""
        return self._owner == os.getpid() and self._process.poll() is None

    def ask(self, question: bytes, wall: float) -> ToolResult:
        try:
            self._in.write(question)
            self._in.flush()
        except BrokenPipeError:
            return _ERROR
        line = self._line(wall)
        if line:
            return ToolResult(**json.loads(line))
        if line is None:
            self.end()
        return _TIMEOUT if line is None or self._process.wait() == -signal.SIGPROF else _ERROR

    def end(self) -> None:
        if self._owner == os.getpid():
            self._process.kill()
            self._process.communicate()

    def _line(self, wall: float) -> bytes | None:
        """The next line of output; b"" when the process ended, None after `wall` seconds without one."""
        poll = select.poll()
        poll.register(self._out, select.POLLIN)
        if not poll.poll(wall * 1000):
            return None
        line = self._out.readline()
        return line if line.endswith(b"\n") else b""  # of a process that was killed, what it had of a line
