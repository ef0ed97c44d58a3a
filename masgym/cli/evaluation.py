"""`masgym eval ENV`: agents by name play tasks; a run folder, a report."""

import argparse
import asyncio
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from masgym.agents.base import Agent
from masgym.agents.names import split_role
from masgym.cli.arguments import add_agents, add_game, add_json, command, game_of, options_of, settings_of, team_of
from masgym.cli.ending import close, resumable, status_of
from masgym.cli.progress import Progress
from masgym.cli.screen import console, print_json, printing_only, shown
from masgym.cli.suite import run as run_suite
from masgym.errors import BadValue
from masgym.evaluate import assign, check_count
from masgym.folder import play_run
from masgym.outages import OF_ENDPOINT
from masgym.run_json import report_json
from masgym.runs import Plan, RunReport, plan
from masgym.tables import screen
from masgym.tasks import SPLITS
from masgym.tools.sandbox import SANDBOXES

EXAMPLE = """\
masgym eval sokoban --agent random --tasks 100
masgym eval sokoban --workflow pair --agent tool=oracle --agent actor=random --out runs/half
masgym eval math --agent openai:qwen3 --base-url http://localhost:8000/v1 --samples 4 --out runs/qwen3
masgym eval math --agent openai:qwen3 --base-url http://localhost:8000/v1 --samples 4 --out runs/qwen3 --resume
masgym eval --suite v1 --agent oracle --out runs/v1
masgym eval --suite v1 --agent "hf:runs/taught/{domain}-{workflow}" --out runs/nano"""

SUITE = """play a frozen suite instead of ENV: v1; writes a submission; in an agent's name {domain},
{level} and {workflow} are those of the cell that it plays"""

RESUME = f"""go on in --out where the run was interrupted, and play again the episodes that were lost to an endpoint
({", ".join(sorted(OF_ENDPOINT))}, and timeout where an openai: agent plays; a python: agent's own timeout is its
result); the server may have moved"""

STATUS = """
Exit status: 0 for a report, also where some episodes were cut short (it counts them); 1 where none could be played to
its end; 2 for a mistake in the arguments, a file or an agent; 130 after Ctrl-C."""

DEFAULTS: Mapping[str, Any] = {"tasks": 100, "split": "test", "samples": 1, "seed": 0}


def add(commands: Any) -> None:
    parser = command(commands, "eval", "play tasks with agents and report what they are worth", EXAMPLE, run)
    parser.description = f"{parser.description}\n{STATUS}"
    parser.add_argument("env", metavar="ENV", nargs="?", help="what to play (see `masgym show --help`), or --suite")
    parser.add_argument("--suite", metavar="NAME", help=SUITE)
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="""of the suite: a domain, level, workflow or cell; repeatable; the submission holds all cells that are
done in --out, so a suite can be played in parts""",
    )
    add_agents(parser)
    add_game(parser, env=None)
    tasks = parser.add_argument_group("what is played")
    tasks.add_argument("--tasks", type=int, metavar="N", help="the first N tasks of the split (default: 100)")
    tasks.add_argument("--split", choices=SPLITS, help="(default: test)")
    tasks.add_argument("--samples", type=int, metavar="S", help="episodes a task (default: 1)")
    tasks.add_argument("--seed", type=int, metavar="X", help="of the agents' draws (default: 0)")
    tasks.add_argument(
        "--workers", type=int, default=8, metavar="N", help="episodes at once; changes time only (default: 8)"
    )
    tasks.add_argument("--sandbox", choices=SANDBOXES, default="auto", help="where programs run (default: auto)")
    tasks.add_argument("--out", metavar="DIR", help="the run folder: episodes, report.json, .md, .csv")
    tasks.add_argument("--resume", action="store_true", help=RESUME)
    tasks.add_argument("--no-trace", action="store_true", help="do not keep what was said at every event")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    check(arguments)
    if arguments.suite:
        return run_suite(arguments)
    with printing_only(result=arguments.json):
        out = _out_of(arguments)
    return told(out, arguments)


def _out_of(arguments: argparse.Namespace) -> RunReport:
    game_of(arguments)  # a wrong name is told before models are loaded
    team = team_of(arguments)
    game = game_of(arguments, team)
    assign(game, team)
    known = {name: DEFAULTS[name] if (given := getattr(arguments, name)) is None else given for name in DEFAULTS}
    planned = plan(
        game,
        dict(map(split_role, arguments.agent)),
        **known,
        settings=settings_of(arguments),
        sandbox=arguments.sandbox,
    )
    progress = Progress(team.values())
    with resumable(arguments, progress), progress:
        return asyncio.run(played(planned, team, arguments, progress))


LEAST: Mapping[str, int] = {"tasks": 1, "samples": 1, "seed": 0, "workers": 1}


def check(arguments: argparse.Namespace) -> None:
    """Before anything is loaded or made. Raises BadValue for numbers out of range and arguments that do not go
    together."""
    for name, least in LEAST.items():
        if (given := getattr(arguments, name)) is not None:
            check_count(name, given, least)
    options_of(arguments)
    if bool(arguments.env) == bool(arguments.suite):
        raise BadValue("name what to play: an ENV such as sokoban, or --suite v1 (one of the two).")
    if arguments.only and not arguments.suite:
        raise BadValue("--only chooses parts of a --suite; there is none.")
    if arguments.out == "":
        raise BadValue("--out names a folder; it is empty (an unset variable?), so nothing would be kept.")
    if arguments.resume and not arguments.out:
        raise BadValue("--resume goes on in a run folder; say which one with --out DIR.")


async def played(
    planned: Plan, team: Mapping[str, Agent], arguments: argparse.Namespace, progress: Progress
) -> RunReport:
    try:
        return await play_run(
            planned,
            team,
            arguments.out and Path(arguments.out),
            workers=arguments.workers,
            resume=arguments.resume,
            trace=not arguments.no_trace,
            on_start=progress.start,
            on_episode=progress.episode,
        )
    finally:
        await close(list(team.values()))


def told(out: RunReport, arguments: argparse.Namespace) -> int:
    """Prints the report. 1 where no episode could be played."""
    if arguments.json:
        print_json(report_json(out))
    else:
        console().print(screen(out))
        if arguments.out:
            print(shown(f"run folder: {arguments.out} (masgym view {shlex.quote(arguments.out)})"))
    return status_of([out], arguments)
