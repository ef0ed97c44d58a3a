"""`python -m mastrain.report RUN`: why did it not learn?"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from masgym.errors import MasgymError

try:
    from mastrain.report import write_report
except ModuleNotFoundError:  # the environments alone were installed
    sys.exit('mastrain.report: this needs more than masgym alone: pip install "masgym[train]"')


def main(arguments: Sequence[str] | None = None) -> int:
    """-> exit status: 0 written, 2 a run that cannot be read."""
    about = "write one HTML page about a training run: what was found, curves, the worst groups"
    parser = argparse.ArgumentParser(prog="python -m mastrain.report", description=about)
    parser.add_argument("run_folder", metavar="RUN", help="a run folder of python -m mastrain")
    parser.add_argument("--out", metavar="FILE", help="the page (default: RUN/report.html)")
    given = parser.parse_args(arguments)
    try:
        print(f"written: {write_report(given.run_folder, given.out or Path(given.run_folder) / 'report.html')}")
    except MasgymError as error:
        print(f"mastrain.report: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
