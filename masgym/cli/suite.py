"""`masgym eval --suite v1`: the cells of a frozen suite, one after the other; a submission."""

import argparse
import asyncio
from collections.abc import Mapping
from typing import cast

from masgym.agents.base import Agent
from masgym.agents.names import split_role
from masgym.cli.arguments import learned, team_of
from masgym.cli.evaluation import close, resumable, settings_of
from masgym.cli.progress import Progress
from masgym.cli.screen import print_json
from masgym.errors import BadValue
from masgym.submission import markdown_of
from masgym.suite import chosen, run_suite
from masgym.suites import Cell, Suite, load_suite
from masgym.types import JSON, Style

FROZEN = ("workflow", "level", "turns", "task_file", "set", "tasks", "samples", "seed", "split")


def run(arguments: argparse.Namespace) -> int:
    """2 for arguments that the suite says itself."""
    suite = load_suite(arguments.suite)
    if given := [name for name in FROZEN if getattr(arguments, name) not in (None, [])]:
        raise BadValue(f"the suite says --{given[0].replace('_', '-')} itself; leave it out (--only plays a part).")
    if not arguments.out:
        raise BadValue("a suite is kept in a folder; say which one with --out DIR.")
    chosen(suite, arguments.only)  # a wrong name is told before models are loaded
    team = team_of(arguments)
    progress = Progress(team.values())
    with resumable(arguments, progress), progress:
        submission = asyncio.run(_played(suite, team, arguments, progress))
    if arguments.json:
        print_json(submission)
    else:
        print(markdown_of(submission))
        print(f"submission: {arguments.out}/submission.json")
    return 0


async def _played(
    suite: Suite, team: Mapping[str, Agent], arguments: argparse.Namespace, progress: Progress
) -> dict[str, JSON]:
    def begins(cell: Cell, number: int, total: int) -> None:
        progress.stage(f"{cell.name} ({number} of {total}): ")

    try:
        return await run_suite(
            suite,
            team,
            dict(map(split_role, arguments.agent)),
            arguments.out,
            style=cast(Style, arguments.style or learned(team)),
            only=arguments.only,
            workers=arguments.workers,
            resume=arguments.resume,
            trace=not arguments.no_trace,
            settings=settings_of(arguments),
            sandbox=arguments.sandbox,
            on_cell=begins,
            on_start=progress.start,
            on_episode=progress.episode,
        )
    finally:
        await close(list(team.values()))
