"""One supervised process: what it prints is read up to a limit, and it ends in time, with all that it started."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Literal, TypeAlias

from masgym.types import value

Cut: TypeAlias = Literal["", "timeout", "output limit"]

_CHUNK = 65536  # bytes read at a time: what a pipe holds


@value
class Ended:
    """How a process ended. The channels hold at most the limit of output and three chunks, together."""

    code: int  # exit code; -n: ended by signal n
    cut: Cut  # why it was ended from here, if it was
    stdout: bytes
    stderr: bytes
    report: bytes


def supervise(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    folder: str | None,
    stdin: bytes,
    files: Mapping[str, bytes],
    wall: float,
    output: int,
) -> Ended:
    """Runs `command` in a session of its own, `folder` its working directory; `stdin` is a file that holds all of it.

    The words "{name}" of the command become the descriptors of read-only files that hold `files[name]`, "{report}"
    that of a pipe to us. wall: seconds; output: bytes, all channels together. Raises OSError where nothing can be run.
    """
    with ExitStack() as stack:
        read_end, write_end = os.pipe()
        source, sink = stack.enter_context(open(read_end, "rb")), stack.enter_context(open(write_end, "wb"))
        handed = {name: _in_memory(stack, content) for name, content in files.items()} | {"report": write_end}
        words = {f"{{{name}}}": str(fd) for name, fd in handed.items()}
        process = stack.enter_context(
            subprocess.Popen(
                [words.get(word, word) for word in command],
                stdin=_in_memory(stack, stdin),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=tuple(handed.values()),
                env=environment,
                cwd=folder,
                start_new_session=True,
            )
        )
        sink.close()  # so that the pipe ends when its last writer does
        pipes = (process.stdout, process.stderr, source)
        found = {pipe.fileno(): bytearray() for pipe in pipes if pipe}
        try:
            cut = _read(process.pid, found, time.monotonic() + wall, output)
        finally:
            _end(process.pid)
        stdout, stderr, report = (bytes(text) for text in found.values())
        return Ended(code=process.wait(), cut=cut, stdout=stdout, stderr=stderr, report=report)


def _in_memory(stack: ExitStack, content: bytes) -> int:
    """The descriptor of a file with that content, at its start, which whoever inherits it cannot write."""
    with open(os.memfd_create("masgym"), "wb") as file:
        file.write(content)
        file.flush()
        fd = os.open(f"/proc/self/fd/{file.fileno()}", os.O_RDONLY)
    stack.callback(os.close, fd)
    return fd


def _read(pid: int, found: dict[int, bytearray], deadline: float, most: int) -> Cut:
    """Fills `found` (descriptor -> what came through it) until the process is over, or must be cut."""
    with ExitStack() as stack:
        over = os.pidfd_open(pid)
        stack.callback(os.close, over)
        ready = stack.enter_context(selectors.DefaultSelector())
        for fd in (over, *found):
            ready.register(fd, selectors.EVENT_READ)
        ended = False
        while True:  # once it has ended: until nothing is left in the pipes
            fds = {key.fd for key, _ in ready.select(0.0 if ended else max(0.0, deadline - time.monotonic()))}
            if not fds:
                return "" if ended else "timeout"
            for fd in fds:
                chunk = b"" if fd == over else os.read(fd, _CHUNK)
                ended |= fd == over
                if chunk:
                    found[fd] += chunk
                else:
                    ready.unregister(fd)
            if sum(map(len, found.values())) > most:
                return "output limit"


def _end(pid: int) -> None:
    """Ends the session's processes. Its leader is not yet waited for, so the number is still its own."""
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
