"""Run folders that were changed: what contradicts itself is told."""

import json
import math

import pytest
from played_runs import Wordy, planned, played

import masgym
from masgym.agents.oracle import OracleAgent
from masgym.agents.random import RandomAgent
from masgym.errors import BadFile
from masgym.folder import load, read_rows, read_run
from masgym.registry import make_workflow
from masgym.runs import plan


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda row: row.pop("success"), "line 2, field 'success' is missing; bool was expected"),
        (lambda row: row.update(turns="3"), "field 'turns': '3'; int was expected"),
        (lambda row: row.update(index=0, sample=0), "not in the run, or here twice"),
        (lambda row: row.update(index=99), "not in the run, or here twice"),
        (lambda row: row.update(task="plan_path/test/0/ffff"), "not number 1 of the run's tasks"),
        (lambda row: row.update(task="plan_path/test/1/ffff"), "was changed"),
        (lambda row: row.update(level="x"), "of level 'x'; the run's task there is of"),
        (lambda row: row.update(optimum=99), "of optimum 99; the run's task there is of"),
        (lambda row: row.update(malformed=[["a"]]), "field 'malformed': a list of texts"),
        (lambda row: row.update(terms={"a": "b"}), "field 'a': 'b'; a number"),
        (lambda row: row.update(returns=10**400), "field 'returns'"),
    ],
)
def test_damaged_episodes_are_told(tmp_path, damage, says):
    played(planned(tasks=2, samples=1), OracleAgent(), tmp_path, workers=1)
    path = tmp_path / "episodes.jsonl"
    one, other = path.read_text().splitlines()
    row = json.loads(other)
    damage(row)
    path.write_text(f"{one}\n{json.dumps(row)}\n")
    with pytest.raises(BadFile, match=says):
        played(planned(tasks=2, samples=1), OracleAgent(), tmp_path, resume=True)
    path.write_text(f"{one}\nrubbish\n{other}\n")
    with pytest.raises(BadFile, match="line 2: no JSON object"):
        load(tmp_path)


@pytest.mark.parametrize("traced", [True, False])
@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"ended": "timeout"}, "'success' with 'ended' 'timeout'"),
        ({"ended": ""}, "'ended'"),
        ({"malformed": ["x"] * 9}, "9 malformed replies of 2"),
        ({"cut": 3}, "3 replies cut off of 2"),
        ({"event_count": 3}, "3 events with 2 replies"),
        ({"turns": 3}, "3 turns of 2 events"),
        ({"turns": 9, "event_count": 9, "replies": 9}, "9 turns; a game|, by its events 2"),
        ({"returns": 1e14}, r"returns.* 1e\+14|returns.*100000"),
        ({"returns": -1e14}, r"returns.*-1e\+14|returns.*-100000"),
        ({"returns": 0.25}, "returns"),
        ({"success": False}, "returns of 2 with 'success' false"),
        ({"success": False, "ended": "timeout"}, "timeout|returns"),
        *(
            ({name: -1}, f"'{name}': -1; a number from 0")
            for name in ("turns", "replies", "tokens", "latency", "index")
        ),
    ],
)
def test_a_record_that_contradicts_itself_is_told(tmp_path, traced, changed, says):
    """Solved in one turn of two events: neither resumed, nor read for a report."""
    run = planned(domain="sokoban", workflow="pair", tasks=1, samples=1, T=8)
    played(run, OracleAgent(), tmp_path, trace=traced)
    path = tmp_path / "episodes.jsonl"
    row = json.loads(path.read_text())
    assert (row["success"], row["ended"], row["turns"], row["event_count"], row["replies"]) == (True, "done", 1, 2, 2)
    path.write_text(json.dumps(row | changed) + "\n")
    with pytest.raises(BadFile, match=f"line 1.*({says})"):
        load(tmp_path)
    with pytest.raises(BadFile, match=f"line 1.*({says})"):
        played(run, OracleAgent(), tmp_path, resume=True)


@pytest.mark.parametrize("domain", ["sokoban", "math", "sudoku", "plan_path"])
@pytest.mark.parametrize("workflow", ["solo", "verify", "routed"])
@pytest.mark.parametrize("outcome_only", [True, False])
def test_no_episode_can_be_called_solved_that_was_not(tmp_path, domain, workflow, outcome_only):
    """Nor one that was not cut short by what did not end it. What is played is taken, whatever was earned."""
    team = make_workflow(workflow, **({"route_cost": 0.1} if workflow == "routed" else {}))
    game = masgym.game(domain, team, T=2, alpha=0.3, outcome_only=outcome_only)
    run = plan(game, {"*": "x"}, tasks=2, samples=2)
    played(run, RandomAgent(), tmp_path)
    rows = list(read_rows(tmp_path))
    assert len(load(tmp_path).records) == 4
    for changed, says in (({"success": True}, "with 'success' true"), ({"ended": "timeout"}, "its last event's ''")):
        told = [rows[0] | changed, *rows[1:]]
        assert not rows[0]["success"]
        (tmp_path / "episodes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in told))
        with pytest.raises(BadFile, match=says):
            load(tmp_path)


@pytest.mark.parametrize("field", ["event_count", "replies", "tokens", "prompt_tokens", "cut", "tool_calls"])
def test_a_count_is_that_of_the_events(tmp_path, field):
    played(planned(tasks=1, samples=1, T=4), Wordy(), tmp_path)
    (row,) = read_rows(tmp_path)
    changed = row | {field: row[field] - 1 if row[field] else 1}
    (tmp_path / "episodes.jsonl").write_text(json.dumps(changed) + "\n")
    with pytest.raises(
        BadFile, match=f"field '{field}' is .*, by its events {row[field]}|turns of|(malformed|cut off).* of|events wi"
    ):
        load(tmp_path)


@pytest.mark.parametrize(
    "events", [[{}], "x", 3, [None], [{"members": 1}], [{"members": [], "judged": {}, "turn": "x"}]]
)
def test_events_that_are_none_are_told(tmp_path, events):
    played(planned(tasks=1, samples=1), OracleAgent(), tmp_path)
    (row,) = read_rows(tmp_path)
    (tmp_path / "episodes.jsonl").write_text(json.dumps(row | {"events": events}) + "\n")
    with pytest.raises(BadFile, match=r"line 1.*event"):
        load(tmp_path)


def test_a_run_that_says_it_has_endless_tasks_is_told_at_once(tmp_path):
    """Nothing is made of the size that a file claims."""
    played(planned(tasks=2, samples=1), OracleAgent(), tmp_path)
    said = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps({**said, "task_hash": 7}))
    with pytest.raises(BadFile, match="key 'task_hash': 7; a text was expected"):
        load(tmp_path)
    (tmp_path / "run.json").write_text(json.dumps({**said, "tasks": 10**30}))
    with pytest.raises(BadFile, match=r"has 2 of its 10{30} episodes"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        *(({"format": given}, f"format {given!r}") for given in (True, 1.0, 2, "1", None)),
        *(({"agents": {"*": given}}, r"key 'agents', '\*'") for given in (3, None, True, ["random"], {"a": "b"})),
        *(
            ({"game": {name: given}}, f"key 'game', '{name}'")
            for name in ("T", "alpha", "malformed")
            for given in (10**400, -(10**400), math.nan, math.inf, True, "1", None, 2e6, -2e6)
        ),
        *(({"game": {"outcome_only": given}}, "key 'game', 'outcome_only'") for given in (0, 1, None, "false")),
    ],
)
def test_a_run_that_no_game_and_no_agent_can_have_is_told(tmp_path, changed, says):
    run = planned(tasks=1, samples=1)
    played(run, OracleAgent(), tmp_path)
    said = json.loads((tmp_path / "run.json").read_text())
    changed = {name: {**said[name], **given} if name == "game" else given for name, given in changed.items()}
    (tmp_path / "run.json").write_text(json.dumps({**said, **changed}))
    for read in (load, read_run):
        with pytest.raises(BadFile, match=f"run.json.*{says}"):
            read(tmp_path)
    with pytest.raises(BadFile, match=f"run.json.*{says}"):
        played(run, OracleAgent(), tmp_path, resume=True)


def test_what_is_no_run_folder_is_told(tmp_path):
    with pytest.raises(BadFile, match="no folder of a run"):
        read_run(tmp_path)
    (tmp_path / "run.json").write_text("[]")
    with pytest.raises(BadFile, match="list instead of a JSON object"):
        read_run(tmp_path)
    (tmp_path / "run.json").write_text('{"format": 7}')
    with pytest.raises(BadFile, match="format 7"):
        read_run(tmp_path)
    (tmp_path / "run.json").write_text('{"format": 1, "seed": 3}')
    with pytest.raises(BadFile, match="missing or unknown"):
        read_run(tmp_path)


def test_all_samples_of_a_task_are_of_that_task(tmp_path):
    played(planned(tasks=2), OracleAgent(), tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "episodes.jsonl").read_text().splitlines()]
    row = next(row for row in rows if (row["index"], row["sample"]) == (1, 1))
    row["task"] = "plan_path/test/1/another"
    (tmp_path / "episodes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(BadFile, match="task 1 is 'plan_path/test/1/"):
        load(tmp_path)
