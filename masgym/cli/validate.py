"""`masgym validate ENV`: does the environment score as it must?"""

import argparse
import asyncio
from typing import Any

from masgym.cli.arguments import add_game, add_json, command, game_of
from masgym.cli.screen import console, print_json, printing_only


def add(commands: Any) -> None:
    about = "check that an environment scores as it must, with the oracle, random replies and canaries"
    parser = command(commands, "validate", about, "masgym validate sokoban --workflow verify", run)
    add_game(parser)
    parser.add_argument("--tasks", type=int, default=20, metavar="N", help="tasks that are played (default: 20)")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """1 where a check does not hold."""
    from masgym.validate import table, validate

    with printing_only(result=arguments.json):
        found = asyncio.run(validate(game_of(arguments), tasks=arguments.tasks))
    if arguments.json:
        print_json(found.to_json())
    else:
        console().print(table(found))
    return 0 if found.passed else 1
