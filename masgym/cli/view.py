"""`masgym view RUN`: one HTML page of a run."""

import argparse
from pathlib import Path
from typing import Any

from masgym.cli.arguments import command, path
from masgym.cli.screen import one_line
from masgym.errors import BadFile


def add(commands: Any) -> None:
    about = "write one HTML page that shows a run's episodes, event by event"
    parser = command(commands, "view", about, "masgym view runs/qwen3 --out qwen3.html", run)
    parser.add_argument(
        "run_folder", metavar="RUN", type=path, help="a folder of `masgym eval --out`, or of a training run"
    )
    parser.add_argument("--out", metavar="FILE", type=path, help="the page (default: RUN/view.html)")


def run(arguments: argparse.Namespace) -> int:
    from masgym.viewer import write_page

    folder = Path(arguments.run_folder)
    if not arguments.out and (folder / "view.html").is_symlink():  # the folder may be somebody else's
        raise BadFile(f"{folder / 'view.html'} is a link to another file; say with --out which one is to be written.")
    print(f"written: {one_line(str(write_page(folder, arguments.out or folder / 'view.html')))}")
    return 0
