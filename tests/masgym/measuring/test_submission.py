"""A submission says which tasks were played; one that was changed or made up is found."""

import copy
import json
import random

import pytest
from suite_runs import SUITE

from masgym.cli import main
from masgym.episodes import plain
from masgym.estimates import success_interval
from masgym.submission import hash_of, markdown_of, protocol_of, scores_of
from masgym.verification import verify_submission


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
    (lambda s: s["cells"].pop("math-easy-solo"), "62 of 63 cells; missing: math-easy-solo"),
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
    assert "- 0 of 63 cells; missing: sokoban-easy-solo, " in out
    assert "\x1b" not in out
    status, out, err = verify(json.dumps(damaged), "--json")
    assert (status, err) == (1, "")
    wrong = ["its hash is not that of its content, which was changed"]
    assert json.loads(out) == {"file": str(tmp_path / "submission.json"), "holds": False, "wrong": wrong}
    for text in ("", "{", "[]", "[" * 100_000, '{"format": ' + "9" * 5000 + "}"):
        status, out, err = verify(text)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert "submission.json" in err
    (tmp_path / "submission.json").unlink()
    for place in (tmp_path, tmp_path / "none.json"):
        assert main(["verify", str(place)]) == 2
        told = capsys.readouterr().err
        assert "cannot be read: No such file or directory" in told
        assert "Errno" not in told


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
