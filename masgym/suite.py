"""Plays a frozen suite: each cell in a run folder of its own, then a submission."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TypeVar

from masgym.agents.base import Agent
from masgym.episodes import EpisodeRecord
from masgym.errors import BadValue, UnknownName
from masgym.evaluate import assign, check_count
from masgym.files import locked, write_whole
from masgym.folder import REPORT, REPORTS, RUN, check_free, finished, play_run, read_records, read_run, write_reports
from masgym.game import Game
from masgym.runs import Plan, Run, RunReport, differing, report_on, run_of
from masgym.submission import CELLS, markdown_of, submission_of
from masgym.suites import Cell, Suite
from masgym.tables import csv_text
from masgym.tools.sandbox import Sandbox
from masgym.types import JSON, Style

SUBMISSION = "submission.json"

T = TypeVar("T")
Team = Mapping[str, Agent]  # by id, role or "*"


def chosen(suite: Suite, only: Sequence[str]) -> tuple[Cell, ...]:
    """The cells whose domain, level, workflow or name is in `only`, domains, levels and workflows each if any of their
    kind is; all of them for none. Raises UnknownName."""
    kinds: Sequence[Callable[[Cell], str]] = (
        lambda cell: cell.level.domain,
        lambda cell: cell.level.level,
        lambda cell: cell.workflow,
        lambda cell: cell.name,
    )
    known = [{kind(cell) for cell in suite.cells} for kind in kinds]
    for name in only:
        if not any(name in names for names in known):
            raise UnknownName("domain, level, workflow or cell", name, set[str]().union(*known[:3]))
    asked = [{name for name in only if name in names} for names in known]
    return tuple(
        cell
        for cell in suite.cells
        if all(not names or kind(cell) in names for kind, names in zip(kinds, asked, strict=True))
    )


def filled(name: str, cell: Cell) -> str:
    """The agent's name in the cell: "hf:runs/{domain}-{workflow}" -> "hf:runs/sokoban-pair". Raises UnknownName."""
    fields = {"domain": cell.level.domain, "level": cell.level.level, "workflow": cell.workflow}

    def field(found: re.Match[str]) -> str:
        if found[1] not in fields:
            raise UnknownName("placeholder", found[0], [f"{{{known}}}" for known in fields])
        return fields[found[1]]

    return re.sub(r"\{([^{}]*)\}", field, name)


async def run_suite(
    suite: Suite,
    agents: Team | Callable[[Cell], Team],
    names: Mapping[str, str],
    folder: Path | str,
    *,
    style: Style = "full",
    only: Sequence[str] = (),
    workers: int = 8,
    resume: bool = False,
    trace: bool = True,
    settings: Mapping[str, JSON] | None = None,
    sandbox: Sandbox = "auto",
    on_cell: Callable[[Cell, int, int], None] = lambda cell, number, total: None,
    on_start: Callable[[Sequence[EpisodeRecord], int], None] = lambda done, total: None,
    on_episode: Callable[[EpisodeRecord], None] = lambda record: None,
    on_report: Callable[[RunReport], None] = lambda out: None,
) -> dict[str, JSON]:
    """Plays all cells, or those that `only` names, each in `folder/cells/NAME`; -> what `submission.json` then holds:
    all cells of the folder that are finished, so that a suite can be played in parts.

    Agents by id, role or "*", the same in all cells or a team for each; a role that a cell's workflow lacks is left out
    there. `names` may have placeholders (`filled`): the submission has them, a cell's run the name that played there.
    `on_cell` is told which cell begins, counted from 1. With fewer than all cells the submission is incomplete, and
    `verify_submission` says so. Raises as `play_run` and `filled`, BadFile where this installation makes other tasks,
    and BadValue where a finished cell of the folder was played by others, or otherwise.
    """
    check_count("workers", workers, 1)
    place, cells = Path(folder).absolute(), chosen(suite, only)  # agents may go elsewhere
    invited = {cell: agents if isinstance(agents, Mapping) else agents(cell) for cell in cells}
    teams = {cell: _team(suite.game(cell, style), invited[cell]) for cell in cells}
    _check_spoken([suite.game(cell, style) for cell in cells], [names, *invited.values()])
    run_of_cell = partial(_run, suite, names=names, style=style, settings=settings, sandbox=sandbox)
    runs = {cell: run_of_cell(cell) for cell in cells}
    drawn = cache(suite.tasks)  # a level's tasks are the same under every workflow
    with locked(place):
        if not (place / CELLS).exists():
            check_free(place, (RUN, SUBMISSION, *REPORTS), CELLS)
        found = _finished(suite, place, set(suite.cells) - set(cells), run_of_cell)
        for number, (cell, run) in enumerate(runs.items(), 1):
            on_cell(cell, number, len(cells))
            where = place / CELLS / cell.name
            out = finished(where, run) if resume else None
            if out:
                suite.check_played(cell, out.records, where)
                write_reports(out, where)  # whatever became of them
            found[cell] = out or await play_run(
                Plan(run=run, game=suite.game(cell, style), tasks=drawn(cell.level)),
                teams[cell],
                where,
                workers=workers,
                resume=resume,
                trace=trace,
                on_start=on_start,
                on_episode=on_episode,
            )
            on_report(found[cell])
        found = {cell: found[cell] for cell in suite.cells if cell in found}
        submission = submission_of(suite, found, names, style)
        _write(place, submission, found)
    return submission


def _finished(
    suite: Suite, place: Path, cells: Iterable[Cell], run_of_cell: Callable[[Cell], Run]
) -> dict[Cell, RunReport]:
    """Those of the cells that are in the folder with their reports. Raises BadValue for one that was played by others,
    or otherwise: it has no place in the same submission; and for one that lacks episodes. Raises BadFile for episodes
    of other tasks."""
    found: dict[Cell, RunReport] = {}
    for cell in cells:
        where = place / CELLS / cell.name
        if not (where / REPORT).exists():
            continue
        own = read_run(where)
        if keys := differing(own, run_of_cell(cell)):
            raise BadValue(
                f"{where} was played with other arguments ({', '.join(keys)} differ), so it cannot be in the same "
                "submission. Give the same arguments as then, or choose another folder."
            )
        records = read_records(where, own)
        suite.check_played(cell, records, where)
        if len(records) < (total := own.tasks * own.samples):
            raise BadValue(
                f"{where} has its report, but {len(records)} of its {total} episodes: --only {cell.name} --resume "
                "plays the others, as does --resume without --only."
            )
        found[cell] = report_on(own, records)
        write_reports(found[cell], where)  # whatever became of them
    return found


def _write(place: Path, submission: Mapping[str, JSON], found: Mapping[Cell, RunReport]) -> None:
    """`submission.json` comes last: where it is, all is."""
    write_whole(place / "report.csv", csv_text({cell.name: out for cell, out in found.items()}))
    write_whole(place / "report.md", markdown_of(submission))
    write_whole(place / SUBMISSION, json.dumps(submission, indent=1) + "\n")


def speaking(game: Game, by_role: Mapping[str, T]) -> dict[str, T]:
    """Those who speak in the game, of agents, or their names, by id, role or "*"."""
    return {who: one for who, one in by_role.items() if who in (*game.agents, *game.roles, "*")}


def _team(game: Game, agents: Team) -> dict[str, Agent]:
    """Those of the agents who speak in the game. Raises UnknownName where one of its members has no player."""
    team = speaking(game, agents)
    assign(game, team)
    return team


def _check_spoken(games: Iterable[Game], invited: Iterable[Mapping[str, object]]) -> None:
    known = {"*", *(who for game in games for who in (*game.agents, *game.roles))}
    for who in (who for agents in invited for who in agents):
        if who not in known:
            raise UnknownName("agent or role", who, known)


def _run(
    suite: Suite,
    cell: Cell,
    *,
    names: Mapping[str, str],
    style: Style,
    settings: Mapping[str, JSON] | None,
    sandbox: Sandbox,
) -> Run:
    game = suite.game(cell, style)
    return run_of(
        game,
        {who: filled(name, cell) for who, name in speaking(game, names).items()},
        split=suite.split,
        tasks=len(cell.level.contents),
        task_hash=cell.level.task_hash,
        samples=suite.samples,
        seed=suite.seed,
        settings=settings,
        sandbox=sandbox,
    )
