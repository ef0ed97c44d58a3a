"""Finished runs over the same tasks, side by side, with paired differences of success to the first of them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from rich.console import Group

from masgym.episodes import plain
from masgym.errors import BadValue
from masgym.estimates import Estimate, paired_difference
from masgym.folder import load
from masgym.report import Report, outcomes_by_task
from masgym.run_json import report_json
from masgym.runs import RunReport
from masgym.tables import Block, markdown_table, number, rich_table, title_of
from masgym.tags import printable
from masgym.types import JSON, value


@value
class Difference:
    """Success of a run minus that of the first one, paired by task."""

    success: Estimate
    better: int  # tasks on which the run's share of solved samples is larger
    equal: int
    worse: int


@value
class Comparison:
    """Runs by label; differences of all but the first."""

    runs: Mapping[str, RunReport]
    differences: Mapping[str, Difference]

    def to_json(self) -> dict[str, JSON]:
        return {
            "runs": {label: report_json(out) for label, out in self.runs.items()},
            "differences": plain(self.differences),
        }


def compare(folders: Mapping[str, Path | str]) -> Comparison:
    """Label -> folder of a finished run. Raises BadValue for runs over different tasks, BadFile as `load`."""
    return compare_runs({label: load(folder) for label, folder in folders.items()})


def compare_runs(runs: Mapping[str, RunReport]) -> Comparison:
    """Raises BadValue for runs over different tasks, and for fewer than two."""
    if len(runs) < 2:
        raise BadValue(f"{len(runs)} run(s) to compare; at least two were expected.")
    (first, base), *others = runs.items()
    for label, out in others:
        if (out.run.task_hash, out.run.tasks) != (base.run.task_hash, base.run.tasks):
            raise BadValue(
                f"{first} and {label} played different tasks, so they cannot be compared: {_tasks(base)} there, "
                f"{_tasks(out)} here. Play both with the same environment, level, split and number of tasks."
            )
    return Comparison(runs=dict(runs), differences={label: _difference(out, base) for label, out in others})


def table(comparison: Comparison) -> Group:
    """For the screen."""
    return Group(*(rich_table(block) for block in _blocks(comparison)))


def markdown(comparison: Comparison) -> str:
    return "\n".join(markdown_table(block) for block in _blocks(comparison))


def _difference(out: RunReport, base: RunReport) -> Difference:
    one, other = (list(outcomes_by_task(run.records).values()) for run in (out, base))
    shares = [(fmean(a), fmean(b)) for a, b in zip(one, other, strict=True)]
    return Difference(
        success=paired_difference(one, other),
        better=sum(a > b for a, b in shares),
        equal=sum(a == b for a, b in shares),
        worse=sum(a < b for a, b in shares),
    )


def _tasks(out: RunReport) -> str:
    run = out.run
    return printable(f"{run.tasks} {run.split[:20]} tasks of {run.environment[:80]}, hash {run.task_hash[:12]}")


def _blocks(comparison: Comparison) -> Sequence[Block]:
    base = next(iter(comparison.runs))
    header = (
        *("", "success % [95 %]", "difference % [95 %]", "better, equal, worse", "turns", "malformed %", "return"),
        "failed episodes",
    )
    costs = ("", "C_tok", "C_call", "C_tool", "U_tok", "K_e", "P50, P95 s")
    side = tuple(_row(label, out, comparison.differences.get(label)) for label, out in comparison.runs.items())
    return (
        Block(title=f"Success; differences to {base}, paired by task", header=header, rows=side),
        Block(title="Cost", header=costs, rows=tuple(_cost(label, out) for label, out in comparison.runs.items())),
        Block(
            title="What was run",
            header=("", "who", "samples, seed", "settings"),
            rows=tuple(
                (label, title_of(out), f"{out.run.samples}, {out.run.seed}", json.dumps(out.run.settings))
                for label, out in comparison.runs.items()
            ),
        ),
    )


def _row(label: str, out: RunReport, difference: Difference | None) -> tuple[str, ...]:
    report = out.report
    counts = "" if difference is None else f"{difference.better}, {difference.equal}, {difference.worse}"
    return (
        *(label, str(report.success), "" if difference is None else str(difference.success), counts),
        *(number(report.turns_to_solve), f"{100 * report.malformed_rate:.2f}", number(report.returns)),
        _failed(report),
    )


def _failed(report: Report) -> str:
    """ "5 of 40: connection 3, timeout 2": success counts them as not solved, though nobody may have played."""
    named = ", ".join(f"{name} {count}" for name, count in report.failures.items())
    return f"{sum(report.failures.values())} of {report.episodes}" + (f": {named}" if named else "")


def _cost(label: str, out: RunReport) -> tuple[str, ...]:
    cost = out.report.cost
    return (
        *(label, str(cost.C_tok), str(cost.C_call), str(cost.C_tool), number(cost.U_tok), number(cost.K_e)),
        f"{out.latency.p50:.3g}, {out.latency.p95:.3g}",
    )
