"""What the supervised start shows."""

from collections import Counter

import pytest

import masgym
from masgym.domains.moves import parse_moves
from masgym.domains.sokoban.board import parse, play
from masgym.domains.sokoban.solver import pushes_left
from masgym.errors import BadValue
from masgym.tasks import Procedural
from masgym.tools.python import Python
from masgym.types import Effect, value
from masgym.workflows.solo import Solo
from mastrain.demonstrations import demonstrations


def board(shown):
    """The Sokoban position that a compact prompt shows, its border of walls put back."""
    rows = [line for line in shown.messages[0].content.split("\n")[1:] if ":" not in line]
    wall = "#" * (len(rows[0]) + 2)
    return parse([wall, *(f"#{row}#" for row in rows), wall])


def advice(shown):
    return [line for line in shown.messages[0].content.split("\n") if line.startswith("tool:")]


def test_as_many_as_asked_and_the_same_for_the_same_seed(game):
    shown = demonstrations(game, 101, 0.3, seed=4)
    assert len(shown) == 101
    assert shown == demonstrations(game, 101, 0.3, seed=4)
    assert shown[:60] == demonstrations(game, 60, 0.3, seed=4)
    assert shown != demonstrations(game, 101, 0.3, seed=5)
    assert {one.agent for one in shown} == set(game.agents)


def test_only_states_that_can_be_won_and_replies_that_lead_on():
    for shown in demonstrations(masgym.game("sokoban", style="compact"), 600, 0.5, seed=0):
        position = board(shown)
        left = pushes_left(position)
        assert left is not None
        assert left > 0
        after, made = play(position, parse_moves(shown.reply, 4))
        assert made == shown.reply
        assert pushes_left(after) <= left


def test_advice_is_right_where_nothing_is_spoilt_and_of_every_kind_otherwise(game):
    clean = [one for one in demonstrations(game, 200, 0.0, seed=0) if one.agent == "actor_0"]
    assert all(advice(one) == [f"tool:{one.reply}"] for one in clean)
    spoilt = [one for one in demonstrations(game, 3000, 0.4, seed=0) if one.agent == "actor_0"]
    kinds = Counter(
        "malformed" if advice(one)[-1] == "tool:!" else "same" if advice(one)[-1] == f"tool:{one.reply}" else "other"
        for one in spoilt
    )
    assert kinds["same"] / len(spoilt) == pytest.approx(0.6, abs=0.1)
    assert kinds["malformed"] > 50
    assert kinds["other"] > 200


def test_spoilt_play_meets_states_off_the_best_path():
    game = masgym.game("plan_path", workflow="solo", style="compact")
    straight, wandering = (len(demonstrations_of_first_tasks(game, corrupt)) for corrupt in (0.0, 0.5))
    assert wandering > straight  # more turns on the same number of tasks
    own = [one for one in demonstrations(game, 1000, 0.5, seed=0) if "act:!" in one.messages[0].content]
    assert own  # and prompts that tell a malformed reply


def demonstrations_of_first_tasks(game, corrupt, tasks=40):
    goals, found = set(), []
    for one in demonstrations(game, 2000, corrupt, seed=0):
        rows = one.messages[0].content.split("\n")[1:11]
        goals.add("\n".join(rows).replace("@", "."))
        if len(goals) > tasks:
            return found
        found.append(one)
    raise AssertionError("too few tasks")


def test_only_train_tasks_are_shown(game, monkeypatch):
    asked, get = [], Procedural.get
    monkeypatch.setattr(Procedural, "get", lambda self, split, index: asked.append(split) or get(self, split, index))
    demonstrations(game, 100, 0.3, seed=0)
    assert len(asked) > 10
    assert set(asked) == {"train"}


@pytest.mark.parametrize("name", ["code", "math", "search", "sudoku"])
def test_other_domains(name):
    game = masgym.game(name, "pair", style="compact", T=3)
    shown = demonstrations(game, 20, 0.5, seed=1)
    assert shown == demonstrations(game, 20, 0.5, seed=1)
    assert {one.agent for one in shown} == set(game.agents)


def test_programs_whose_results_are_known_are_not_run(monkeypatch):
    ran = []
    monkeypatch.setattr(Python, "__call__", lambda self, arguments: ran.append(arguments))
    shown = demonstrations(masgym.game("code", "pair", style="compact"), 60, 0.0, seed=0)
    assert len(shown) == 60
    assert not ran


@value
class Judged(Solo):
    """An actor whose slot nobody can demonstrate."""

    def slot(self, agent):
        return "judge"

    def effect(self, state, agent, reply):
        return Effect(world=state.world, terms={}, note="")


def test_a_slot_without_demonstrator_is_an_error():
    with pytest.raises(BadValue, match="judge"):
        demonstrations(masgym.game("sokoban", workflow=Judged()), 1, 0.0, seed=0)


@pytest.mark.parametrize("corrupt", [-0.1, 1.0])
def test_corrupt_is_a_share(game, corrupt):
    with pytest.raises(BadValue, match="corrupt"):
        demonstrations(game, 1, corrupt, seed=0)
