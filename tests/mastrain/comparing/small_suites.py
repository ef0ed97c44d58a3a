"""Suites of few cells, and runs that only look like some."""

import json

import yaml

from masgym.episodes import EpisodeRecord
from masgym.report import summarise, to_json


def record(index, success):
    return EpisodeRecord(
        task=f"t{index}",
        index=index,
        sample=0,
        level="easy",
        optimum=None,
        success=success,
        ended="done" if success else "T",
        turns=2,
        returns=float(success),
        event_count=2,
        replies=4,
        tool_calls=1,
        malformed=(),
        tokens=20,
        prompt_tokens=100,
        terms={},
        latency=0.1,
    )


def report(share, tasks=10):
    return to_json(summarise([record(i, i < share * tasks) for i in range(tasks)]))


def fake(cell, out):
    """A run that got 20 % better for every thousand tokens."""
    folder = out / "cells" / cell.hash
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(cell.data(out)))
    trains = cell.config["algo"]["name"] not in ("warm", "best_of_k")
    (folder / "before.json").write_text(json.dumps({"sampled": report(0.2), "greedy": report(0.3)}))
    after = {"sampled": report(0.6 + 0.1 * cell.seed if trains else 0.2), "greedy": report(0.7)}
    (folder / "after.json").write_text(json.dumps(after))
    if trains:
        rows = [
            {"step": s, "budget/sampled_tokens": 1000 * s, "validation/success": 0.2 + 0.2 * s} for s in range(1, 3)
        ]
        (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return 0


SMALL = """
seeds: [0, 1]
common: [budget.sampled_tokens=2000, train.eval_tasks=10]
domains:
  plan_path: [env=plan_path]
methods:
  warm: [algo=warm]
  srpo ensemble(5): [algo=srpo, workflow=ensemble, workflow.params.n=5]
"""


CHAIN = """
seeds: [0]
common: [budget.sampled_tokens=2000, train.eval_tasks=10]
domains:
  plan_path: [env=plan_path]
methods:
  together: [algo=warm, "policies.init_from={tool: <tool alone>, actor: <actor alone>}"]
  swapped: [algo=warm, "policies.init_from={tool: <actor alone>:actor, actor: <actor alone>:tool}"]
  tool alone: [algo=at_grpo_explore, "policies.frozen=[actor]"]
  actor alone: [algo=at_grpo_explore, "policies.frozen=[tool]"]
"""
