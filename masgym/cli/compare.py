"""`masgym compare RUN RUN...`: runs over the same tasks side by side, with paired differences."""

import argparse
from pathlib import Path
from typing import Any

from masgym.cli.arguments import add_json, command, path
from masgym.cli.screen import console, print_json
from masgym.errors import BadValue


def add(commands: Any) -> None:
    about = "put runs over the same tasks side by side, with paired differences to the first"
    parser = command(
        commands, "compare", about, "masgym compare runs/before runs/after\nmasgym compare a b --markdown", run
    )
    parser.add_argument("runs", metavar="RUN", nargs="+", type=path, help="folders of `masgym eval --out`")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    from masgym.compare import compare, markdown, table
    from masgym.folder import read_run

    folders = [folder.rstrip("/") or folder for folder in arguments.runs]
    for folder in folders:
        read_run(folder)  # one that is none is told as such
    if len({Path(folder).resolve() for folder in folders}) < max(2, len(folders)):
        raise BadValue(f"{', '.join(folders)}: two different runs at least were expected.")
    found = compare({folder: folder for folder in folders})
    if arguments.json:
        print_json(found.to_json())
    elif arguments.markdown:
        print(markdown(found))
    else:
        console().print(table(found))
    return 0
