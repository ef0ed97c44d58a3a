"""Run folders made by hand, for the report's tests: a healthy run, and what is changed in it."""

import json
import shutil

import yaml

from masgym.estimates import Estimate
from masgym.report import Cost, Report, to_json

CONFIG = {
    "seed": 0,
    "env": {"name": "sokoban", "T": 4},
    "workflow": {"name": "pair", "params": {}},
    "policies": {"kind": "per_role", "map": None, "frozen": []},
    "model": {"kind": "nano", "max_new_tokens": 8},
    "algo": {
        "name": "at_grpo",
        "branches": 8,
        "greedy_fraction": 0.0,
        "turns": 0,
        "stop_hopeless": False,
        "max_grad_norm": 1.0,
    },
    "train": {"steps": 20, "tasks": 64, "validate_tasks": 100},
    "budget": {"sampled_tokens": 0},
}
STEPS = 20
VISITS = {"turn1/0": 100, "turn2/0": 40, "turn2/50": 50, "turn3/25": 20, "turn3/75": 30}


def healthy(step):
    """The metrics of one step of a run that learns."""
    done = step / STEPS
    row = {
        "sample/success": 0.2 + 0.3 * done,
        "sample/candidates": 1000,
        "sample/dropped_candidates": 0,
        "sample/tokens": 5000,
        "sample/playout_tokens": 0,
        "sample/calls": 1000,
        "sample/tool_calls": 20,
        "sample/lost": 0.1,
        "groups/count": 500,
        "groups/zero_variance": 0.2,
        "groups/singleton": 0.0,
        "groups/zero_variance/tool": 0.2,
        "groups/zero_variance/actor": 0.2,
        "sets/K1/candidates": 1000,
        "budget/sampled_tokens": 5000 * step,
        **{f"visits/{cell}": count for cell, count in VISITS.items()},
    }
    for role in ("tool", "actor"):
        row |= {
            f"{role}/reward": done + 0.01 * (step % 2),
            f"{role}/malformed": 0.03,
            f"{role}/reply_tokens": 4.0,
            f"{role}/truncated": 0.0,
            f"{role}/term/format": 0.1,
            f"{role}/loss": -0.1,
            f"{role}/grad_norm": 0.5 + 0.01 * (step % 3),
            f"{role}/learning_rate": 1e-4,
            f"{role}/ratio": 1.001,
            f"{role}/clip_fraction": 0.02,
            f"{role}/approx_kl": 0.001,
            f"{role}/entropy": 0.8 - 0.2 * done,
        }
    if step % 2 == 0:
        row |= {
            "validation/success": 0.2 + 0.4 * done,
            "validation/malformed": 0.03,
            "validation/lost": 0.1,
            "validation/tokens": 40.0,
            "validation/calls": 10.0,
            "validation/tool_calls": 0.0,
            **{f"validation/visits/{cell}": count for cell, count in VISITS.items()},
        }
    return row


def report(success, low, high, malformed_rate=0.02):
    return Report(
        success=Estimate(mean=success, low=low, high=high),
        pass_at_k={"1": Estimate(mean=success, low=low, high=high)},
        episodes=300,
        tasks=300,
        turns_to_solve=2.0,
        returns=1.0,
        malformed_rate=malformed_rate,
        malformed_reasons={"the reply was empty": 9},
        tokens_per_episode=40.0,
        terms={"tool_0/format": 0.1, "actor_0/format": 0.1},
        by_level={},
        failures={},
        cost=Cost(C_tok=12000, C_call=3000, C_tool=0, U_tok=5.0, prompt_tokens=9000, K_e=1.0, reply_tokens=4.0),
    )


START, END = report(0.30, 0.25, 0.35), report(0.60, 0.54, 0.66)


def metrics(change=None, steps=STEPS):
    """Rows of metrics.jsonl; `change(step)` is what differs from the healthy run (None takes a metric out)."""
    rows = [{"step": step, **healthy(step), **(change(step) if change else {})} for step in range(1, steps + 1)]
    return [{name: found for name, found in row.items() if found is not None} for row in rows]


def run_folder(folder, rows=None, *, before=START, after=END, rollouts=(), config=None):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(merged(CONFIG, config or {})))
    for name, found in (("metrics.jsonl", metrics() if rows is None else rows), ("rollouts.jsonl", rollouts)):
        if found:
            (folder / name).write_text("".join(json.dumps(row) + "\n" for row in found))
    for name, found in (("before.json", before), ("after.json", after)):
        if found:
            (folder / name).write_text(json.dumps({"sampled": to_json(found)}))
    return folder


def merged(base, changes):
    both = {**base, **changes}
    return {
        k: merged(base[k], v) if isinstance(v, dict) and isinstance(base.get(k), dict) else v for k, v in both.items()
    }


def reply(group, candidate, reward, *, task="sokoban/train/0/00", event=0, agent="actor_0", words="R", **more):
    """A row of rollouts.jsonl."""
    return {
        "step": 1,
        "group": group,
        "task": task,
        "level": "easy",
        "episode": f"{task}/0",
        "event": f"{task}/0/{event}",
        "agent": agent,
        "turn": event,
        "candidate": candidate,
        "chosen": candidate == 0,
        "prompt": [{"role": "user", "content": f"act\n{task} {event} {agent}"}],
        "reply": words,
        "reward": reward,
        "advantage": 0.0,
        "terms": {},
        "penalty": 0.0,
        "malformed": False,
        "note": "R",
        "gain": 0.0,
        "ended": "",
        "solved": False,
        **more,
    }


def four_groups():
    """A flat group of one reply, one with signal, one of malformed replies, one that all solve."""
    bad = {"malformed": True, "note": "the first move, <b>R</b>, is blocked"}
    return [
        *(reply("g0", c, -1.0) for c in range(4)),
        *(reply("g1", c, float(c), event=1, words="R" * c) for c in range(4)),
        *(reply("g2", c, -3.0, task="sokoban/train/1/11", words="D" * c, **bad) for c in range(4)),
        *(reply("g3", c, 2.0, task="sokoban/train/1/11", event=1, words="L" * c, solved=True) for c in range(4)),
    ]
