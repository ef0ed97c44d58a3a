"""Playing the frozen suite: cells, roles, names with placeholders, a submission at the end."""

import asyncio
import json
import re
import subprocess
import sys
from dataclasses import replace
from subprocess import PIPE

import pytest
from suite_runs import SUITE, play

from masgym.agents.base import Reply
from masgym.agents.oracle import OracleAgent
from masgym.agents.random import RandomAgent
from masgym.cli import main
from masgym.errors import BadFile, BadValue, UnknownName
from masgym.runs import task_hash
from masgym.submission import hash_of
from masgym.suite import chosen, run_suite
from masgym.verification import verify_submission

TINY = replace(  # the real one's first three levels of Plan-Path, with two tasks each
    SUITE,
    levels=tuple(
        replace(
            level,
            contents=level.contents[:2],
            task_hash=task_hash(SUITE.tasks(level)[:2]),
        )
        for level in SUITE.levels
        if level.domain == "plan_path"
    ),
)


def test_random_replies_make_a_submission_too(tmp_path):
    """A baseline; played again, resumed and in parts it is the same."""
    one = play(tmp_path / "one", RandomAgent(), TINY)
    assert one["scores"]["solo"]["success"]["mean"] < 0.5
    play(tmp_path / "two", RandomAgent(), TINY, only=["easy", "solo"])
    with pytest.raises(BadValue, match="holds a run already"):
        play(tmp_path / "two", RandomAgent(), TINY)
    (tmp_path / "two" / "cells" / "plan_path-easy-solo" / "report.json").unlink()
    assert play(tmp_path / "two", RandomAgent(), TINY, resume=True, workers=3) == one
    assert json.loads((tmp_path / "two" / "submission.json").read_text()) == one
    assert "| plan_path |" in (tmp_path / "two" / "report.md").read_text()
    assert (tmp_path / "two" / "report.csv").read_text().count("plan_path-easy-pair") == 2


def test_a_cell_that_is_done_is_not_played_again(tmp_path):
    play(tmp_path, OracleAgent(), TINY, only=["solo"])

    class Absent:
        async def act(self, request):
            raise AssertionError("it was asked")

    submission = play(tmp_path, Absent(), TINY, only=["solo"], resume=True)
    assert submission["scores"]["solo"]["success"]["mean"] == 1


def test_cells_are_chosen_by_domain_level_workflow_or_name():
    def names(*only):
        return [cell.name for cell in chosen(SUITE, only)]

    assert len(names()) == len(SUITE.cells)
    assert names("sokoban", "solo") == ["sokoban-easy-solo", "sokoban-medium-solo", "sokoban-hard-solo"]
    assert names("math-hard-pair") == ["math-hard-pair"]
    assert names("expert", "pair", "search", "sudoku") == ["sudoku-expert-pair", "search-expert-pair"]
    with pytest.raises(UnknownName, match=r"'sokobann'.*Did you mean 'sokoban'"):
        names("sokobann")


def test_roles_play_where_they_speak(tmp_path):
    asked = set()

    class Advising(OracleAgent):
        async def act(self, request):
            asked.add(request.observation.agent)
            return await super().act(request)

    agents, names = {"tool": Advising(), "*": OracleAgent()}, {"tool": "advising", "*": "oracle"}
    asyncio.run(run_suite(TINY, agents, names, tmp_path, only=["easy"]))
    assert asked == {"tool_0"}
    run = json.loads((tmp_path / "cells" / "plan_path-easy-solo" / "run.json").read_text())
    assert run["agents"] == {"*": "oracle"}
    with pytest.raises(UnknownName, match="unknown agent or role 'toool'"):
        asyncio.run(run_suite(TINY, {"toool": OracleAgent(), "*": OracleAgent()}, names, tmp_path / "b"))
    with pytest.raises(BadValue, match="nobody is given who plays"):
        asyncio.run(run_suite(TINY, {"actor": OracleAgent()}, {"actor": "x"}, tmp_path / "c"))
    assert not (tmp_path / "c").exists()


def test_an_agents_name_has_placeholders_for_the_cell(tmp_path):
    """One for each cell; the submission says what was asked for, each cell's run who played there."""
    solvers, names = {}, {"*": "mine:{domain}/{level}-{workflow}"}

    def team(cell):
        return {"*": solvers.setdefault(cell.name, Counting())}

    submission = asyncio.run(run_suite(TINY, team, names, tmp_path, style="compact", only=["easy"]))
    assert {name: agent.games for name, agent in solvers.items()} == {
        f"plan_path-easy-{label}": {(label.rstrip("3"), "compact")} for label in SUITE.workflows
    }
    assert submission["agents"] == names
    run = json.loads((tmp_path / "cells" / "plan_path-easy-ensemble3" / "run.json").read_text())
    assert run["agents"] == {"*": "mine:plan_path/easy-ensemble3"}
    again = asyncio.run(run_suite(TINY, team, names, tmp_path, style="compact", only=["easy"], resume=True))
    assert again == submission


class Counting(OracleAgent):
    """Which workflows and styles it played."""

    def __init__(self):
        self.games = set()

    async def act(self, request):
        self.games.add((request.game.workflow.name, request.game.style))
        return await super().act(request)


@pytest.mark.parametrize("name", ["hf:{domian}", "hf:{}", "hf:{domain!r}", "hf:{domain}-{team}"])
def test_an_unknown_placeholder_is_told_before_anything_is_played(tmp_path, capsys, name):
    with pytest.raises(UnknownName, match=r"unknown placeholder .*Known: {domain}, {level}, {workflow}"):
        asyncio.run(run_suite(TINY, {"*": OracleAgent()}, {"*": name}, tmp_path / "run"))
    assert main(["eval", "--suite", "v1", "--agent", name, "--out", str(tmp_path / "run")]) == 2
    assert "Known: {domain}, {level}, {workflow}" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_all_agents_that_are_missing_are_told_before_the_first_cell_is_played(tmp_path, capsys):
    """And a script for a role is asked for only where the role speaks."""
    template = f"scripted:{tmp_path}/{{domain}}-{{workflow}}.json"
    words = ["eval", "--suite", "v1", "--only", "easy", "--only", "plan_path", "--out", str(tmp_path / "run")]
    words += ["--agent", f"tool={template}", "--agent", "oracle"]
    for name, there in (("pair", 2), ("ensemble3", 1)):
        assert main(words) == 2
        told = capsys.readouterr().err
        assert told.count("\n") == 1
        assert told.startswith(f"masgym: {there} agents cannot be had: ") == (there > 1)
        assert f"{tmp_path}/plan_path-ensemble3.json" in told
        assert "solo" not in told
        assert not (tmp_path / "run").exists()
        (tmp_path / f"plan_path-{name}.json").write_text(json.dumps({"tool": name}))
    assert main(words) == 0
    submission = json.loads((tmp_path / "run" / "submission.json").read_text())
    assert submission["agents"] == {"tool": template, "*": "oracle"}
    assert len(submission["cells"]) == 3
    for name in ("pair", "ensemble3"):
        cell = tmp_path / "run" / "cells" / f"plan_path-easy-{name}"
        agents = json.loads((cell / "run.json").read_text())["agents"]
        assert agents["tool"] == f"scripted:{tmp_path}/plan_path-{name}.json"
        assert f'"{name}"' in (cell / "episodes.jsonl").read_text()


def test_partial_submissions_are_told(tmp_path):
    submission = play(tmp_path, OracleAgent(), only=["plan_path-easy-solo"])
    wrong = verify_submission(submission)
    missing = "sokoban-easy-solo, sokoban-medium-solo, sokoban-hard-solo and 59 more"
    assert wrong == (f"1 of 63 cells; missing: {missing}",)


def test_a_suite_can_be_played_in_parts(tmp_path):
    """One after the other in the same folder, resumed or not; the submission is that of all cells at once."""
    whole = play(tmp_path / "whole", RandomAgent(), TINY, only=["easy"])
    for number, workflow in enumerate(("pair", "solo", *(set(TINY.workflows) - {"pair", "solo"})), 1):
        found = play(tmp_path / "parts", RandomAgent(), TINY, only=["easy", workflow], resume=number % 2 == 0)
        assert len(found["cells"]) == number
    assert found == whole
    for name in ("submission.json", "report.md"):
        assert (tmp_path / "parts" / name).read_text() == (tmp_path / "whole" / name).read_text()
    (tmp_path / "parts" / "cells" / "plan_path-easy-pair" / "report.json").unlink()
    found = play(tmp_path / "parts", RandomAgent(), TINY, only=["medium", "solo"])
    assert "plan_path-easy-pair" not in found["cells"], "it is not finished"
    assert len(found["cells"]) == len(whole["cells"])


@pytest.mark.parametrize("other", [{"settings": {"temperature": 1}}, {"style": "compact"}, {"names": {"*": "y"}}])
def test_parts_that_others_played_are_refused_before_anything_is_played(tmp_path, other):
    play(tmp_path, OracleAgent(), TINY, only=["easy", "solo"])
    before = (tmp_path / "submission.json").read_text()
    names, options = other.get("names", {"*": "x"}), {key: given for key, given in other.items() if key != "names"}
    with pytest.raises(BadValue, match="plan_path-easy-solo was played with other arguments"):
        asyncio.run(run_suite(TINY, {"*": OracleAgent()}, names, tmp_path, only=["easy", "pair"], **options))
    assert (tmp_path / "submission.json").read_text() == before
    assert not (tmp_path / "cells" / "plan_path-easy-pair").exists()


@pytest.mark.parametrize("again", [{"only": ["hard", "solo"], "resume": True}, {"only": ["easy", "pair"]}])
def test_episodes_of_another_levels_tasks_are_refused(tmp_path, again):
    """A finished easy cell's episodes in the place of a hard one's, in a cell that is played and in one that is not."""
    play(tmp_path, OracleAgent(), TINY, only=["plan_path-easy-solo", "plan_path-hard-solo"])
    easy, hard = (tmp_path / "cells" / f"plan_path-{level}-solo" / "episodes.jsonl" for level in ("easy", "hard"))
    hard.write_bytes(easy.read_bytes())
    with pytest.raises(BadFile, match=r"has an episode of 'plan_path/test/0/\w+'; task 0 of .* plan_path-hard-solo"):
        play(tmp_path, OracleAgent(), TINY, **again)


def test_a_cell_that_lacks_episodes_though_it_has_its_report_is_played_on(tmp_path):
    names = ["plan_path-easy-solo", "plan_path-hard-solo"]
    whole = play(tmp_path, RandomAgent(), TINY, only=names)
    for name in names:
        path = tmp_path / "cells" / name / "episodes.jsonl"
        path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    with pytest.raises(BadValue, match=r"has its report, but 1 of its 2 .*: --only plan_path-hard-solo --resume plays"):
        play(tmp_path, RandomAgent(), TINY, only=names[:1], resume=True)
    assert play(tmp_path, RandomAgent(), TINY, only=names, resume=True) == whole


@pytest.mark.parametrize("again", ["plan_path-easy-solo", "plan_path-easy-pair"])
@pytest.mark.parametrize("name", ["report.json", "report.md", "report.csv"])
def test_a_damaged_report_of_a_finished_cell_is_made_anew(tmp_path, again, name):
    """In a cell that is played, and in one that is not."""
    play(tmp_path, OracleAgent(), TINY, only=["plan_path-easy-solo"])
    path = tmp_path / "cells" / "plan_path-easy-solo" / name
    was = path.read_text()
    path.write_text("{}")
    play(tmp_path, OracleAgent(), TINY, only=[again], resume=True)
    assert path.read_text() == was


def test_the_run_folders_beside_a_submission_are_verified_too(tmp_path, capsys):
    names = ["plan_path-easy-solo", "plan_path-hard-solo"]
    play(tmp_path, OracleAgent(), only=names)
    easy, hard = (tmp_path / "cells" / name / "episodes.jsonl" for name in names)
    was = hard.read_bytes()
    lost = [{**json.loads(line), "success": False, "ended": "x", "events": []} for line in was.splitlines()]
    for forged, says in (
        (easy.read_bytes(), "plan_path-hard-solo: .* has an episode of"),
        (b"".join(was.splitlines(keepends=True)[:-1]), "plan_path-hard-solo: .* has 24 of its 25 episodes"),
        ("".join(json.dumps({**row, "returns": 0.0}) + "\n" for row in lost).encode(), "came to something else"),
    ):
        hard.write_bytes(forged)
        for place in (tmp_path, tmp_path / "submission.json"):
            assert main(["verify", str(place)]) == 1
            assert re.search(says, capsys.readouterr().out)
    hard.write_bytes(was)
    assert main(["verify", str(tmp_path)]) == 1
    assert "What is there holds" in capsys.readouterr().out
    run = hard.with_name("run.json")
    run.write_text(run.read_text().replace('"tasks": 25', '"tasks": 26'))
    last = was.splitlines(keepends=True)[-1]
    row = json.loads(last)
    more = last.replace(b"/%d/" % row["index"], b"/25/").replace(b'"index": %d,' % row["index"], b'"index": 25,')
    hard.write_bytes(was + more)
    assert main(["verify", str(tmp_path)]) == 1
    assert "/25/none'" in capsys.readouterr().out


def test_the_command_says_that_a_submission_is_partial_and_what_is_there_is_verified(tmp_path, capsys):
    words = ["eval", "--suite", "v1", "--only", "plan_path", "--only", "easy", "--agent", "oracle"]
    folder = tmp_path / "run"
    for number, workflow in enumerate(("solo", "pair"), 1):
        assert main([*words, "--only", workflow, "--out", str(folder)]) == 0
        assert f"submission.json, partial: {number} of 63 cells; missing: sokoban-" in capsys.readouterr().out
    for place in (folder, folder / "submission.json"):
        assert main(["verify", str(place)]) == 1
        told = capsys.readouterr()
        assert told.err == ""
        assert "| all domains | 100.0" in told.out
        last = told.out.splitlines()[-1]
        assert "submission.json is partial, 2 of 63 cells; missing: sokoban-" in last
        assert "What is there holds" in last
    assert main(["verify", str(folder), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["holds"], len(found["wrong"])) == (False, 1)


def test_a_partial_submission_needs_no_players_for_what_was_not_played(tmp_path):
    """And what is there is still judged."""
    submission = asyncio.run(
        run_suite(SUITE, {"actor": OracleAgent()}, {"actor": "x"}, tmp_path, only=["plan_path-easy-solo"])
    )
    assert [line[:12] for line in verify_submission(submission)] == ["1 of 63 cell"]
    submission["cells"]["plan_path-easy-solo"]["task_hash"] = "0"
    submission["hash"] = hash_of(submission)
    wrong = verify_submission(submission)
    assert wrong[1:] == ("cell plan_path-easy-solo: its tasks were not those of the suite",)


def test_failures_of_an_agent_are_counted_in_the_submission(tmp_path):
    class Down:
        async def act(self, request):
            return Reply(text="", failure="connection")

    submission = play(tmp_path, Down(), TINY, only=["plan_path-easy-solo"])
    assert submission["cells"]["plan_path-easy-solo"]["failures"] == 2


def test_a_suite_is_played_by_one_process_at_a_time(tmp_path):
    """The whole folder is locked, not only the cell that is being played."""
    hold = "import sys; from pathlib import Path; from masgym.files import locked\n"
    hold += "with locked(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", hold, tmp_path], stdin=PIPE, stdout=PIPE) as other:
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(BadValue, match="in use by another process"):
            play(tmp_path, OracleAgent(), TINY, only=["easy", "solo"])
        other.stdin.close()
        assert other.wait(30) == 0
    assert play(tmp_path, OracleAgent(), TINY, only=["easy", "solo"])["cells"]
    with pytest.raises(BadValue, match="workers is 0"):
        play(tmp_path / "none", OracleAgent(), TINY, workers=0)
    assert not (tmp_path / "none").exists()
