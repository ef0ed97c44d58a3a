"""`masgym verify FILE`: does a submission for a suite hold?"""

import argparse
from pathlib import Path
from typing import Any

from masgym.cli.arguments import add_json, command, path
from masgym.cli.screen import one_line, print_json
from masgym.errors import BadFile
from masgym.paths import regular
from masgym.tasks import object_of

MOST = 2**28  # bytes of a submission


def add(commands: Any) -> None:
    about = "check that a submission for a suite holds: tasks, games, protocol, and that its figures follow"
    parser = command(commands, "verify", about, "masgym verify runs/v1/submission.json", run)
    parser.add_argument(
        "file", metavar="FILE", type=path, help="submission.json, as `masgym eval --suite v1 --out DIR` writes it"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """1 where it does not hold."""
    from masgym.submission import markdown_of
    from masgym.verification import verify_submission

    submission = object_of(_text(Path(arguments.file)), arguments.file)
    wrong, name = verify_submission(submission), one_line(arguments.file)
    if arguments.json:
        print_json({"file": arguments.file, "holds": not wrong, "wrong": list(wrong)})
    elif wrong:
        print(f"{name} does not hold:", *(f"- {one_line(why)}" for why in wrong), sep="\n")
    else:
        print(markdown_of(submission))
        print(f"{name} holds: every task was that of the suite, and the scores follow from the outcomes.")
    return 1 if wrong else 0


def _text(path: Path) -> str:
    try:
        return regular(path, MOST).read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise BadFile(f"{path} cannot be read: {error}.") from error
