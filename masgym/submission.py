"""What is handed in for a suite: one JSON object whose hashes say which tasks were played (`masgym.verification`).

It shows that the tasks were those of the suite and that its figures follow from its outcomes. It cannot show that
nobody made the outcomes up; the run folders of the cells, with every reply, are for that.
"""

import hashlib
import json
from collections.abc import Collection, Mapping
from typing import Any

from masgym.episodes import plain
from masgym.estimates import Estimate, mean_of, success_interval
from masgym.report import outcomes_by_task
from masgym.runs import RunReport
from masgym.suites import Cell, Suite
from masgym.tables import Block, markdown_table
from masgym.types import JSON

FORMAT = 1
CELLS = "cells"  # the folder beside it that has the run folders of its cells, by name
_LISTED = 3  # missing cells that are named


def submission_of(
    suite: Suite, found: Mapping[Cell, RunReport], names: Mapping[str, str], style: str
) -> dict[str, JSON]:
    """What was played of the suite, by whom, and what came of it."""
    one = next(iter(found.values())).run
    cells = {cell.name: cell_of(out) for cell, out in found.items()}
    made = {
        "format": FORMAT,
        "suite": suite.name,
        "version": suite.version,
        "suite_hash": suite.hash,
        "protocol": protocol_of(suite),
        "masgym": one.masgym,
        "agents": dict(names),
        "style": style,
        "settings": dict(one.settings),
        "sandbox": one.sandbox,
        "scores": scores_of(suite, cells),
        "cells": cells,
    }
    return {**made, "hash": hash_of(made)}


def partial(suite: Suite, cells: Collection[str]) -> str:
    """ "3 of 63 cells; missing: a, b, c and 57 more"; "" where all are there."""
    missing = [cell.name for cell in suite.cells if cell.name not in cells]
    more = f" and {len(missing) - _LISTED} more" if len(missing) > _LISTED else ""
    count = f"{len(suite.cells) - len(missing)} of {len(suite.cells)} cells"
    return f"{count}; missing: {', '.join(missing[:_LISTED])}{more}" if missing else ""


def protocol_of(suite: Suite) -> dict[str, JSON]:
    """How all of its cells are played."""
    return {"split": suite.split, "samples": suite.samples, "seed": suite.seed, "T": suite.T}


def hash_of(submission: Mapping[str, JSON]) -> str:
    """Of all of it but the key "hash"."""
    rest = {key: found for key, found in submission.items() if key != "hash"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


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


def cell_of(out: RunReport) -> dict[str, JSON]:
    """What it says of a cell. Outcomes: a list for each task, whether each sample solved it."""
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
