"""Cells of a suite at once, each in a process of its own: whatever happens to one, the others go on."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TypeVar

from masgym.errors import MasgymError
from mastrain.suite import CELLS, Cell

Outcome = TypeVar("Outcome")
INTERRUPTED = 130


def side_by_side(
    cells: Sequence[Cell], jobs: int, attempt: Callable[[Cell], Outcome], stop: Callable[[], None]
) -> Iterator[tuple[Cell, Outcome]]:
    """Cells with what came of them, as they end: at most `jobs` at once, each after those that it begins from.
    One at a time is in this thread. Left early, it tells those that run to `stop`, and waits until they have."""
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
        stop()
        pool.shutdown()


class Processes:
    """Runs a cell by `python -m mastrain.compare ARGUMENTS cell=HASH`; what it says is kept in `cells/HASH.log`."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._command = [sys.executable, "-m", "mastrain.compare", *arguments]
        self._running = set[subprocess.Popen[bytes]]()

    def run(self, cell: Cell, out: Path) -> int:
        """0, or INTERRUPTED. Raises MasgymError for a process that failed, or that something else ended."""
        path = log(cell, out)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            process = subprocess.Popen(
                [*self._command, f"cell={cell.hash}"],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is ours to pass on, once
            )
            self._running.add(process)
            status = process.wait()
            self._running.discard(process)
        if status not in (0, INTERRUPTED):
            raise MasgymError(f"{cell.label}: its process ended with status {status}; {path} says why.")
        return status

    def stop(self) -> None:
        """Tell all that run to end at the next point from which they can go on."""
        for process in list(self._running):
            process.send_signal(signal.SIGINT)


def log(cell: Cell, out: Path) -> Path:
    return out / CELLS / f"{cell.hash}.log"
