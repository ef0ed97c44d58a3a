"""`masgym eval --suite v1`: the cells of a frozen suite, one after the other; a submission."""

import argparse
import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import cast

from masgym.agents.base import Agent
from masgym.agents.names import Options, by_role, make_agent
from masgym.cli.arguments import learned, options_of, settings_of
from masgym.cli.ending import close, resumable, status_of
from masgym.cli.progress import Progress
from masgym.cli.screen import print_json, printing_only, shown
from masgym.errors import BadValue, MasgymError
from masgym.runs import RunReport
from masgym.submission import markdown_of, partial
from masgym.suite import chosen, filled, run_suite, speaking
from masgym.suites import Cell, Suite, load_suite
from masgym.types import JSON, Style

FROZEN = ("workflow", "level", "turns", "task_file", "set", "tasks", "samples", "seed", "split")


def run(arguments: argparse.Namespace) -> int:
    """1 where no episode could be played to its end. Raises BadValue for arguments that the suite says itself."""
    suite = load_suite(arguments.suite)
    if given := [name for name in FROZEN if getattr(arguments, name) not in (None, [])]:
        raise BadValue(f"the suite says --{given[0].replace('_', '-')} itself; leave it out (--only plays a part).")
    if not arguments.out:
        raise BadValue("a suite is kept in a folder; say which one with --out DIR.")
    cells, names = chosen(suite, arguments.only), by_role(arguments.agent)
    wanted = [name for cell in cells for name in _called(suite, cell, names).values()]
    with printing_only(result=arguments.json):
        made = _made(dict.fromkeys(wanted), options_of(arguments))  # all of them, before the first cell is played
        progress = Progress(made.values())
    with printing_only(result=arguments.json), resumable(arguments, progress), progress:
        outs = list[RunReport]()
        submission = asyncio.run(_played(suite, names, made, arguments, progress, outs.append))
    missing = partial(suite, submission["cells"])
    if arguments.json:
        print_json(submission)
    else:
        print(markdown_of(submission))
        print(shown(f"submission: {arguments.out}/submission.json" + (f", partial: {missing}" if missing else "")))
    return status_of(outs, arguments)


def _called(suite: Suite, cell: Cell, names: Mapping[str, str]) -> dict[str, str]:
    """Who plays the cell, by id, role or "*"."""
    return {who: filled(name, cell) for who, name in speaking(suite.game(cell, "full"), names).items()}


def _made(names: Iterable[str], options: Options) -> dict[str, Agent]:
    """The agents by name. Raises BadValue that names all who cannot be had, and why the first of them cannot."""
    made, failed = dict[str, Agent](), dict[str, MasgymError]()
    for name in names:
        try:
            made[name] = make_agent(name, options)
        except MasgymError as error:
            failed[name] = error
    if len(failed) > 1:
        first = next(iter(failed.values()))
        raise BadValue(f"{len(failed)} agents cannot be had: {', '.join(failed)}. Of the first: {first}") from first
    for error in failed.values():
        raise error
    return made


async def _played(
    suite: Suite,
    names: Mapping[str, str],
    made: Mapping[str, Agent],
    arguments: argparse.Namespace,
    progress: Progress,
    on_report: Callable[[RunReport], None],
) -> dict[str, JSON]:
    def team(cell: Cell) -> dict[str, Agent]:
        return {who: made[name] for who, name in _called(suite, cell, names).items()}

    def begins(cell: Cell, number: int, total: int) -> None:
        progress.stage(f"{cell.name} ({number} of {total}): ")

    try:
        return await run_suite(
            suite,
            team,
            names,
            arguments.out,
            style=cast(Style, arguments.style or learned(made)),
            only=arguments.only,
            workers=arguments.workers,
            resume=arguments.resume,
            trace=not arguments.no_trace,
            settings=settings_of(arguments),
            sandbox=arguments.sandbox,
            on_cell=begins,
            on_start=progress.start,
            on_episode=progress.episode,
            on_report=on_report,
        )
    finally:
        await close(list(made.values()))
