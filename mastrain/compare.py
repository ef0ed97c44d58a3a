"""`python -m mastrain.compare suite=quick`: methods side by side, at equal sampled tokens, on the same held-out tasks.

suite -> cells, each a run in `OUT/cells/HASH` -> tables (Markdown, CSV) and curves (SVG)

What is there is not run again, what was interrupted goes on: it can be run in pieces. The report covers what is done.
A cell that fails is told, and the others go on.
"""

import shlex
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Literal

from masgym.errors import BadFile, BadValue, MasgymError, UnknownName
from masgym.files import locked
from mastrain.__main__ import check_placed
from mastrain.comparison import check_tables, write_report
from mastrain.config import parse
from mastrain.finished import check_own, done, read_results
from mastrain.games import check_runs
from mastrain.side_by_side import INTERRUPTED, Processes, interrupted_by_any_end, side_by_side
from mastrain.suite import CELLS, Cell, Suite, cells, read_suite, with_seeds

USAGE = """python -m mastrain.compare suite=NAME [out=FOLDER] [seeds=0,1] [jobs=N] [report_only=true] [override ...]

suite        a file of configs/suite: quick, games, reasoning, ablations
out          where cells, tables and curves go (runs/compare/NAME); one process at a time
seeds        in place of the suite's
jobs         runs at once, each in a process that keeps one core busy; what they say is in out/cells/HASH.log (1)
cell         only the run of that hash, without a report: for a scheduler of your own; cell=? lists them
report_only  true: write the report of what is done, run nothing
override     of every cell, as for python -m mastrain: budget.sampled_tokens=100000 train.eval_tasks=100

Run again, it goes on. Exit status: 0 done, 1 a cell failed, 2 a mistake in the arguments, 130 interrupted.
"""

Run = Callable[[Cell, Path], int]  # (cell, the suite's folder) -> exit status
Outcome = Literal["done", "failed", "interrupted"]


def main(arguments: Sequence[str], run: Run | None = None) -> int:
    """-> exit status, as in USAGE. Raises MasgymError before time is spent."""
    options, overrides = _options(arguments)
    suite = read_suite(options["suite"])
    if "seeds" in options:
        suite = with_seeds(suite, options["seeds"])
    out = Path(options.get("out", f"runs/compare/{suite.name}"))
    check_tables(suite, out)
    wanted = cells(suite, overrides)
    only, jobs = _report_only(options.get("report_only", "false")), _jobs(options.get("jobs", "1"))
    configs = [parse(cell.config) for cell in wanted]
    if "cell" in options:
        return _run_one(_named(options["cell"], wanted), wanted, out, run or run_cell)
    if not only:
        check_runs(configs)
    own = Processes([*(argument for argument in arguments if not argument.startswith("jobs="))])
    run = run or (run_cell if jobs == 1 else own.run)
    with nullcontext() if only else locked(out), interrupted_by_any_end() if jobs > 1 else nullcontext():
        code = 0 if only else _run_all(suite, wanted, out, run, jobs, own.stop)
        results, damaged = read_results(wanted, out)
        if only and not results and not damaged:
            raise BadFile(
                f"nothing of suite={suite.name}, as it is said here, is done in {out}; name its folder by out=..."
            )
        for path in write_report(suite, results, len(wanted), out):
            print(path)
    for cell in {cell.hash: cell for cell in wanted if cell.hash in damaged}.values():
        print(f"failed: {cell.label}: {damaged[cell.hash]}", file=sys.stderr)
    return code or int(bool(damaged))


def _run_all(suite: Suite, wanted: Sequence[Cell], out: Path, run: Run, jobs: int, stop: Callable[[], None]) -> int:
    """-> exit status."""

    def attempt(cell: Cell) -> Outcome:
        print(f"--- {wanted.index(cell) + 1}/{len(wanted)}: {cell.label} ({out / CELLS / cell.hash})", flush=True)
        return _try(cell, wanted, out, run)

    once = {cell.hash: cell for cell in reversed(wanted)}  # rows of one config are one run
    results, damaged = read_results(wanted, out)
    there, failed = {*damaged, *(result.cell.hash for result in results)}, list[Cell]()
    waiting = [cell for cell in wanted if once[cell.hash] is cell and cell.hash not in there]
    for cell, outcome in side_by_side(waiting, jobs, attempt, stop):
        if outcome == "interrupted":
            return INTERRUPTED
        if outcome == "failed":
            failed.append(cell)
        else:
            _report_so_far(suite, wanted, out)
    for cell in failed:
        print(f"failed: {cell.label} ({out / CELLS / cell.hash})", file=sys.stderr)
    return 1 if failed else 0


def _report_so_far(suite: Suite, wanted: Sequence[Cell], out: Path) -> None:
    """A report that cannot be written is told; it does not keep the other cells from being run."""
    try:
        write_report(suite, read_results(wanted, out)[0], len(wanted), out)
    except MasgymError as error:
        print(f"mastrain.compare: {error}", file=sys.stderr)


def _try(cell: Cell, wanted: Sequence[Cell], out: Path, run: Run) -> Outcome:
    """Run one cell. Whatever goes wrong in it is its own, said here: the others do not depend on it."""
    try:
        if missing := ", ".join(other.label for other in _missing(cell, wanted, out)):
            raise BadValue(f"{cell.label} begins from {missing}, which is not done")
        return "interrupted" if run(cell, out) else "done"
    except KeyboardInterrupt:
        return "interrupted"
    except MasgymError as error:
        print(f"mastrain.compare: {error}", file=sys.stderr)
    except Exception:  # a bug, or the machine's fault (memory, disk)
        traceback.print_exc()
    return "failed"


def _missing(cell: Cell, wanted: Sequence[Cell], out: Path) -> list[Cell]:
    """The runs that it begins from and that are not done."""
    return [*{other.hash: other for other in wanted if other.hash in cell.needs and not done(other, out)}.values()]


def _run_one(cell: Cell, wanted: Sequence[Cell], out: Path, run: Run) -> int:
    """`cell=HASH`. Its own folder is locked, not the suite's. Raises BadValue before what it begins from is done."""
    if missing := ", ".join(f"{other.label} (cell={other.hash})" for other in _missing(cell, wanted, out)):
        raise BadValue(f"{cell.label} begins from {missing}, which is not done; run that first.")
    if done(cell, out):
        print(f"{cell.label} is done ({out / CELLS / cell.hash})")
        return 0
    return run(cell, out)


def run_cell(cell: Cell, out: Path) -> int:
    """Begin the run of a cell, or go on with it."""
    from mastrain.main import main as train  # torch and trl: only where something is run

    data = cell.data(out)
    if (Path(data["run_dir"]) / "config.yaml").exists():
        check_own(cell, out)
        data["resume"] = data["run_dir"]
    return train(parse(data), data)


def _jobs(given: str) -> int:
    if not given.isascii() or not given.isdigit() or not 1 <= int(given) <= 1024:
        raise BadValue(f"jobs={given}; a whole number from 1 to 1024 was expected: runs at once.")
    return int(given)


def _report_only(given: str) -> bool:
    if given not in ("true", "false"):
        raise BadValue(f"report_only={given}; true or false was expected.")
    return given == "true"


def _named(given: str, wanted: Sequence[Cell]) -> Cell:
    found = next((cell for cell in wanted if cell.hash == given), None)
    if found is None:
        raise UnknownName("cell", given, [f"{cell.hash} ({cell.label})" for cell in wanted])
    return found


def _options(arguments: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """(ours, overrides of every cell). Raises BadValue without a suite."""
    ours, overrides = dict[str, str](), list[str]()
    for argument in arguments:
        name, equals, given = argument.partition("=")
        if equals and name in ("suite", "out", "seeds", "jobs", "cell", "report_only"):
            ours[name] = given
        else:
            overrides.append(argument)
    if "suite" not in ours:
        raise BadValue("suite=NAME is missing; python -m mastrain.compare --help lists them.")
    check_placed(overrides, ours.get("out"))
    return ours, overrides


def cli() -> None:
    if {"--help", "-h"} & set(sys.argv[1:]):
        print(USAGE, end="")
        return
    try:
        code = main(sys.argv[1:])
    except MasgymError as error:
        print(f"mastrain.compare: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        code = INTERRUPTED
    if code == INTERRUPTED:
        with suppress(OSError):  # of a terminal that is closed
            print(f"interrupted; go on with: python -m mastrain.compare {shlex.join(sys.argv[1:])}", flush=True)
    sys.exit(code)


if __name__ == "__main__":
    cli()
