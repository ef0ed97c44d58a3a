"""The command `masgym`: one file for each subcommand, with `add` (its arguments) and what runs it.

Exit status: 0; 1 where what was checked does not hold, or nothing could be played; 2 for bad arguments and files, with
one line that says how to mend it; 130 after Ctrl-C.
"""

import argparse
import os
import sys
from collections.abc import Sequence

from masgym.cli import audit, compare, evaluation, imports, listing, play, show, validate, verify, view
from masgym.cli.arguments import Parser
from masgym.cli.screen import one_line, tolerant
from masgym.errors import MasgymError

COMMANDS = (listing, show, play, evaluation, compare, view, validate, audit, verify, imports)
ABOUT = "Games for teams of language-model agents: score a team, look at what it did, play yourself."
EXAMPLE = """\
masgym list
masgym show sokoban
masgym eval sokoban --agent random --tasks 100 --out runs/random
masgym eval math --agent openai:qwen3 --base-url http://localhost:8000/v1 --out runs/qwen3
masgym compare runs/random runs/qwen3
masgym view runs/qwen3"""


def main(words: Sequence[str] | None = None) -> int:
    """Runs one command line (default: the process's) and returns the exit status."""
    tolerant(sys.stdout)
    try:
        arguments = parser().parse_args(words)
        arguments.words = list(sys.argv[1:] if words is None else words)
        status: int = arguments.run(arguments)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # who read the output has seen enough; what is still buffered goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt as stopped:
        print(f"\nmasgym: stopped. {stopped}".rstrip(), file=sys.stderr)
        return 130
    except (MasgymError, OSError) as error:
        print(f"masgym: {one_line(str(error))}", file=sys.stderr)
        return 2


def parser() -> argparse.ArgumentParser:
    made = Parser(prog="masgym", description=ABOUT, example=EXAMPLE)
    commands = made.add_subparsers(metavar="COMMAND", required=True, title="commands")
    for command in COMMANDS:
        command.add(commands)
    return made
