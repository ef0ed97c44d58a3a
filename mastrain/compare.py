"""`python -m mastrain.compare suite=quick`: methods side by side, at equal sampled tokens, on the same held-out tasks.

suite -> cells, each a run in `OUT/cells/HASH` -> tables (Markdown, CSV) and curves (SVG)

What is there is not run again, what was interrupted goes on: it can be run in pieces. The report covers what is done.
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from masgym.errors import BadValue, MasgymError
from mastrain.__main__ import compose_run
from mastrain.comparison import write_report
from mastrain.config import parse
from mastrain.games import check_names
from mastrain.suite import Cell, cells, read_suite, with_seeds

USAGE = """python -m mastrain.compare suite=NAME [out=FOLDER] [seeds=0,1] [report_only=true] [override ...]

suite        a file of configs/suite: quick, games, reasoning, ablations
out          where cells, tables and curves go (runs/compare/NAME)
seeds        in place of the suite's
report_only  write the report of what is done, run nothing
override     of every cell, as for python -m mastrain: budget.sampled_tokens=100000 train.eval_tasks=100
"""


def main(arguments: Sequence[str], run: Callable[[Cell, Path], int] | None = None) -> int:
    """-> exit status: 0 done, 130 interrupted. Raises MasgymError before time is spent."""
    options, overrides = _options(arguments)
    suite = read_suite(options["suite"])
    if "seeds" in options:
        suite = with_seeds(suite, options["seeds"])
    out = Path(options.get("out", f"runs/compare/{suite.name}"))
    todo = cells(suite, overrides)
    for cell in todo:
        check_names(parse(cell.config))
    for number, cell in enumerate(todo, 1):
        folder = out / "cells" / cell.hash
        if options.get("report_only") == "true" or (folder / "after.json").exists():
            continue
        print(f"--- {number}/{len(todo)}: {cell.label} ({folder})", flush=True)
        code = (run or run_cell)(cell, folder)
        write_report(suite, todo, out)
        if code:
            return code
    for path in write_report(suite, todo, out):
        print(path)
    return 0


def run_cell(cell: Cell, folder: Path) -> int:
    """Begin the run of a cell, or go on with it."""
    from mastrain.main import main as train  # torch and trl: only where something is run

    begun = (folder / "config.yaml").exists()
    data = compose_run([f"resume={folder}"] if begun else [*cell.overrides, f"run_dir={folder}"])
    return train(parse(data), data)


def _options(arguments: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """(ours, overrides of every cell). Raises BadValue without a suite."""
    ours, overrides = dict[str, str](), list[str]()
    for argument in arguments:
        name, equals, given = argument.partition("=")
        if equals and name in ("suite", "out", "seeds", "report_only"):
            ours[name] = given
        else:
            overrides.append(argument)
    if "suite" not in ours:
        raise BadValue("suite=NAME is missing; python -m mastrain.compare --help lists them.")
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
    sys.exit(code)


if __name__ == "__main__":
    cli()
