"""The frozen suite: its tasks have not drifted, the oracle solves them."""

import asyncio
from dataclasses import replace

import pytest
from suite_runs import SUITE, play

import masgym
from masgym.agents.oracle import OracleAgent
from masgym.errors import BadFile, UnknownName
from masgym.evaluate import evaluate
from masgym.report import summarise
from masgym.runs import task_hash
from masgym.suites import load_suite
from masgym.verification import verify_submission

SLOW = {("sokoban", "hard"), ("sudoku", "hard"), ("sudoku", "expert"), ("code", "easy"), ("search", "nano")}
LATER = {("code", "nano")}  # levels that are newer than the frozen suite


def source(level):
    return masgym.game(level.domain, "solo", level=level.level, T=SUITE.T).domain.tasks


def test_the_suite_has_every_domain_and_level_under_three_workflows():
    domains = ("sokoban", "plan_path", "sudoku", "code", "math", "search")
    named = {(domain, level) for domain in domains for level in masgym.list_levels(domain)}
    named -= LATER
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


def test_a_suite_that_does_not_exist_is_told():
    with pytest.raises(UnknownName, match="unknown suite 'v2'"):
        load_suite("v2")


def test_a_file_in_the_working_folder_is_no_suite(tmp_path, monkeypatch):
    (tmp_path / "v1.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert load_suite("v1") == SUITE
