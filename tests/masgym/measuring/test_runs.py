"""Run folders: what they hold, that they can be gone on with, and what is refused."""

import asyncio
import csv
import io
import json
import subprocess
import sys
from importlib.resources import files
from itertools import pairwise

import jsonschema
import pytest
from rich.console import Console

import masgym
from masgym.agents.base import Reply
from masgym.agents.oracle import OracleAgent
from masgym.agents.random import RandomAgent
from masgym.errors import BadFile, BadValue, UnknownName
from masgym.folder import load, play_run, read_records, read_rows, read_run
from masgym.registry import make_workflow
from masgym.report import from_json
from masgym.runs import game_of, plan, report_json
from masgym.tables import markdown, screen

SCHEMA = json.loads(files("masgym").joinpath("report.schema.json").read_text())


class Failing:
    """Fails on every third task."""

    async def act(self, request):
        if request.state.task.index % 3 == 2:
            return Reply(text="", tokens=1, failure="timeout")
        return Reply(text=request.game.oracle(request.state, request.observation.agent), tokens=10, prompt_tokens=100)


class Silent:
    async def act(self, request):
        return Reply(text="")


def planned(workflow="pair", domain="plan_path", tasks=6, samples=2, names=None, T=8, **options):
    return plan(masgym.game(domain, workflow, T=T), names or {"*": "x"}, tasks=tasks, samples=samples, **options)


def played(plan, agent, folder, **options):
    return asyncio.run(play_run(plan, {"*": agent}, folder, **options))


def stripped(folder):
    report = json.loads((folder / "report.json").read_text())
    del report["latency"]
    return json.dumps(report)


def test_a_run_folder_holds_everything(tmp_path):
    run = planned(seed=4, settings={"level": "none", "temperature": 0.5})
    out = played(run, Failing(), tmp_path / "run")
    folder = tmp_path / "run"
    assert {p.name for p in folder.iterdir()} == {
        *("run.json", "episodes.jsonl", "report.json", "report.md", "report.csv", ".lock")
    }
    report = json.loads((folder / "report.json").read_text())
    jsonschema.validate(report, SCHEMA)
    assert report == report_json(out)
    assert report["success"]["mean"] == pytest.approx(4 / 6)
    assert report["failures"] == {"timeout": 4}
    assert report["run"] == json.loads((folder / "run.json").read_text())
    assert (report["run"]["seed"], report["run"]["settings"]["temperature"]) == (4, 0.5)
    assert (report["run"]["sandbox"], report["run"]["environment"]) == ("bubblewrap", "masgym/plan_path_v0")
    assert report["cost"]["C_tok"] == sum(r.tokens for r in out.records)
    assert report["cost"]["C_call"] == sum(r.replies for r in out.records)
    assert report["cost"]["U_tok"] == pytest.approx(1e6 * 8 / report["cost"]["C_tok"])
    assert load(folder) == out
    assert from_json(report) == out.report


class Wordy:
    """Its first replies are cut off."""

    async def act(self, request):
        first = not request.state.log
        return Reply(text="<answer>" if first else "no", tokens=3, cut=first)


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


def test_the_game_can_be_made_again_from_the_folder(tmp_path):
    game = masgym.game("math", "verify", level="hard", T=3, style="compact", alpha=0.5)
    played(plan(game, {"*": "oracle"}, tasks=1), OracleAgent(), tmp_path)
    again = game_of(read_run(tmp_path))
    assert again.fingerprint == game.fingerprint
    assert again.domain.tasks.get("test", 3) == game.domain.tasks.get("test", 3)


def test_results_do_not_depend_on_the_number_of_workers(tmp_path):
    class Waiting(RandomAgent):
        async def act(self, request):
            for _ in range(request.state.task.index * 7 % 5):
                await asyncio.sleep(0)
            return await super().act(request)

    run = planned(T=3)
    for workers in (1, 3, 100):
        played(run, Waiting(), tmp_path / str(workers), workers=workers)
    assert stripped(tmp_path / "1") == stripped(tmp_path / "3") == stripped(tmp_path / "100")


def test_at_most_so_many_episodes_are_open_as_there_are_workers():
    open_now, most = set(), []

    class Counting(OracleAgent):
        async def act(self, request):
            open_now.add(request.state.task.index)
            most.append(len(open_now))
            await asyncio.sleep(0)
            return await super().act(request)

    def over(record):
        open_now.discard(record.index)

    played(planned(samples=1, tasks=9), Counting(), None, workers=2, on_episode=over)
    assert max(most) == 2


class Broken(RandomAgent):
    """Raises when `after` episodes are over."""

    def __init__(self, after):
        self.left = after

    async def act(self, request):
        if not self.left:
            raise ConnectionError("gone")
        return await super().act(request)

    def count(self, record):
        self.left -= 1


def test_only_missing_episodes_are_played_when_a_run_is_resumed(tmp_path):
    played(planned(), RandomAgent(), tmp_path / "whole")
    broken, folder, seen = Broken(5), tmp_path / "run", []
    with pytest.raises(ConnectionError):
        played(planned(), broken, folder, workers=1, on_episode=broken.count)
    assert len((folder / "episodes.jsonl").read_bytes().splitlines()) == 5
    assert not (folder / "report.json").exists()
    with (folder / "episodes.jsonl").open("ab") as file:
        file.write(b'{"task": "torn by a ki')
    with pytest.raises(BadFile, match="5 of its 12 episodes"):
        load(folder)
    starts = []
    played(
        planned(),
        RandomAgent(),
        folder,
        resume=True,
        on_start=lambda *a: starts.append((len(a[0]), a[1])),
        on_episode=seen.append,
    )
    assert (starts, len(seen)) == ([(5, 12)], 7)
    assert stripped(folder) == stripped(tmp_path / "whole")
    played(planned(), Broken(0), folder, resume=True)  # nothing is left to play
    assert stripped(folder) == stripped(tmp_path / "whole")


def test_a_folder_without_a_run_can_be_resumed(tmp_path):
    """The process may have been killed before it wrote anything."""
    assert len(played(planned(tasks=1), OracleAgent(), tmp_path / "new", resume=True).records) == 2


def test_a_run_is_not_overwritten_and_no_other_run_is_gone_on_with(tmp_path):
    played(planned(), OracleAgent(), tmp_path)
    with pytest.raises(BadValue, match="holds a run already"):
        played(planned(), OracleAgent(), tmp_path)
    with pytest.raises(BadValue, match=r"seed differ \(seed: 0 there, 1 here\)"):
        played(planned(seed=1), OracleAgent(), tmp_path, resume=True)
    with pytest.raises(BadValue, match=r"agents differ .*'x'.*'y'"):
        played(planned(names={"*": "y"}), OracleAgent(), tmp_path, resume=True)
    with pytest.raises(BadValue, match="game, fingerprint differ"):
        played(planned(workflow="solo"), OracleAgent(), tmp_path, resume=True)
    with pytest.raises(BadValue, match="tasks, task_hash differ"):
        played(planned(tasks=7), OracleAgent(), tmp_path, resume=True)


def test_two_processes_cannot_play_one_folder(tmp_path):
    program = f"import fcntl; f = open({str(tmp_path / '.lock')!r}, 'a'); fcntl.lockf(f, fcntl.LOCK_EX); input('.')"
    run = planned(tasks=1, samples=1)
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdout.read(1)
        with pytest.raises(BadValue, match="in use by another process"):
            played(run, OracleAgent(), tmp_path)
    assert len(played(planned(tasks=1, samples=1), OracleAgent(), tmp_path).records) == 1


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


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"tasks": 0}, "tasks is 0"),
        ({"tasks": "x"}, "tasks is 'x'; a whole number"),
        ({"samples": True}, "samples is True"),
        ({"seed": -1}, "seed is -1"),
        ({"split": "exam"}, "unknown split 'exam'"),
        ({"sandbox": "docker"}, "unknown sandbox 'docker'"),
    ],
)
def test_bad_arguments_of_a_plan(options, says):
    with pytest.raises((BadValue, UnknownName), match=says):
        planned(**options)


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


def test_a_number_of_workers_that_cannot_be_is_told_before_anything_is_made(tmp_path):
    for workers in (0, -1, 1.5, True, None):
        with pytest.raises(BadValue, match="workers is"):
            played(planned(tasks=1), OracleAgent(), tmp_path / "run", workers=workers)
    assert not (tmp_path / "run").exists()


def test_more_episodes_than_can_be_kept_are_refused_at_once():
    for counts in ({"tasks": 10**12}, {"tasks": 1, "samples": 10**12}):
        with pytest.raises(BadValue, match="at most 1e\\+07 episodes"):
            asyncio.run(play_run(planned(**counts), {"*": OracleAgent()}, None))


@pytest.mark.parametrize("folder", [None, "run"])
def test_no_episode_is_kept_that_could_not_be_read_again(tmp_path, folder):
    class Boastful(OracleAgent):
        async def act(self, request):
            return Reply(text="", tokens=10**20)

    with pytest.raises(BadFile, match="an episode that was played, field 'tokens': 16000000"):
        played(planned(tasks=1), Boastful(), folder and tmp_path / folder)
    assert not list(tmp_path.glob("run/episodes.jsonl"))


def test_all_samples_of_a_task_are_of_that_task(tmp_path):
    played(planned(tasks=2), OracleAgent(), tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "episodes.jsonl").read_text().splitlines()]
    row = next(row for row in rows if (row["index"], row["sample"]) == (1, 1))
    row["task"] = "plan_path/test/1/another"
    (tmp_path / "episodes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(BadFile, match="task 1 is 'plan_path/test/1/"):
        load(tmp_path)


def test_a_name_with_half_a_character_is_reported(tmp_path):
    """What a command line holds that is no UTF-8."""
    played(planned(tasks=1, names={"*": "scripted:\udcff"}), OracleAgent(), tmp_path)
    assert load(tmp_path).run.agents == {"*": "scripted:\udcff"}
    assert "scripted:" in (tmp_path / "report.md").read_text()
