"""Reports and traces of runs: what they tell, and that their schema says so."""

import csv
import io
import json
from itertools import pairwise

import jsonschema
import pytest
from played_runs import SCHEMA, Failing, Wordy, planned, played, stripped
from rich.console import Console

import masgym
from masgym.agents.base import Reply
from masgym.agents.oracle import OracleAgent
from masgym.errors import BadFile
from masgym.folder import load, read_records, read_rows, read_run
from masgym.run_json import report_json
from masgym.runs import plan
from masgym.tables import markdown, screen


class Silent:
    async def act(self, request):
        return Reply(text="")


def test_cut_off_replies_are_told_one_by_one_and_counted(tmp_path):
    out = played(planned("solo", tasks=2, samples=1, T=4), Wordy(), tmp_path)
    rows = list(read_rows(tmp_path))
    assert [[m["cut"] for e in row["events"] for m in e["members"]] for row in rows] == [[True, *[False] * 3]] * 2
    report = json.loads((tmp_path / "report.json").read_text())
    jsonschema.validate(report, SCHEMA)
    (line, *_) = csv.DictReader((tmp_path / "report.csv").read_text().splitlines())
    assert (report["cut_rate"], float(line["cut_rate"])) == (0.25, 0.25)
    assert "| replies cut off by the token limit | 25.00 % |" in (tmp_path / "report.md").read_text()
    assert load(tmp_path) == out


def test_lines_of_older_versions_say_nothing_of_cut_off_replies(tmp_path):
    played(planned("solo", tasks=2, samples=1, T=4), Wordy(), tmp_path)
    rows = [{name: found for name, found in row.items() if name != "cut"} for row in read_rows(tmp_path)]
    (tmp_path / "episodes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert load(tmp_path).report.cut_rate == 0
    (tmp_path / "episodes.jsonl").write_text("".join(json.dumps({**row, "cut": True}) + "\n" for row in rows))
    with pytest.raises(BadFile, match="field 'cut': True; int was expected"):
        load(tmp_path)


def test_every_report_says_that_programs_ran_without_isolation(tmp_path):
    played(planned("solo", "code", tasks=1, samples=1, sandbox="unsafe"), OracleAgent(), tmp_path)
    report = json.loads((tmp_path / "report.json").read_text())
    (row, *_) = csv.DictReader((tmp_path / "report.csv").read_text().splitlines())
    assert (report["run"]["sandbox"], row["sandbox"], report["cost"]["C_tool"]) == ("unsafe", "unsafe", 2)
    assert "| sandbox | unsafe |" in (tmp_path / "report.md").read_text()


def test_the_schema_refuses_what_is_no_report(tmp_path):
    report = report_json(played(planned(tasks=1), OracleAgent(), None))
    jsonschema.validate(report, SCHEMA)
    for damage in (lambda r: r.pop("success"), lambda r: r["success"].pop("low"), lambda r: r["run"].pop("task_hash")):
        damaged = json.loads(json.dumps(report))
        damage(damaged)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(damaged, SCHEMA)


def test_a_run_that_solves_nothing_has_a_report_of_strict_json(tmp_path):
    out = played(planned(tasks=2, domain="sudoku"), Silent(), tmp_path)
    text = (tmp_path / "report.json").read_text()
    assert "NaN" not in text
    report = json.loads(text)
    jsonschema.validate(report, SCHEMA)
    assert (report["turns_to_solve"], report["cost"]["U_tok"]) == (None, None)
    assert "| turns to solve | - |" in markdown(out)


def test_a_trace_tells_what_everybody_saw_and_said(tmp_path):
    """Math: the tool user's program is run, and what it printed is there."""

    class Programming(OracleAgent):
        async def act(self, request):
            if request.observation.slot != "tool":
                return Reply(text="no idea", tokens=2)
            return Reply(text="```python\nprint(40 + 2, '<b>')\n```", tokens=9, prompt_tokens=30)

    out = played(planned(domain="math", tasks=1, samples=1, T=2), Programming(), tmp_path)
    (row,) = read_rows(tmp_path)
    assert len(row["events"]) == row["event_count"] == row["replies"] == 4
    tool, act = row["events"][:2]
    assert (tool["turn"], act["turn"], row["events"][2]["turn"]) == (1, 1, 2)
    (member,) = tool["members"]
    assert (member["agent"], member["slot"], member["tokens"], member["prompt_tokens"]) == ("tool_0", "tool", 9, 30)
    assert [m["role"] for m in member["messages"]] == ["system", "user"]
    (ran,) = tool["judged"]["tool_0"]["tools"]
    assert (ran["tool"], ran["outcome"], ran["value"]["stdout"]) == ("python", "ok", "42 <b>\n")
    assert "print(40 + 2" in ran["arguments"]["program"]
    assert set(tool["judged"]["tool_0"]["terms"]) == {"code_found", "runs", "correct"}
    judged = act["judged"]["actor_0"]
    assert (judged["malformed"], judged["penalty"]) == (True, -0.5)
    assert judged["note"] == row["malformed"][0]
    assert "42 <b>" in act["members"][0]["messages"][-1]["content"]
    assert sum(e["gain"] + sum(j["penalty"] for j in e["judged"].values()) for e in row["events"]) == row["returns"]
    assert row["tool_calls"] == sum(len(j["tools"]) for e in row["events"] for j in e["judged"].values())
    assert out.report.cost.C_tool == row["tool_calls"]


def test_boards_before_and_after_follow_each_other(tmp_path):
    played(planned(domain="sokoban", workflow="solo", tasks=2, samples=1), OracleAgent(), tmp_path)
    for row in read_rows(tmp_path):
        events = row["events"]
        assert all(one["after"] == other["before"] for one, other in pairwise(events))
        assert all(event["before"] != event["after"] for event in events)
        assert "$" not in events[-1]["after"].splitlines()[-3]


def test_a_failed_reply_is_the_last_event_of_its_episode(tmp_path):
    played(planned(tasks=3, samples=1), Failing(), tmp_path)
    (row,) = (row for row in read_rows(tmp_path) if row["index"] == 2)
    assert (row["ended"], row["success"], row["tokens"]) == ("timeout", False, 1)
    assert row["events"][-1]["judged"] == {}
    assert row["events"][-1]["members"][0]["failure"] == "timeout"


def test_without_a_trace_a_line_is_short_and_the_report_is_the_same(tmp_path):
    played(planned(), OracleAgent(), tmp_path / "long")
    played(planned(), OracleAgent(), tmp_path / "short", trace=False)
    assert all(row["events"] == [] for row in read_rows(tmp_path / "short"))
    assert stripped(tmp_path / "long") == stripped(tmp_path / "short")
    assert read_records(tmp_path / "short", read_run(tmp_path / "short"))


def test_difficulties_have_their_own_rows(tmp_path):
    source = tmp_path / "problems.jsonl"
    rows = [{"question": f"{i}+1=?", "answer": str(i + 1), "level": "ab"[i % 2], "split": "test"} for i in range(6)]
    source.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    game = masgym.game("math", "solo", tasks=str(source))
    out = played(plan(game, {"*": "failing"}, tasks=100), Failing(), tmp_path / "run")
    assert {name: (level.tasks, level.success.mean) for name, level in out.report.by_level.items()} == {
        "a": (3, pytest.approx(2 / 3)),
        "b": (3, pytest.approx(2 / 3)),
    }
    table = list(csv.DictReader((tmp_path / "run" / "report.csv").open()))
    assert [row["difficulty"] for row in table] == ["all", "a", "b"]
    assert float(table[0]["success"]) == pytest.approx(4 / 6)
    assert "| a | 66.7" in (tmp_path / "run" / "report.md").read_text()


def test_the_screen_shows_names_as_text():
    out = played(planned(tasks=1, names={"*": "python:[red]mine[/red]"}), OracleAgent(), None)
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(screen(out))
    assert "[red]mine[/red]" in console.export_text()


def test_a_name_with_half_a_character_is_reported(tmp_path):
    """What a command line holds that is no UTF-8."""
    played(planned(tasks=1, names={"*": "scripted:\udcff"}), OracleAgent(), tmp_path)
    assert load(tmp_path).run.agents == {"*": "scripted:\udcff"}
    assert "scripted:" in (tmp_path / "report.md").read_text()
