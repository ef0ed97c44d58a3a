"""The folder of a run: what is needed to run it again, every episode as it ends, the report.

    run.json        everything to rerun; written whole before the first episode
    episodes.jsonl  a line for each episode, in the order in which they ended (`masgym.episodes.row_of`)
    report.json     once every episode is there (schema: report.schema.json), with report.md and report.csv

A process may be killed at any moment; with `resume` only the episodes that are missing are played, and again those that
were lost to an endpoint (`masgym.outages`): their lines go, and the old report with them. The report depends on nothing
but the episodes: neither on the number of workers nor on interruptions, but for the key "latency".
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import compress
from pathlib import Path

from masgym.agents.base import Agent
from masgym.episodes import EpisodeRecord, EventTrace, row_of
from masgym.errors import BadFile, BadValue
from masgym.evaluate import assign, check_count, check_size, play_jobs
from masgym.files import append_line, drop_torn_line, keep_lines, locked, read_lines, write_whole
from masgym.outages import is_lost, lost_of
from masgym.paths import regular
from masgym.records import check_played, record_of
from masgym.run_json import report_json, run_from_json, run_json
from masgym.runs import Plan, Run, RunReport, differing, report_on
from masgym.tables import csv_text, markdown, title_of
from masgym.tasks import object_of
from masgym.tools.driver import default_driver
from masgym.types import JSON

RUN, EPISODES, REPORT = "run.json", "episodes.jsonl", "report.json"
REPORTS = (REPORT, "report.md", "report.csv")


async def play_run(
    plan: Plan,
    agents: Mapping[str, Agent],
    folder: Path | str | None,
    *,
    workers: int = 8,
    resume: bool = False,
    trace: bool = True,
    on_start: Callable[[Sequence[EpisodeRecord], int], None] = lambda done, total: None,
    on_episode: Callable[[EpisodeRecord], None] = lambda record: None,
) -> RunReport:
    """Plays what is missing of the plan and writes the report. Without a folder nothing is kept.

    resume: go on in a folder that holds the same run (or nothing yet), which plays lost episodes again; the server may
    have moved since, `run.json` keeps where it was at first. trace: keep what was said at every event.
    `on_start` gets the episodes that are not played again, and how many there are in all. Raises BadValue for a folder
    that holds another run, or one that was not to be resumed, and what an agent raises; what was over by then is kept.
    """
    check_count("workers", workers, 1)
    check_size(len(plan.tasks), plan.run.samples)
    team, place = assign(plan.game, agents), None if folder is None else Path(folder)
    home = place and place.absolute()  # agents may go elsewhere
    with nullcontext() if place is None else locked(place):
        found = [] if place is None else _begin(plan, place, resume)
        run = plan.run if place is None else read_run(place)
        on_start(found, len(plan.tasks) * plan.run.samples)

        def done(record: EpisodeRecord, events: Sequence[EventTrace]) -> None:
            row = _checked_row(record, events, plan.run)
            if home is not None:
                append_line(home / EPISODES, row)
            on_episode(record)

        there = {(record.index, record.sample) for record in found}
        played = await play_jobs(
            plan.game,
            team,
            [job for job in _jobs(plan.run) if job not in there],
            plan.tasks.__getitem__,
            key=("evaluate", plan.run.seed),
            run=default_driver(plan.run.sandbox),
            workers=workers,
            done=done,
            trace=trace and place is not None,
        )
        out = report_on(run, (*found, *played))
        if home is not None:
            write_reports(out, home)
        return out


def _checked_row(record: EpisodeRecord, events: Sequence[EventTrace], run: Run) -> dict[str, JSON]:
    """The line of `episodes.jsonl`, which can be read again. Raises BadFile."""
    row, where = row_of(record, events), "an episode that was played"
    check_played(record_of(row, where), row, run.game, where)
    return row


def read_run(folder: Path | str) -> Run:
    """Raises BadFile for what is no run folder."""
    path = Path(folder) / RUN
    try:
        text = regular(path).read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        why = (isinstance(error, OSError) and error.strerror) or error
        raise BadFile(f"{folder} is no folder of a run: its {RUN} cannot be read: {why}.") from error
    return run_from_json(object_of(text, str(path)), str(path))


def read_rows(folder: Path | str) -> Iterator[dict[str, JSON]]:
    """The lines of `episodes.jsonl`, one at a time, as JSON. Raises BadFile."""
    return (row for _, row in read_lines(Path(folder) / EPISODES))


def read_records(folder: Path | str, run: Run) -> tuple[EpisodeRecord, ...]:
    """The episodes that a folder holds, in the order in which they ended. Raises BadFile: no record, none of this run,
    or one that is there twice."""
    there, names, found = set[tuple[int, int]](), dict[int, str](), list[EpisodeRecord]()
    for where, row in read_lines(Path(folder) / EPISODES):
        record = record_of(row, where)
        check_played(record, row, run.game, where)
        job = (record.index, record.sample)
        if job in there or not (0 <= record.index < run.tasks and 0 <= record.sample < run.samples):
            raise BadFile(f"{where}: task {record.index}, sample {record.sample} is not in the run, or here twice.")
        if not record.task.startswith(f"{run.game['domain']['name']}/{run.split}/{record.index}/"):
            raise BadFile(f"{where}: task {record.task[:80]!r} is not number {record.index} of the run's tasks.")
        if (name := names.setdefault(record.index, record.task)) != record.task:
            raise BadFile(f"{where}: task {record.index} is {record.task[:80]!r}, in another line {name[:80]!r}.")
        there.add(job)
        found.append(record)
    return tuple(found)


def load(folder: Path | str) -> RunReport:
    """What a finished run came to. Raises BadFile for one that is not finished, and as `read_run`, `read_records`."""
    run = read_run(folder)
    records = read_records(folder, run)
    if len(records) < run.tasks * run.samples:
        raise BadFile(
            f"the run in {folder} has {len(records)} of its {run.tasks * run.samples} episodes; resume it first."
        )
    return report_on(run, records)


def finished(folder: Path | str, run: Run) -> RunReport | None:
    """What that very run came to, if the folder has its report and nothing in it is to be played. Raises as `read_run`
    and `read_records`."""
    if not (Path(folder) / REPORT).exists() or differing(own := read_run(folder), run):
        return None
    records = read_records(folder, own)
    return None if len(records) < run.tasks * run.samples or lost_of(own, records) else report_on(own, records)


def write_reports(out: RunReport, folder: Path) -> None:
    """`report.json` comes last: where it is, all is."""
    write_whole(folder / "report.md", markdown(out))
    write_whole(folder / "report.csv", csv_text({title_of(out): out}))
    write_whole(folder / REPORT, json.dumps(report_json(out), indent=1, allow_nan=False) + "\n")


def _jobs(run: Run) -> list[tuple[int, int]]:
    return [(index, sample) for index in range(run.tasks) for sample in range(run.samples)]


def _begin(plan: Plan, folder: Path, resume: bool) -> tuple[EpisodeRecord, ...]:
    """The folder with its `run.json` -> the episodes that are there; those that were lost no longer are."""
    if not (folder / RUN).exists():
        check_free(folder, (EPISODES, *REPORTS), RUN)
        write_whole(folder / RUN, json.dumps(run_json(plan.run), indent=1) + "\n")
        return ()
    if not resume:
        raise BadValue(f"{folder} holds a run already; resume it, or choose another folder.")
    old = read_run(folder)
    if keys := differing(old, plan.run):
        key = keys[0]
        raise BadValue(
            f"{folder} holds another run: {', '.join(keys)} differ ({key}: {repr(getattr(old, key))[:300]} there, "
            f"{repr(getattr(plan.run, key))[:300]} here). Give the same arguments, or choose another folder."
        )
    found = _of_plan(read_records(folder, plan.run), plan)  # before anything is changed
    drop_torn_line(folder / EPISODES)
    kept = [not is_lost(record, plan.run) for record in found]
    if sum(kept) < len(_jobs(plan.run)):
        _drop_reports(folder)
    if not all(kept):
        keep_lines(folder / EPISODES, kept)
    return tuple(compress(found, kept))


def _drop_reports(folder: Path) -> None:
    """They are of episodes that are to be played. The one that says that all is there goes first."""
    for name in REPORTS:
        try:
            (folder / name).unlink(missing_ok=True)
        except OSError as error:
            raise BadFile(f"{folder / name} cannot be removed: {error.strerror}.") from error


def check_free(folder: Path, names: Iterable[str], sign: str) -> None:
    """Raises BadValue where files that are to be written are there, though what was written before them is not: they
    are somebody's own."""
    if there := [name for name in names if (folder / name).exists()]:
        raise BadValue(f"{folder} holds {there[0]} without {sign}; choose another folder.")


def _of_plan(records: tuple[EpisodeRecord, ...], plan: Plan) -> tuple[EpisodeRecord, ...]:
    for record in records:
        task = plan.tasks[record.index]
        for name, found, own in (
            ("task", record.task, task.id),
            ("level", record.level, task.level),
            ("optimum", record.optimum, task.optimum),
        ):
            if found != own:
                raise BadFile(
                    f"the folder's episode of task {record.index} is of {name} {repr(found)[:80]}; "
                    f"the run's task there is of {own!r}. Its {EPISODES} was changed."
                )
    return records
