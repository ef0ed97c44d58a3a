"""The contract test passes on what the suite ships, and every one of its checks can fail."""

from collections.abc import Callable
from dataclasses import dataclass, make_dataclass

import pytest
import toy_faults as faults
from toy import Line
from toy_workflows import Duo

import masgym
from masgym import testing
from masgym.faces import RawAEC
from masgym.game import Game
from masgym.testing.play import first_tasks, must
from masgym.workflows.pair import Pair
from masgym.workflows.solo import Solo

DOMAINS, WORKFLOWS = masgym.list_domains(), masgym.list_workflows()
LEVELS = [
    pytest.param(domain, level, marks=[pytest.mark.slow] if domain == "code" else [])  # it runs thousands of programs
    for domain in DOMAINS
    for level in masgym.list_levels(domain)
]
SHORTER: dict[str, dict] = {"code": {"T": 2}, "math": {"T": 2}}
REPLIES = {  # where a domain lists no legal ones, or no program
    "code": ("0", "[]", "f(1) == 1", "f(1) == 1; f(2) == 1", "x+", "```python\ndef f(*a):\n    raise ValueError\n```"),
    "math": ("3", "\\boxed{7}\\boxed{8}", "```python\nprint(7)\n```"),
    "search": ("<search>founder</search>", "?home town", "<answer>1785</answer>", "<answer>nothing known</answer>"),
}
BY_TASK = {
    "determinism": testing.check_determinism,
    "purity": testing.check_purity,
    "observations": testing.check_observations,
    "visibility": testing.check_visibility,
    "fuzz": testing.check_fuzz,
    "returns": testing.check_returns,
    "handed out": testing.check_handed_out,
    "snapshots": testing.check_snapshots,
    "JSON": testing.check_json,
    "new process": testing.check_new_process,
}
BY_GAME = {"weights": testing.check_weights, "terms": testing.check_terms, "oracle": testing.check_oracle}


def keeps(domain: str, workflow: str, *, new_process: bool, **options) -> None:
    game = masgym.game(domain, workflow, **{**SHORTER.get(domain, {}), **options})
    testing.check_game(game, tasks=1, beam=4, replies=REPLIES.get(domain, ()), new_process=new_process)


@pytest.mark.parametrize("workflow", WORKFLOWS)
@pytest.mark.parametrize("domain", DOMAINS)
def test_the_shipped_games_keep_the_contract(domain: str, workflow: str) -> None:
    keeps(domain, workflow, new_process=workflow == "pair")


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_compact_style_keeps_the_contract(domain: str) -> None:
    keeps(domain, "pair", style="compact", new_process=False)


@pytest.mark.parametrize("workflow", [Solo(), Pair(), Duo()])
def test_a_toy_keeps_the_contract(workflow) -> None:
    testing.check_game(Game(domain=Line(length=14), workflow=workflow))


@pytest.mark.parametrize("options", [{"outcome_only": True}, {"alpha": 2.0}, {"malformed": -2.0}, {"T": 5}])
def test_the_contract_holds_under_other_reward_settings(options: dict) -> None:
    testing.check_game(masgym.game("plan_path", Duo(), **options), tasks=1, new_process=False)


@pytest.mark.parametrize(("domain", "level"), LEVELS)
def test_every_level_keeps_the_contract(domain: str, level: str) -> None:
    keeps(domain, "pair", level=level, new_process=False)


PLANTED = [
    (faults.GlobalDice, "determinism", "the same random replies differ"),
    (faults.GlobalTasks, "determinism", "drawn again is another one"),
    (faults.HiddenState, "purity", "gave two results"),
    (faults.ChangesInPlace, "purity", "changed the state"),
    (faults.ShowsTheStart, "observations", "not the picture"),
    (faults.BreaksOnDigits, "fuzz", "raised ValueError"),
    (faults.EmptyIsFine, "fuzz", "is not malformed"),
    (faults.Parrot, "fuzz", "a note of 100000 characters"),
    (faults.TermOutOfRange, "fuzz", "'best' is 3.0"),
    (faults.NineTenths, "weights", "not to 1"),
    (faults.Negative, "weights", "negative"),
    (faults.TermNeverSet, "terms", "legal never varied: never set"),
    (faults.TermWithoutWeight, "terms", "legl has no weight"),
    (faults.Slow, "oracle", "not solved within T = 8"),
    (faults.Mute, "oracle", "is malformed"),
    (faults.HeadStart, "oracle", "not 0"),
    (faults.BetterThanTheGoal, "returns", "the oracle earns"),
    (faults.HiddenState, "snapshots", "steps differently"),
    (faults.TupleInContent, "JSON", "differs from what was written"),
    (faults.KnowsItsProcess, "new process", "goes on differently there"),
]


def run(check: str, game: Game) -> None:
    if check in BY_GAME:
        BY_GAME[check](game)
    else:
        for task in first_tasks(game, 4):
            BY_TASK[check](game, task)


@pytest.mark.parametrize(("domain", "check", "says"), PLANTED, ids=lambda part: getattr(part, "__name__", None))
def test_a_planted_fault_is_found(domain: type, check: str, says: str) -> None:
    with pytest.raises(AssertionError, match=f"(?s)^{check}: .*{says}"):
        run(check, Game(domain=domain(length=14), workflow=Pair()))


@pytest.mark.parametrize("domain", sorted({row[0] for row in PLANTED}, key=lambda kind: kind.__name__))
def test_check_game_finds_each_of_them(domain: type) -> None:
    with pytest.raises(AssertionError):
        testing.check_game(Game(domain=domain(length=14), workflow=Pair()), tasks=4)


class Untitled(Line):
    @property
    def titles(self):
        return {"tool": "scout"}


class WorldOfLists(Line):
    def initial(self, task):
        return list(super().initial(task))


def empty(name: str, *bases: type) -> type:
    return dataclass(frozen=True)(type(name, bases, {}))


THAWED = make_dataclass("Thawed", [], namespace={n: x for n, x in vars(Line).items() if n[:2] != "__"})
BROKEN = {
    "Empty lacks name, tasks, titles, initial, .*oracle; masgym.game.Domain": empty("Empty"),
    "Stub lacks name, tasks": empty("Stub", masgym.Domain),
    "Thawed is a dataclass that is not frozen": THAWED,
    "`titles` of Untitled has no 'act', in which Pair": Untitled,
    "the world of WorldOfLists, a list, cannot be hashed": WorldOfLists,
}


@pytest.mark.parametrize("says", BROKEN)
def test_what_is_no_domain_is_told_in_words(says: str) -> None:
    with pytest.raises(AssertionError, match=f"^shape: .*{says}"):
        testing.check_game(Game(domain=BROKEN[says](), workflow=Pair()))


def test_what_is_no_workflow_is_told_in_words() -> None:
    with pytest.raises(AssertionError, match="the workflow Mute lacks name, agents, slot, active"):
        testing.check_game(Game(domain=Line(), workflow=empty("Mute")()))


def test_an_actor_that_does_not_hear_the_tool_is_found() -> None:
    with pytest.raises(AssertionError, match="visibility: actor_0 see the same whatever tool_0 said"):
        run("visibility", Game(domain=Line(length=14), workflow=faults.Deaf()))


def test_a_face_that_shows_stored_replies_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    observe: Callable = RawAEC.observe
    monkeypatch.setattr(RawAEC, "observe", lambda self, a: {"text": observe(self, a)["text"] + str(self.now.pending)})
    with pytest.raises(AssertionError, match="sees the stored reply of tool_0"):
        run("visibility", Game(domain=Line(), workflow=Duo()))


def test_a_face_that_pays_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    last: Callable = RawAEC.last

    def twice(self, observe=True):
        seen, reward, *rest = last(self, observe)
        return seen, 2 * reward, *rest

    monkeypatch.setattr(RawAEC, "last", twice)
    with pytest.raises(AssertionError, match="handed out"):
        run("handed out", Game(domain=Line(), workflow=Pair()))


def test_a_snapshot_that_forgets_stored_replies_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    restore: Callable = RawAEC.restore
    monkeypatch.setattr(RawAEC, "restore", lambda self, s: restore(self, testing.play.start(s.game, s.state.task)))
    with pytest.raises(AssertionError, match="snapshots: a restored environment shows something else"):
        run("snapshots", Game(domain=Line(), workflow=Duo()))


def test_a_class_that_no_other_process_finds_is_said_to_be_so() -> None:
    class Local(Line):
        pass

    with pytest.raises(AssertionError, match="define it at the top of an importable module"):
        run("new process", Game(domain=Local(), workflow=Pair()))


def test_must_is_no_assert_statement() -> None:
    must(True, "fine")
    with pytest.raises(AssertionError, match="broken"):
        must(False, "broken")


def test_replies_that_are_given_are_tried() -> None:
    game = Game(domain=faults.MagicWord(length=14), workflow=Solo())
    task = first_tasks(game, 1)[0]
    testing.check_returns(game, task)
    with pytest.raises(AssertionError, match="xyzzy"):
        testing.check_returns(game, task, replies=("xyzzy",))
