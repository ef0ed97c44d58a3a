"""What `validate` says of games that score as they must, and of games with a planted fault."""

import asyncio
import json
from dataclasses import replace

import pytest
import toy_faults as faults
from toy import Line

import masgym
from masgym.errors import BadValue, NoSandbox
from masgym.game import Game
from masgym.types import Effect, ToolCall
from masgym.validate import CANARIES, table, validate
from masgym.workflows.pair import Pair


def validated(game, tasks=5):
    return asyncio.run(validate(game, tasks=tasks))


def lines(domain):
    return Game(domain=domain(length=14), workflow=Pair())


def failed(game, tasks=5):
    return {check.name: check.detail for check in validated(game, tasks).checks if not check.passed}


@pytest.mark.parametrize("game", [masgym.game("plan_path", "pair"), masgym.game("sudoku", "verify"), lines(Line)])
def test_games_that_score_as_they_must(game):
    found = validated(game, tasks=10)
    assert found.passed, [check for check in found.checks if not check.passed]
    names = [check.name for check in found.checks]
    assert {f"canary: {name}" for name in CANARIES} <= set(names)
    assert "oracle: solves every task" in names
    assert len(names) == len(set(names)) == 23


class Generous(Line):
    """Reaches the goal whenever the right moves are somewhere in the reply."""

    def effect(self, slot, world, reply, results) -> Effect:
        start, _, goal = world
        if "G" in reply or ">+<" in reply:
            terms = {"format": 1.0, "legal": 1.0, "best": 1.0}
            return Effect(world=(start, goal, goal), terms=terms, note="there", done=True, right=True)
        return super().effect(slot, world, reply, results)


class Bribable(Line):
    """Pays for an empty reply."""

    def effect(self, slot, world, reply, results) -> Effect:
        made = super().effect(slot, world, reply, results)
        return made if reply else replace(made, malformed=False)


class Fragile(Line):
    """Breaks on characters that are no ASCII."""

    def effect(self, slot, world, reply, results) -> Effect:
        reply.encode("ascii")
        return super().effect(slot, world, reply, results)


class Helpless(Line):
    """Its oracle does nothing useful."""

    def oracle(self, world, slot) -> str:
        return "-"


class Programs(Line):
    """Wants a sandbox that is not there."""

    def calls(self, slot, world, reply, results) -> tuple[ToolCall, ...]:
        raise NoSandbox("install bubblewrap")


def test_replies_that_list_every_option_or_echo_the_prompt_must_not_pay():
    found = failed(lines(Generous))
    assert found.keys() == {"canary: the prompt echoed", "canary: every option tagged"}
    assert "5 of 5 tasks solved" in found["canary: every option tagged"]


def test_an_empty_reply_is_malformed():
    assert "0 % malformed" in failed(lines(Bribable))["canary: empty replies"]


def test_what_a_game_raises_is_a_check_that_failed():
    found = failed(lines(Fragile))
    assert "UnicodeEncodeError" in found["canary: Unicode noise"]
    assert "canary: empty replies" not in found


def test_an_oracle_that_does_not_solve_is_found():
    found = failed(lines(Helpless))
    assert found["oracle: solves every task"] == "0 of 5 tasks solved"
    assert {"oracle: earns 2, the most there is", "random: solves less than the oracle"} <= found.keys()


@pytest.mark.parametrize(
    ("domain", "check"),
    [
        (faults.NineTenths, "the weights of a slot sum to 1"),
        (faults.TermNeverSet, "every reward term varies"),
        (faults.HiddenState, "nothing is changed in place"),
        (faults.ShowsTheStart, "prompts show the present"),
        (faults.BetterThanTheGoal, "no replies out-earn the oracle"),
        (faults.TupleInContent, "saved points are JSON"),
        (faults.EmptyIsFine, "no reply raises"),
    ],
)
def test_faults_of_the_contract_are_found(domain, check):
    assert f"contract: {check}" in failed(lines(domain))


def test_a_missing_sandbox_is_not_the_games_fault():
    with pytest.raises(NoSandbox):
        validated(lines(Programs))


@pytest.mark.parametrize("tasks", [0, "x", True])
def test_bad_arguments_are_told(tasks):
    with pytest.raises(BadValue, match="tasks is"):
        validated(lines(Line), tasks)


def test_a_validation_is_json_and_a_table():
    found = validated(lines(Helpless))
    data = json.loads(json.dumps(found.to_json()))
    assert data["passed"] is False
    assert {"name", "passed", "detail"} == set(data["checks"][0])
    assert table(found).row_count == len(found.checks)
    assert "does NOT score" in str(table(found).title)


def test_what_is_seen_stands_beside_what_is_wanted():
    """A NO that names no bound is a riddle."""
    said = {check.name: check.detail for check in validated(lines(Line), tasks=40).checks}
    assert "of 40 tasks solved, at most 2 may be; " in said["canary: Unicode noise"]
    assert "100 % malformed, all have to be" in said["canary: empty replies"]
    assert "the interval has to lie above 0" in said["random: solves less than the oracle"]
    assert "the oracle 2" in said["random: earns no more than the oracle"]
