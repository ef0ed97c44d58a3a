"""The subcommands of `masgym`, and the parser of them all."""

import argparse

from masgym.cli import audit, compare, evaluation, imports, listing, play, show, validate, verify, view
from masgym.cli.arguments import Parser

COMMANDS = (listing, show, play, evaluation, compare, view, validate, audit, verify, imports)
ABOUT = "Games for teams of language-model agents: score a team, look at what it did, play yourself."
EXAMPLE = """\
masgym list
masgym show sokoban
masgym eval sokoban --agent random --tasks 100 --out runs/random
masgym eval math --agent openai:qwen3 --base-url http://localhost:8000/v1 --out runs/qwen3
masgym compare runs/random runs/qwen3
masgym view runs/qwen3"""


def parser() -> argparse.ArgumentParser:
    made = Parser(prog="masgym", description=ABOUT, example=EXAMPLE)
    commands = made.add_subparsers(metavar="COMMAND", required=True, title="commands")
    for command in COMMANDS:
        command.add(commands)
    return made
