"""Cells of a suite at once, each in a process of its own: whatever happens to one, the others go on."""

import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import IO, Any, TypeVar

from masgym.errors import MasgymError
from mastrain.suite import CELLS, Cell

Outcome = TypeVar("Outcome")
INTERRUPTED = 130


def side_by_side(
    cells: Sequence[Cell], jobs: int, attempt: Callable[[Cell], Outcome], stop: Callable[[], None]
) -> Iterator[tuple[Cell, Outcome]]:
    """Cells with what came of them, as they end: at most `jobs` at once, each after those that it begins from.
    One at a time is in this thread. Left early, it tells those that run to `stop`, and waits until they have; at each
    further Ctrl-C it tells them again."""
    if jobs == 1:
        yield from ((cell, attempt(cell)) for cell in cells)
        return
    waiting, running = list(cells), dict[Future[Outcome], Cell]()
    pool = ThreadPoolExecutor(jobs)
    try:
        while waiting or running:
            open_ = {cell.hash for cell in (*waiting, *running.values())}
            ready = [cell for cell in waiting if not open_.intersection(cell.needs)]
            for cell in ready[: jobs - len(running)]:
                waiting.remove(cell)
                running[pool.submit(attempt, cell)] = cell
            for ended in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(ended), ended.result()
    finally:
        _end(running, stop)
        pool.shutdown()


def _end(running: Iterable[Future[Outcome]], stop: Callable[[], None]) -> None:
    while True:
        try:
            stop()
            wait(running)  # a thread's join that was interrupted takes the thread for ended
            return
        except KeyboardInterrupt:
            continue


@contextmanager
def interrupted_by_any_end() -> Generator[None]:
    """SIGTERM and a terminal that is closed are as Ctrl-C: processes with sessions of their own would go on alone."""
    previous = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number, handler in previous.items():
        if handler is signal.SIG_DFL:  # nohup ignores one of them
            signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


class Processes:
    """Runs a cell by `python -m mastrain.compare ARGUMENTS cell=HASH`; what it says is kept in `cells/HASH.log`."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._command = [sys.executable, "-m", "mastrain.compare", *arguments]
        self._running = set[subprocess.Popen[bytes]]()
        self._lock, self._stopping = Lock(), False

    def run(self, cell: Cell, out: Path) -> int:
        """0, or INTERRUPTED. Raises MasgymError for a process that failed, or that something else ended."""
        path = log(cell, out)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            process = self._begin(cell, file)
            status = process.wait() if process else INTERRUPTED
        if process:
            self._running.discard(process)
        if status in (INTERRUPTED, -signal.SIGINT):  # the latter while Python itself begins
            return INTERRUPTED
        if status:
            raise MasgymError(f"{cell.label}: its process ended with status {status}{_last_line(path)}; see {path}.")
        return 0

    def _begin(self, cell: Cell, file: IO[bytes]) -> "subprocess.Popen[bytes] | None":
        with self._lock:  # none begins that `stop` does not reach
            if self._stopping:
                return None
            process = subprocess.Popen(
                [*self._command, f"cell={cell.hash}"],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is ours to pass on
            )
            self._running.add(process)
            return process

    def stop(self) -> None:
        """Tell all that run to end at the next point from which they can go on; told again, they end at once."""
        with self._lock:
            running, first = list(self._running), not self._stopping
            self._stopping = True
            for process in running:
                process.send_signal(signal.SIGINT)
        if running and first:
            with suppress(OSError):  # of a terminal that is closed
                print("stopping: what runs ends its step and saves; Ctrl-C again stops it at once", flush=True)


def _last_line(path: Path) -> str:
    """What the process said last; "" where it said nothing."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 2000))
        lines = file.read().decode(errors="replace").split("\n")
    said = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f" ({said})" if said else ""


def log(cell: Cell, out: Path) -> Path:
    return out / CELLS / f"{cell.hash}.log"
