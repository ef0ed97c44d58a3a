"""What is handed in for a suite: one JSON object whose hashes say which tasks were played.

It shows that the tasks were those of the suite and that its figures follow from its outcomes. It cannot show that
nobody made the outcomes up; the run folders of the cells, with every reply, are for that.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from masgym.episodes import plain
from masgym.estimates import Estimate, mean_of, success_interval
from masgym.report import outcomes_by_task
from masgym.runs import RunReport
from masgym.suites import SUITES, Cell, Suite, load_suite
from masgym.tables import Block, markdown_table
from masgym.types import JSON

FORMAT = 1


def submission_of(
    suite: Suite, found: Mapping[Cell, RunReport], names: Mapping[str, str], style: str
) -> dict[str, JSON]:
    """What was played of the suite, by whom, and what came of it."""
    one = next(iter(found.values())).run
    cells = {cell.name: _cell(out) for cell, out in found.items()}
    made = {
        "format": FORMAT,
        "suite": suite.name,
        "version": suite.version,
        "suite_hash": suite.hash,
        "masgym": one.masgym,
        "agents": dict(names),
        "style": style,
        "settings": dict(one.settings),
        "sandbox": one.sandbox,
        "scores": scores_of(suite, cells),
        "cells": cells,
    }
    return {**made, "hash": hash_of(made)}


def hash_of(submission: Mapping[str, JSON]) -> str:
    """Of all of it but the key "hash"."""
    rest = {key: found for key, found in submission.items() if key != "hash"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def verify_submission(submission: Any) -> tuple[str, ...]:
    """What is wrong with it; () where it is a whole submission whose tasks were those of its suite."""
    if not isinstance(submission, dict):
        return ("it is no JSON object",)
    if submission.get("format") != FORMAT or submission.get("version") not in tuple(SUITES):
        return (
            f"it is of format {submission.get('format')!r} and suite {submission.get('version')!r}, not known here",
        )
    suite = load_suite(str(submission["version"]))
    if submission.get("hash") != hash_of(submission):
        return ("its hash is not that of its content, which was changed",)
    if submission.get("suite_hash") != suite.hash:
        return (f"its suite_hash is not that of {suite.name} {suite.version}",)
    cells = submission.get("cells")
    if not isinstance(cells, dict):
        return ("it has no cells",)
    expected = {cell.name: cell for cell in suite.cells}
    wrong = [f"the suite has no cell {name}" for name in cells if name not in expected]
    wrong += [f"cell {name} is missing" for name in expected if name not in cells]
    wrong += [
        f"cell {name}: {why}"
        for name in cells
        if name in expected
        for why in _wrong(suite, expected[name], cells[name])
    ]
    if not wrong and submission.get("scores") != scores_of(suite, cells):
        wrong.append("its scores do not follow from its outcomes")
    return tuple(wrong)


def markdown_of(submission: Mapping[str, Any]) -> str:
    """The scores as a table: domains by workflows."""
    return markdown_table(table_of(submission))


def table_of(submission: Mapping[str, Any]) -> Block:
    """A row for each domain, a column for each workflow."""
    scores: Mapping[str, Any] = submission["scores"]
    domains = list(dict.fromkeys(domain for found in scores.values() for domain in found["by_domain"]))
    rows = [(domain, *(_shown(found["by_domain"].get(domain)) for found in scores.values())) for domain in domains]
    rows.append(("all domains", *(_shown(found["success"]) for found in scores.values())))
    who = ", ".join(f"{role}={name}" for role, name in submission["agents"].items())
    title = f"{submission['suite']} {submission['version']}: {who}"
    return Block(title=title, header=("success % [95 %]", *scores), rows=tuple(rows))


def _shown(estimate: Mapping[str, float] | None) -> str:
    return "-" if estimate is None else str(Estimate(**estimate))


def _cell(out: RunReport) -> dict[str, JSON]:
    """Outcomes: a list for each task, whether each sample solved it."""
    cost = out.report.cost
    return {
        "task_hash": out.run.task_hash,
        "fingerprint": out.run.fingerprint,
        "success": plain(out.report.success),
        "malformed_rate": out.report.malformed_rate,
        "failures": sum(out.report.failures.values()),
        "C_tok": cost.C_tok,
        "C_call": cost.C_call,
        "C_tool": cost.C_tool,
        "outcomes": list(outcomes_by_task(out.records).values()),
    }


def scores_of(suite: Suite, cells: Mapping[str, Mapping[str, Any]]) -> dict[str, JSON]:
    """Of a workflow: the mean over its domains; of a domain: the mean over its levels. Of the cells that are there."""
    scores: dict[str, JSON] = {}
    for workflow in suite.workflows:
        by_domain: dict[str, list[Estimate]] = {}
        for cell in suite.cells:
            if cell.workflow == workflow and cell.name in cells:
                found = success_interval(cells[cell.name]["outcomes"])
                by_domain.setdefault(cell.level.domain, []).append(found)
        if by_domain:
            means = {domain: mean_of(found) for domain, found in by_domain.items()}
            scores[workflow] = {"success": plain(mean_of(list(means.values()))), "by_domain": plain(means)}
    return scores


def _wrong(suite: Suite, cell: Cell, found: Any) -> Iterable[str]:
    if not isinstance(found, dict):
        yield "it is no object"
        return
    if found.get("task_hash") != cell.level.task_hash:
        yield "its tasks were not those of the suite"
    outcomes, tasks = found.get("outcomes"), len(cell.level.contents)
    if not isinstance(outcomes, list) or len(outcomes) != tasks:
        yield f"it has not the outcomes of {tasks} tasks"
    elif not all(
        isinstance(o, list) and len(o) == suite.samples and all(x in (True, False) for x in o) for o in outcomes
    ):
        yield f"its outcomes are not {suite.samples} of true or false a task"
    elif found.get("success") != plain(success_interval(outcomes)):
        yield "its success does not follow from its outcomes"
