"""Files of a run that somebody or something changed: whatever they hold, a command ends with what it makes of them, or
with one line that says what is wrong; never with another exception."""

import copy
import json
import random
import re
from contextlib import suppress

import pytest

from masgym.cli import main
from masgym.errors import MasgymError
from masgym.viewer import write_page

DEEP = "@900@"  # stands for a list of 900 levels
VALUES = (
    *(None, True, False, 0, -1, 3, 1.5, 10**40, -(10**400), 1e308, float("nan"), float("inf")),
    *("", "x", "\ud800", "\x00", "a\nb", "\x1b[31m", "[red]", "9" * 3000, "__proto__"),
    *([], [None], [[]], [1, "x"], {}, {"a": {"b": []}}, {"__proto__": 1}, DEEP),
)
EVAL = ["eval", "sokoban", "--agent", "random", "--turns", "3", "--tasks", "2", "--samples", "2"]


def rollout(turn, agent, candidate, **more):
    return {
        **{
            "step": 3,
            "group": f"0/{turn}/{agent}",
            "task": "sokoban/train/0/00",
            "level": "easy",
            "episode": "0/3/0/0",
        },
        **{"event": f"0/{turn}/{agent}", "agent": agent, "turn": turn, "candidate": candidate, "chosen": not candidate},
        **{"prompt": [{"role": "user", "content": f"{agent}\n####"}], "reply": "R", "reward": 0.5, "advantage": 0.0},
        **{"tokens": [1, 2], "logps": [-0.5, -0.5], "terms": {"format": 0.1}, "penalty": 0.0, "malformed": False},
        **{"note": "R", "gain": 0.5, "ended": "", "solved": False, "policy": "a", "version": 1, "finish": "stop"},
        **{"tools": [{"outcome": "ok", "value": {"stdout": "R", "error": ""}}], **more},
    }


ROLLOUTS = [rollout(0, agent, candidate) for agent in ("tool_0", "actor_0") for candidate in (0, 1)]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs over the same tasks."""
    folder = tmp_path_factory.mktemp("runs")
    for name in ("a", "b"):
        assert main([*EVAL, "--out", str(folder / name), "--json"]) == 0
    return folder


def mutate(found, rng):
    """One value, anywhere in it, becomes another one, goes, or comes in."""
    while True:
        keys = list(found) if isinstance(found, dict) else list(range(len(found)))
        value = copy.deepcopy(rng.choice(VALUES))
        if not keys or rng.random() < 0.05:
            if isinstance(found, dict):
                found[rng.choice(["more", "text", "events"])] = value
            else:
                found.append(value)
            return
        key = rng.choice(keys)
        if not isinstance(found[key], dict | list) or not found[key] or rng.random() < 0.25:
            if rng.random() < 0.2:
                del found[key]
            else:
                found[key] = value
            return
        found = found[key]


def damaged(text, rng):
    """The lines of a JSONL file, as bytes, some of them changed."""
    rows = [json.loads(line) for line in text.splitlines()]
    for _ in range(rng.choice([1, 1, 1, 3])):
        mutate(rng.choice(rows), rng)
    lines = [re.sub(r'"@(\d+)@"', lambda m: "[" * int(m[1]) + "]" * int(m[1]), json.dumps(row)) for row in rows]
    if rng.random() < 0.1:
        lines.append(rng.choice(lines))
    data = bytearray("".join(line + "\n" for line in lines).encode())
    if rng.random() < 0.1:
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def told(capsys, *words):
    """How the command ended: 0 and 1 with a result, 2 with one line."""
    status = main([str(word) for word in words])
    out, err = capsys.readouterr()
    assert status in (0, 1, 2), words
    assert "\x1b" not in out + err
    if status == 2:
        assert out == ""
        assert err.startswith("masgym: ")
        assert err.count("\n") == 1
        assert len(err) < 1500
    return status


@pytest.mark.parametrize("file", ["run.json", "episodes.jsonl"])
def test_a_run_that_was_changed(runs, tmp_path, capsys, file):
    """`view`, `compare` and `eval --resume`."""
    rng, seen = random.Random(0), set()
    for number in range(60):
        folder = tmp_path / str(number)
        folder.mkdir()
        for name in ("run.json", "episodes.jsonl"):
            text = (runs / "a" / name).read_text()
            text = json.dumps(json.loads(text)) if name == "run.json" else text
            (folder / name).write_bytes(damaged(text, rng) if name == file else text.encode())
        seen.add(("view", view := told(capsys, "view", folder)))
        assert (folder / "view.html").exists() == (view == 0)
        seen.add(("compare", told(capsys, "compare", runs / "b", folder, "--json")))
        seen.add(("compare", told(capsys, "compare", folder, runs / "b")))
        seen.add(("resume", told(capsys, *EVAL, "--out", folder, "--resume")))
    assert {("view", 0), ("compare", 0), ("compare", 2), ("resume", 2)} <= seen
    assert file == "run.json" or {("view", 2), ("resume", 0)} <= seen


def test_rollouts_that_were_changed(tmp_path, capsys):
    """`view` and `audit`, which take the same rows."""
    rng, seen = random.Random(1), set()
    text = "".join(json.dumps(row) + "\n" for row in ROLLOUTS)
    for number in range(100):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "rollouts.jsonl").write_bytes(damaged(text, rng))
        view, audit = told(capsys, "view", folder), told(capsys, "audit", folder / "rollouts.jsonl")
        assert (folder / "view.html").exists() == (view == 0)
        seen |= {("view", view), ("audit", audit)}
    assert {("view", 0), ("view", 2), ("audit", 0), ("audit", 2)} <= seen


@pytest.mark.parametrize("field", sorted(ROLLOUTS[0]))
def test_no_field_of_a_rollout_is_taken_for_what_it_is_not(tmp_path, field):
    for value in VALUES:
        rows = [{**ROLLOUTS[0], field: value}, *ROLLOUTS[1:]]
        (tmp_path / "rollouts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        with suppress(MasgymError):
            write_page(tmp_path, tmp_path / "page.html")
