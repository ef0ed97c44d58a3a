"""`masgym verify FILE|DIR`: does a submission for a suite hold?"""

import argparse
from pathlib import Path
from typing import Any

from masgym.cli.arguments import add_json, command, path
from masgym.cli.screen import one_line, print_json
from masgym.errors import BadFile
from masgym.paths import regular
from masgym.tasks import object_of

SUBMISSION = "submission.json"
MOST = 2**28  # bytes of a submission


def add(commands: Any) -> None:
    about = "check that a submission for a suite holds: tasks, games, protocol, and that its figures follow"
    parser = command(commands, "verify", about, "masgym verify runs/v1\nmasgym verify runs/v1/submission.json", run)
    parser.description = f"{parser.description} Exit status: 0 where it holds and is whole, 1 where not."
    parser.add_argument(
        "file",
        metavar="FILE|DIR",
        type=path,
        help="submission.json, or the folder that `masgym eval --suite v1 --out DIR` wrote it in",
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """1 where it does not hold, or is not whole."""
    from masgym.submission import markdown_of
    from masgym.verification import verdict_in

    file = _file(arguments.file)
    submission = object_of(_text(file), str(file))
    found, name = verdict_in(file.parent, submission), one_line(str(file))
    if arguments.json:
        told = [*filter(None, [found.partial]), *found.wrong]
        print_json({"file": str(file), "holds": not told, "wrong": told})
    elif found.wrong:
        told = [*filter(None, [found.partial]), *found.wrong]
        print(f"{name} does not hold:", *(f"- {one_line(why)}" for why in told), sep="\n")
    else:
        print(markdown_of(submission))
        what = f"is partial, {found.partial}. What is there holds" if found.partial else "holds"
        print(f"{name} {what}: every task was that of the suite, and the scores follow from the outcomes.")
    return 1 if found.wrong or found.partial else 0


def _file(given: str) -> Path:
    return Path(given) / SUBMISSION if Path(given).is_dir() else Path(given)


def _text(path: Path) -> str:
    try:
        return regular(path, MOST).read_text(encoding="utf-8")
    except OSError as error:
        why = error.strerror or str(error)
        raise BadFile(f"{path} cannot be read: {why}; a submission.json was expected, or its folder.") from error
    except UnicodeError as error:
        raise BadFile(f"{path} cannot be read: {error}.") from error
