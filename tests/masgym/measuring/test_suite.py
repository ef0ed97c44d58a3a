"""The frozen suite: its tasks have not drifted, the oracle solves them, a submission says which were played."""

import asyncio
import copy
import json
import random
import subprocess
import sys
from dataclasses import replace
from subprocess import PIPE

import pytest

import masgym
from masgym.agents.base import Reply
from masgym.agents.oracle import OracleAgent
from masgym.agents.random import RandomAgent
from masgym.cli import main
from masgym.episodes import plain
from masgym.errors import BadFile, BadValue, UnknownName
from masgym.estimates import success_interval
from masgym.evaluate import evaluate
from masgym.report import summarise
from masgym.runs import task_hash
from masgym.submission import hash_of, markdown_of, protocol_of, scores_of
from masgym.suite import chosen, run_suite
from masgym.suites import load_suite
from masgym.verification import verify_submission

SUITE = load_suite("v1")
SLOW = {("sokoban", "hard"), ("sudoku", "hard"), ("sudoku", "expert"), ("code", "easy"), ("search", "nano")}
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


def play(folder, agent, suite=SUITE, **options):
    return asyncio.run(run_suite(suite, {"*": agent}, {"*": "x"}, folder, **options))


def source(level):
    return masgym.game(level.domain, "solo", level=level.level, T=SUITE.T).domain.tasks


def test_the_suite_has_every_domain_and_level_under_three_workflows():
    domains = ("sokoban", "plan_path", "sudoku", "code", "math", "search")
    named = {(domain, level) for domain in domains for level in masgym.list_levels(domain)}
    assert {(level.domain, level.level) for level in SUITE.levels} == named
    assert len(SUITE.cells) == 3 * len(named)
    assert [SUITE.game(SUITE.cells[i * len(named)], "full").workflow.name for i in range(3)] == [
        *("solo", "pair", "ensemble")
    ]
    assert SUITE.game(SUITE.cells[-1], "full").workflow.n == 3
    assert {len(level.contents) for level in SUITE.levels} == {25, 22, 18}


def test_the_suite_is_the_one_that_was_published():
    assert SUITE.hash == "f24b12cd5c9a78998997d7db7c4537a954fdc6d5f6093e37430d45ebe94fc081"


@pytest.mark.parametrize("level", SUITE.levels, ids=lambda level: f"{level.domain}-{level.level}")
def test_no_generator_has_drifted(level):
    """The first task of every level, and all of those that are quickly made."""
    assert source(level).get(SUITE.split, 0).content_hash.startswith(level.contents[0])
    if (level.domain, level.level) not in SLOW:
        assert task_hash(SUITE.tasks(level)) == level.task_hash


@pytest.mark.slow
@pytest.mark.parametrize("level", SUITE.levels, ids=lambda level: f"{level.domain}-{level.level}")
def test_all_tasks_are_those_that_were_frozen(level):
    assert task_hash(SUITE.tasks(level)) == level.task_hash


def test_drift_is_found_and_the_task_is_named():
    level = SUITE.levels[3]
    drifted = replace(level, contents=("0" * 16, *level.contents[1:]))
    with pytest.raises(BadFile, match=r"1 of 25 tasks of plan_path, easy are not those .*\(plan_path/test/0/"):
        SUITE.tasks(drifted)
    with pytest.raises(BadFile, match="are not those of"):
        SUITE.tasks(replace(level, task_hash="0" * 64))


@pytest.mark.parametrize("workflow", SUITE.workflows)
@pytest.mark.parametrize("domain", ["sokoban", "plan_path", "sudoku", "code", "math", "search"])
def test_the_oracle_solves_a_sample(domain, workflow):
    cells = [cell for cell in SUITE.cells if cell.level.domain == domain and cell.workflow == workflow]
    cell = cells[0 if domain == "code" else len(workflow) % len(cells)]
    tasks = 1 if domain == "code" or (domain, cell.level.level) in SLOW else 4
    report = summarise(asyncio.run(evaluate(SUITE.game(cell, "full"), {"*": OracleAgent()}, tasks=tasks)))
    assert (report.success.mean, report.malformed_rate) == (1, 0)


@pytest.mark.slow
def test_the_oracle_solves_all_of_it_and_its_submission_holds(tmp_path):
    submission = play(tmp_path, OracleAgent())
    assert verify_submission(submission) == ()
    assert {found["success"]["mean"] for found in submission["scores"].values()} == {1}
    assert all(sum(map(sum, cell["outcomes"])) == len(cell["outcomes"]) for cell in submission["cells"].values())


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


@pytest.fixture(scope="module")
def whole():
    """A submission of v1 as the oracle's would be, without playing it."""
    cells = {}
    for cell in SUITE.cells:
        outcomes = [[True]] * len(cell.level.contents)
        cells[cell.name] = {
            "task_hash": cell.level.task_hash,
            "fingerprint": SUITE.game(cell, "full").fingerprint,
            "success": plain(success_interval(outcomes)),
            "malformed_rate": 0.0,
            **{"failures": 0, "C_tok": 0, "C_call": 100, "C_tool": 0},
            "outcomes": outcomes,
        }
    made = {
        **{"format": 1, "suite": "masgym-bench", "version": "v1", "suite_hash": SUITE.hash, "masgym": "0.1.0"},
        **{"agents": {"*": "oracle"}, "style": "full", "settings": {}, "sandbox": "bubblewrap"},
        **{"protocol": protocol_of(SUITE), "scores": scores_of(SUITE, cells), "cells": cells},
    }
    return {**made, "hash": hash_of(made)}


def test_a_whole_submission_holds(whole):
    assert verify_submission(json.loads(json.dumps(whole))) == ()
    templated = {**whole, "agents": {"*": "hf:runs/v1/{domain}-{workflow}"}}
    assert verify_submission({**templated, "hash": hash_of(templated)}) == ()
    assert "| all domains | 100.0" in markdown_of(whole)


def cell_with(**fields):
    """Damage: fields of one cell."""
    return lambda s: s["cells"]["code-hard-pair"].update(fields)


def first_outcomes(*outcomes):
    return lambda s: s["cells"]["code-hard-pair"]["outcomes"].__setitem__(0, list(outcomes))


DAMAGES = [
    (lambda s: s["cells"].pop("math-easy-solo"), "cell math-easy-solo is missing"),
    (lambda s: s["cells"].update(more={}), "the suite has no cell more"),
    (lambda s: s["cells"].update({"math-easy-solo": 3}), "cell math-easy-solo: it is no object"),
    (lambda s: s["cells"]["math-easy-solo"].pop("C_tok"), "cell math-easy-solo: its keys C_tok are missing or unknown"),
    (lambda s: s.update(cells=[]), "it has no cells"),
    (lambda s: s.update(note="mine"), "its keys note are missing or unknown"),
    (lambda s: s.pop("protocol"), "its keys protocol are missing or unknown"),
    (lambda s: s.update(format=True), "it is of format true"),
    (lambda s: s.update(format=1.0), "it is of format 1.0"),
    (lambda s: s.update(version="v9"), 'suite "v9", not known here'),
    (lambda s: s.update(version=["v1"]), "not known here"),
    (lambda s: s.update(suite="other"), "its suite is not that of masgym-bench v1"),
    (lambda s: s.update(suite_hash="0"), "its suite_hash is not that of masgym-bench v1"),
    *(
        (lambda s, change=change: s["protocol"].update(change), "its protocol is not that of masgym-bench v1")
        for change in ({"T": 9}, {"T": 8.0}, {"samples": True}, {"samples": 2}, {"seed": False}, {"split": "train"})
    ),
    *(
        (lambda s, given=given: s.update(style=given), "its style is")
        for given in ("fulll", None, True, ["full"], {"full": 1})
    ),
    (lambda s: s.update(style="compact"), "with T = 8 and style compact it is"),
    *(
        (lambda s, given=given: s.update(masgym=given), "its version of masgym is")
        for given in (None, 1, "", "new", [], "1.0\x1b[2J", "1.0|<b>", "1.0\n")
    ),
    *((lambda s, given=given: s.update(sandbox=given), "its sandbox is") for given in (None, "auto", True, ["x"], {})),
    (lambda s: s.update(settings=[]), "its settings are no object"),
    *(
        (lambda s, given=given: s.update(agents=given), "its agents are no names by role")
        for given in ([], "oracle", {"*": 1}, {"*": " "}, {"*": "a\x1b[2J"}, {"*": "a\n"}, {"*": "a" * 1001})
    ),
    (lambda s: s.update(agents={}), "nobody played actor_0"),
    (lambda s: s.update(agents={"actor": "mine", "aggregator": "mine", "worker": "mine"}), "nobody played tool_0"),
    (lambda s: s.update(agents={"*": "mine", "tol": "mine"}), "no cell has an agent or role 'tol'"),
    (cell_with(task_hash="0" * 64), "cell code-hard-pair: its tasks were not those of the suite"),
    (cell_with(task_hash=0), "its tasks were not those of the suite"),
    *((cell_with(fingerprint=given), "cell code-hard-pair: its game was another one") for given in ("0" * 16, None, 1)),
    (lambda s: s["cells"]["code-hard-pair"]["outcomes"].pop(), "has not the outcomes of 22 tasks"),
    (cell_with(outcomes={}), "has not the outcomes of 22 tasks"),
    *(
        (first_outcomes(*given), "not 1 of true or false")
        for given in ((), (True, True), ("yes",), (1,), (1.0,), (None,), ([True],))
    ),
    (lambda s: s["cells"]["code-hard-pair"]["outcomes"].__setitem__(0, True), "not 1 of true or false"),
    (first_outcomes(False), "success does not follow"),
    (cell_with(success={"mean": 1, "low": 0.85, "high": True}), "success does not follow"),
    (cell_with(success=1.0), "success does not follow"),
    *(
        (cell_with(**{name: given}), f"cell code-hard-pair: its {name} is")
        for name in ("failures", "C_tok", "C_call", "C_tool")
        for given in (-1, True, 1.5, "1", None, float("nan"), 10**16)
    ),
    (cell_with(failures=1), "its failures is 1; from 0 to 0 can be"),
    (cell_with(C_call=21), "its C_call is 21; from 22 to 352 can be"),
    (cell_with(C_call=353), "its C_call is 353; from 22 to 352 can be"),
    *(
        (cell_with(malformed_rate=given), "its malformed_rate is")
        for given in (-0.5, 1.5, False, 0, "0.5", None, float("nan"), float("inf"))
    ),
    (cell_with(malformed_rate=0.505), "its malformed_rate 0.505 is no share of 100 replies"),
    (lambda s: s["scores"]["solo"]["success"].update(mean=0.5), "scores do not follow"),
    (lambda s: s["scores"]["solo"]["success"].update(mean=True), "scores do not follow"),
    (lambda s: s["scores"].pop("solo"), "scores do not follow"),
    (lambda s: s.update(scores=None), "scores do not follow"),
]


@pytest.mark.parametrize(("damage", "says"), DAMAGES)
def test_what_is_wrong_with_a_submission_is_told(whole, damage, says):
    damaged = copy.deepcopy(whole)
    damage(damaged)
    damaged["hash"] = hash_of(damaged)
    wrong = verify_submission(json.loads(json.dumps(damaged)))
    assert says in " ".join(wrong)
    assert len(wrong) < len(SUITE.cells) or "style compact" in says


def test_a_submission_that_was_changed_by_hand_is_found(whole):
    assert "which was changed" in verify_submission({**whole, "agents": {"*": "mine"}})[0]
    assert verify_submission([]) == ("it is no JSON object",)
    assert verify_submission({})[0].startswith("it is of format null")
    assert verify_submission({"format": {1}})[0].startswith("it is no JSON")


def test_whatever_stands_in_a_submission_is_told_and_nothing_is_raised(whole):
    rng = random.Random(0)
    for _ in range(60):
        damaged = copy.deepcopy(whole)
        mutate(damaged, rng)
        damaged["hash"] = hash_of(damaged)
        assert verify_submission(damaged) or damaged == whole


def test_the_command_says_whether_it_holds(whole, tmp_path, capsys):
    def verify(text, *words):
        (tmp_path / "submission.json").write_text(text)
        status = main(["verify", str(tmp_path / "submission.json"), *words])
        told = capsys.readouterr()
        return status, told.out, told.err

    status, out, err = verify(json.dumps({**whole, "hash": hash_of(whole)}))
    assert (status, err) == (0, "")
    assert "| all domains | 100.0" in out
    assert "submission.json holds: " in out
    damaged = {**whole, "style": "\x1b[31m", "cells": {"more": {}}}
    status, out, err = verify(json.dumps({**damaged, "hash": hash_of(damaged)}))
    assert (status, err) == (1, "")
    assert "submission.json does not hold:\n- " in out
    assert "- cell math-easy-solo is missing\n" in out
    assert "\x1b" not in out
    status, out, err = verify(json.dumps(damaged), "--json")
    assert (status, err) == (1, "")
    wrong = ["its hash is not that of its content, which was changed"]
    assert json.loads(out) == {"file": str(tmp_path / "submission.json"), "holds": False, "wrong": wrong}
    for text in ("", "{", "[]", "[" * 100_000, '{"format": ' + "9" * 5000 + "}"):
        status, out, err = verify(text)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert "submission.json" in err
    assert main(["verify", str(tmp_path)]) == 2
    assert main(["verify", str(tmp_path / "none.json")]) == 2
    assert capsys.readouterr().err.count("cannot be read") == 2


def test_an_agents_name_does_not_reach_the_terminal_as_it_is(whole):
    assert "\x1b" not in markdown_of({**whole, "agents": {"*": "\x1b[31mred\n"}})


def mutate(found, rng):
    """Changes one value anywhere in it."""
    while True:
        key = rng.choice(list(found) if isinstance(found, dict) else range(len(found)))
        inner = found[key]
        if not isinstance(inner, dict | list) or not inner or rng.random() < 0.2:
            found[key] = rng.choice([None, True, 0, -1.5, 10**40, float("nan"), "", "\ud800", [], [[]], {}, {"a": 1}])
            return
        found = inner


def test_partial_submissions_are_told(tmp_path):
    submission = play(tmp_path, OracleAgent(), only=["plan_path-easy-solo"])
    wrong = verify_submission(submission)
    assert len(wrong) == len(SUITE.cells) - 1
    assert all(line.endswith("is missing") for line in wrong)


def test_a_suite_that_does_not_exist_is_told():
    with pytest.raises(UnknownName, match="unknown suite 'v2'"):
        load_suite("v2")


def test_failures_of_an_agent_are_counted_in_the_submission(tmp_path):
    class Down:
        async def act(self, request):
            return Reply(text="", failure="connection")

    submission = play(tmp_path, Down(), TINY, only=["plan_path-easy-solo"])
    assert submission["cells"]["plan_path-easy-solo"]["failures"] == 2


def test_a_file_in_the_working_folder_is_no_suite(tmp_path, monkeypatch):
    (tmp_path / "v1.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert load_suite("v1") == SUITE


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
