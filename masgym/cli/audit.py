"""`masgym audit FILE`: anyone's rollouts, and the faults of training that they show."""

import argparse
from typing import Any

from masgym.cli.arguments import add_json, command, path
from masgym.cli.screen import print_json


def add(commands: Any) -> None:
    about = "look for faults of training in a file of rollouts (`masgym/audit/rows.py` documents it)"
    parser = command(commands, "audit", about, "masgym audit rollouts.jsonl --json", run)
    parser.add_argument("file", metavar="FILE", type=path, help="JSONL, one sampled reply a line")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """1 where faults are seen."""
    from masgym.audit import audit, text, to_json

    found = audit(arguments.file)
    if arguments.json:
        print_json(to_json(found))
    else:
        print(text(found))
    return 0 if found.ok else 1
