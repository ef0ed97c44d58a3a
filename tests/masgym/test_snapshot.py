"""Snapshots: exact, on fresh environments and other faces, through wrappers; the JSON form refuses what is wrong."""

import json
import pickle
import timeit
from dataclasses import replace

import gymnasium
import pytest
from pettingzoo.utils.wrappers import BaseWrapper
from toy import Line
from toy_workflows import Duo

import masgym
from masgym.errors import BadSnapshot
from masgym.game import Game
from masgym.snapshot import Snapshot, answer, start
from masgym.tasks import content_hash, split_of
from masgym.types import ToolCall, ToolResult, value

GAME = Game(domain=Line(), workflow=Duo())
REPLIES = ("+", "", "--", "-", "+", "x", "+", "+", "+++", "+", "+", "++++", "+", "+", "++++", "+", "+", "++")


@pytest.fixture(autouse=True, scope="module")
def registered() -> None:
    masgym.register_domain("line", "toy:Line")


def env(reset: bool = True):
    made = masgym.make("line", Duo())
    if reset:
        made.reset(seed=2)
    return made


def shown(made) -> tuple:
    """All that an environment hands out."""
    return (
        made.agents[:],
        made.agent_selection,
        made.rewards,
        made.unwrapped._cumulative_rewards,
        made.terminations,
        made.truncations,
        made.infos,
        {a: made.observe(a) for a in made.possible_agents},
        made.state(),
    )


def every_step(made):
    """Walks through a whole game, dead steps included; yields before every step, with the action that follows."""
    replies = iter(REPLIES)
    while made.agents:
        action = None if made.terminations[made.agent_selection] else next(replies)
        yield action
        made.step(action)


def test_at_every_step_a_fresh_environment_goes_on_equally() -> None:
    made = env()
    for action in every_step(made):
        before = made.snapshot()
        fresh = env(reset=False)
        fresh.restore(Snapshot.from_json(before.to_json(), GAME))
        assert fresh.snapshot() == before
        assert shown(fresh) == shown(made)
        fresh.step(action)
        probe = env(reset=False)
        probe.restore(before)
        probe.step(action)
        assert fresh.snapshot() == probe.snapshot()
        assert shown(fresh) == shown(probe)
    assert made.snapshot().state.success


def test_restoring_goes_back_and_stored_replies_belong_to_it() -> None:
    made = env()
    made.step("+")
    middle = made.snapshot()
    assert middle.pending == {"tool_0": "+"}
    for reply in ("-", "++"):
        made.step(reply)
    assert made.snapshot() != middle
    made.restore(middle)
    assert made.agent_selection == "tool_1"
    assert made.snapshot() is middle


def test_restore_inside_agent_iter_and_through_a_wrapper() -> None:
    made = env()
    kept = made.snapshot()
    outer = BaseWrapper(env(reset=False))
    outer.restore(kept)
    for count, _ in enumerate(outer.agent_iter()):
        outer.step("+") if count < 3 else outer.restore(kept)
        if count == 4:
            break
    assert outer.agent_selection == "tool_0"
    assert outer.snapshot() == kept


def test_faces_exchange_snapshots() -> None:
    made, parallel = env(), masgym.parallel_env("line", Duo())
    for reply in ("+", "+", "++", "-"):
        made.step(reply)
    parallel.restore(made.snapshot())
    parallel.step({"tool_1": "+"})  # tool_0's reply is stored
    made.step("+")
    assert parallel.snapshot() == made.snapshot()
    single = gymnasium.make("masgym/Line-v0")
    single.reset(seed=1)
    single.step("+")
    solo = masgym.make("line", "solo")
    solo.restore(single.unwrapped.snapshot())
    assert solo.observe("actor_0")["text"].startswith("You are the walker.")


def test_it_is_a_value_that_pickles_and_costs_microseconds() -> None:
    made = env()
    made.step("+")
    kept = made.snapshot()
    assert pickle.loads(pickle.dumps(kept)) == kept  # noqa: S301
    raw = made.unwrapped
    seconds = min(timeit.repeat(lambda: raw.restore(raw.snapshot()), number=1000, repeat=3)) / 1000
    assert seconds < 100e-6


def test_another_game_is_refused_and_the_difference_named() -> None:
    kept = env().snapshot()
    for other, named in (
        (masgym.make("line", Duo(), T=3), "T: 3 here, 8 there"),
        (masgym.make("line", Duo(), length=5), "domain.length: 5 here, 9 there"),
        (masgym.make("line", "pair"), "workflow.name: 'pair' here, 'duo' there"),
        (masgym.make("sokoban", Duo()), "domain.name: 'sokoban' here, 'line' there"),
    ):
        with pytest.raises(BadSnapshot, match=named):
            other.restore(kept)
        with pytest.raises(BadSnapshot, match=named):
            Snapshot.from_json(kept.to_json(), other.unwrapped.game)


def test_restore_takes_a_snapshot() -> None:
    with pytest.raises(BadSnapshot, match="not a str; read its JSON form"):
        env().restore(env().snapshot().to_json())


def changed(text: str, change) -> str:
    record = json.loads(text)
    change(record)
    return json.dumps(record)


def played() -> str:
    made = env()
    for reply in ("+", "", "++", "+"):
        made.step(reply)
    return made.snapshot().to_json()


RESULT = {"outcome": "ok", "value": None}
TAMPERINGS = {
    "another format": (lambda r: r.update(format=2), "format 2; this version reads format 1"),
    "no format": (lambda r: r.pop("format"), "format None"),
    "a part missing": (lambda r: r.pop("log"), "lacks log"),
    "another fingerprint": (lambda r: r.update(fingerprint="0"), "another game"),
    "another spec": (lambda r: r["game"].update(alpha=2.0), "alpha: 1.0 here, 2.0 there"),
    "content": (lambda r: r["task"]["content"].update(start=8), "content was changed"),
    "another domain's task": (lambda r: r["task"].update(domain="maze"), "of domain 'maze'"),
    "a split that is none": (lambda r: r["task"].update(split="dev"), "split 'dev'"),
    "a task field too many": (lambda r: r["task"].update(extra=1), "cannot be replayed"),
    "a member missing in the log": (lambda r: r["log"][0][0].pop("tool_1"), "outputs of"),
    "a reply that is no text": (lambda r: r["log"][0][0].update(tool_0=3), "int of 'tool_0'"),
    "a log that is none": (lambda r: r.update(log=[[1, 2]]), "cannot be replayed"),
    "a log beyond the end": (lambda r: r["log"].extend([[{"actor_0": "++++"}, {}]] * 9), "were active"),
    "pending of somebody else": (lambda r: r.update(pending={"actor_0": "+"}), "'actor_0'"),
    "pending that is complete": (lambda r: r["pending"].update(tool_1="+"), "belong into the log"),
    "agents that left too soon": (lambda r: r.update(left=1), "only after the game is over"),
    "agents that came": (lambda r: r.update(left=-1), "left is -1"),
    "agents that left by half": (lambda r: r.update(left=True), "left is True"),
    "a log that is no list": (lambda r: r.update(log={}), "log is dict"),
    "format true": (lambda r: r.update(format=True), "format True"),
    "results of nobody": (lambda r: r["log"][0].__setitem__(1, {"nobody": [RESULT]}), "beyond the calls"),
    "results not asked for": (lambda r: r["log"][0].__setitem__(1, {"tool_0": [RESULT]}), "beyond the calls"),
    "no results, but an entry": (lambda r: r["log"][0].__setitem__(1, {"tool_0": []}), "beyond the calls"),
    "an index that is text": (lambda r: r["task"].update(index="abc"), "index is 'abc'"),
    "an index below 0": (lambda r: r["task"].update(index=-5), "index is -5"),
    "a seed that is true": (lambda r: r["task"].update(seed=True), "seed is True"),
    "an optimum below 0": (lambda r: r["task"].update(optimum=-5), "optimum is -5"),
    "another optimum": (lambda r: r["task"].update(optimum=1), "optimum is 1; that of the game's own line/train/"),
    "no optimum": (lambda r: r["task"].update(optimum=None), "optimum is None; that of the game's own"),
    "another level": (lambda r: r["task"].update(level="hard"), "level is 'hard'; that of the game's own"),
    "a level that cannot be printed": (lambda r: r["task"].update(level="\x1b[2J"), "can be printed"),
    "another index": (lambda r: r["task"].update(index=99), "the game's own line/train/99"),
    "another seed": (lambda r: r["task"].update(seed=99), "content_hash is"),
    "other params": (lambda r: r["task"].update(params={"length": 10}), "params is {'length': 10}"),
    "params of another kind": (lambda r: r["task"].update(params={"length": 9.0}), "params is {'length': 9.0}"),
    "a seed below 0": (lambda r: r["task"].update(seed=-1), "seed is -1"),
    "params null": (lambda r: r["task"].update(params=None), "params is None"),
    "params a list": (lambda r: r["task"].update(params=[1]), r"params is \[1\]"),
    "a level that is none": (lambda r: r["task"].update(level=None), "level is None"),
    "an optimum that is text": (lambda r: r["task"].update(optimum="3"), "optimum is '3'"),
    "a split of other content": (lambda r: r["task"].update(split="test"), "of split 'train' by its content"),
    "a reply with lone surrogates": (lambda r: r["log"][0][0].update(tool_0="\ud800"), "lone surrogates"),
    "pending with lone surrogates": (lambda r: r["pending"].update(tool_0="\udfff"), "lone surrogates"),
    "results that are none": (lambda r: r["log"][0].__setitem__(1, {"tool_0": [3]}), "cannot be replayed"),
}


@pytest.mark.parametrize("kind", TAMPERINGS)
def test_tampered_text_is_refused(kind: str) -> None:
    change, says = TAMPERINGS[kind]
    assert Snapshot.from_json(played(), GAME)
    with pytest.raises(BadSnapshot, match=says):
        Snapshot.from_json(changed(played(), change), GAME)


@pytest.mark.parametrize("text", ["", "[]", "null", "{", "\ud800", '{"format": "1"}', "[" * 100_000])
def test_what_is_no_snapshot_is_refused(text: str) -> None:
    with pytest.raises(BadSnapshot):
        Snapshot.from_json(text, GAME)


def test_content_with_its_hash_made_right_must_still_be_a_task_of_the_domain() -> None:
    def change(record) -> None:
        record["task"]["content"].pop("goal")
        record["task"]["params"] = {"file": "own.jsonl"}  # else it would have to be what the game's source makes
        record["task"]["content_hash"] = content_hash(record["task"]["content"])
        record["task"]["split"] = split_of(record["task"]["content_hash"])

    with pytest.raises(BadSnapshot, match="cannot be replayed: KeyError"):
        Snapshot.from_json(changed(played(), change), GAME)


@value
class Measured(Line):
    """A line whose replies are judged by a tool."""

    def calls(self, slot, world, reply, results):
        return () if results else (ToolCall(tool="measure", arguments=reply),)

    def effect(self, slot, world, reply, results):
        return Line.effect(self, slot, world, results[0].value, ())


def test_results_are_in_the_snapshot_so_restoring_runs_no_tool() -> None:
    game = Game(domain=Measured(), workflow=Duo())
    now = start(game, game.domain.tasks.get("train", 0))

    def run(game, state, outputs):
        assert game.calls(state, outputs, {})
        results = {a: (ToolResult(outcome="ok", value=reply + "+"),) for a, reply in outputs.items()}
        return game.apply(state, outputs, results)

    for _ in range(4):
        now = answer(now, "+", run)
    assert Snapshot.from_json(now.to_json(), game) == now
    assert now.state.world[1] == now.state.world[0] + 2
    for change, says in (
        (lambda r: r["tool_0"].append(RESULT), "beyond the calls"),
        (lambda r: r.update(actor_0=r["tool_0"]), "beyond the calls"),
        (lambda r: r.pop("tool_0"), "lacks results of tool calls of .'tool_0'"),
        (lambda r: r["tool_0"][0].update(outcome=5), "outcome is 5"),
    ):
        with pytest.raises(BadSnapshot, match=says):
            Snapshot.from_json(changed(now.to_json(), lambda r, change=change: change(r["log"][0][1])), game)


def test_a_line_of_a_file_may_say_which_split_it_is_in() -> None:
    task = GAME.domain.tasks.get("train", 0)
    listed = replace(task, params={"file": "set.jsonl", "sha256": "0"}, split="test")
    now = start(GAME, listed)
    assert Snapshot.from_json(now.to_json(), GAME) == now


def test_a_task_of_a_finite_source_must_be_there() -> None:
    game = masgym.game("code", "solo", level="medium")
    text = start(game, game.domain.tasks.get("test", 1)).to_json()
    assert Snapshot.from_json(text, game).state.task.index == 1
    for changes, says in (
        ({"index": 10**9}, "index is 1000000000; that of the game's own code/test/0"),
        ({"index": 0}, "the game's own code/test/0"),
        ({"level": "hard"}, "level is 'hard'"),
        ({"optimum": 3}, "optimum is 3"),
        ({"seed": 7}, "seed is 7"),
    ):
        with pytest.raises(BadSnapshot, match=says):
            Snapshot.from_json(changed(text, lambda r, changes=changes: r["task"].update(changes)), game)


def test_a_task_of_another_collection_or_given_by_hand_goes_on() -> None:
    other = Line(seed=5).tasks.get("test", 3)
    by_hand = replace(other, params={"length": 9, "by": "hand"}, index=7, optimum=None, level="mine")
    for task in (other, by_hand):
        now = start(GAME, task)
        assert Snapshot.from_json(now.to_json(), GAME) == now
    forged = changed(start(GAME, other).to_json(), lambda r: r["task"].update(optimum=other.optimum + 1))
    with pytest.raises(BadSnapshot, match="optimum is"):
        Snapshot.from_json(forged, GAME)
