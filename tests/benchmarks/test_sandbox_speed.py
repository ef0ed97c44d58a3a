"""What a run in the sandbox costs over a bare start of the interpreter (`python -I -S -c pass`), one at a time.

    python tests/benchmarks/test_sandbox_speed.py [--runs 40]

The runs take turns, so that all meet the same load of the machine. Bound: 20 ms over the bare start, for the fastest.
"""

import argparse
import subprocess
import time
from collections.abc import Callable, Mapping
from statistics import median

import pytest
from rich.console import Console
from rich.table import Table

from masgym.tools.bubblewrap import executable
from masgym.tools.sandbox import run_calls, run_program

BARE = "bare interpreter"
RUNS: Mapping[str, Callable[[], object]] = {
    BARE: lambda: subprocess.run([executable(), "-I", "-S", "-c", "pass"], capture_output=True, check=True),
    "program": lambda: run_program("pass"),
    "one call": lambda: run_calls("def f(x): return x", "f", [[1]]),
    "100 calls": lambda: run_calls("def f(x): return x", "f", [[1]] * 100),
    "program, unsafe": lambda: run_program("pass", backend="unsafe"),
}


def measure(runs: int) -> dict[str, list[float]]:
    """Name -> milliseconds of each run, ascending. A first run of each, which finds the sandbox, is not counted."""
    taken: dict[str, list[float]] = {name: [] for name in RUNS}
    for _ in range(runs + 1):
        for name, run in RUNS.items():
            start = time.perf_counter()
            run()
            taken[name].append(1000 * (time.perf_counter() - start))
    return {name: sorted(times[1:]) for name, times in taken.items()}


@pytest.mark.slow
def test_the_sandbox_costs_at_most_20_milliseconds() -> None:
    taken = measure(40)
    for name in ("program", "one call"):
        assert taken[name][0] - taken[BARE][0] <= 20, taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=40)
    taken = measure(parser.parse_args().runs)
    table = Table(title="milliseconds")
    for column in ("", "fastest", "median", "fastest over bare", "median over bare"):
        table.add_column(column, justify="right" if column else "left")
    for name, times in taken.items():
        over = (times[0] - taken[BARE][0], median(times) - median(taken[BARE]))
        table.add_row(name, *(f"{t:.1f}" for t in (times[0], median(times), *over)))
    Console().print(table)


if __name__ == "__main__":
    main()
