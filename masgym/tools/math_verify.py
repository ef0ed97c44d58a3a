"""The tool `math_verify`: {"expected", "answer"} -> are they mathematically equal? Judged in killable processes."""

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

_WORKER = Path(__file__).with_name("math_verify_worker.py")
_START_S = 120.0  # wall seconds that importing sympy may take on a busy machine
_TIMEOUT = ToolResult(outcome="timeout", value=None)
_ERROR = ToolResult(outcome="error", value=None)


class MathVerify:
    """Processes started when first needed, reused, and replaced when a judgement ends one.

    May be called from several threads; `workers` judgements run at once. Outcomes: "ok" with true or false,
    "timeout" (more than `cpu` seconds of CPU time, or `wall` seconds), "error" (math-verify failed, or ran out of
    `memory` bytes). Limits are in CPU time, so that a busy machine changes no result; `wall` is for a stuck process.
    """

    def __init__(self, workers: int = 2, cpu: float = 4.0, wall: float = 120.0, memory: int = 2 << 30) -> None:
        self._wall, self._limits = wall, (str(cpu), str(memory))
        self._idle: LifoQueue[_Worker | None] = LifoQueue()
        for _ in range(workers):
            self._idle.put(None)

    def __call__(self, arguments: JSON) -> ToolResult:
        request = _request(arguments)
        worker, kept = self._idle.get(), None
        try:
            if worker is None or not worker.alive:
                worker = _Worker(self._limits)
            result = worker.ask(request, self._wall)
            kept = worker if worker.alive else None
            return result
        finally:  # an interrupted question leaves an answer in the pipe: such a worker is not kept
            if worker and kept is None:
                worker.end()
            self._idle.put(kept)

    def close(self) -> None:
        """Ends the idle processes. The next call starts new ones."""
        for _ in range(self._idle.qsize()):
            worker = self._idle.get()
            if worker:
                worker.end()
            self._idle.put(None)


class _Worker:
    """One process. Raises BadValue when it does not come up."""

    def __init__(self, limits: tuple[str, ...]) -> None:
        self._owner = os.getpid()
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(_WORKER), *limits],  # -P: nothing is imported from the script's own folder
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._in, self._out = cast("IO[bytes]", self._process.stdin), cast("IO[bytes]", self._process.stdout)
        if not self._line(_START_S):
            self._process.kill()
            reason = self._process.communicate()[1].decode(errors="replace").strip().rpartition("\n")[2]
            raise BadValue(f"the math-verify process did not start: {reason}. Is math-verify installed?")

    @property
    def alive(self) -> bool:
        """Running, and this process's own: a fork's copy of the pipes is not to be used."""
        return self._owner == os.getpid() and self._process.poll() is None

    def ask(self, request: bytes, wall: float) -> ToolResult:
        try:
            self._in.write(request)
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
        return self._out.readline() if poll.poll(wall * 1000) else None


def _request(arguments: JSON) -> bytes:
    texts = arguments.get("expected"), arguments.get("answer")
    if not all(isinstance(text, str) for text in texts):
        raise BadValue(f"math_verify was given {arguments!r}; two texts, expected and answer, were wanted.")
    return json.dumps({"expected": texts[0], "answer": texts[1]}).encode() + b"\n"


math_verify = MathVerify()  # starts nothing until it is called
