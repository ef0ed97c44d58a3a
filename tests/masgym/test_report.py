"""Estimates with numbers worked by hand, and the evaluator."""

import asyncio
import copy
import json
import math
import random
import re

import pytest

import masgym
from masgym.agents.base import Reply
from masgym.errors import BadFile, BadValue, UnknownName
from masgym.evaluate import assign, evaluate
from masgym.report import from_json, success_interval, summarise, table, to_json


class Oracle:
    async def act(self, request):
        return Reply(text=request.game.oracle(request.state, request.observation.agent), tokens=3, prompt_tokens=7)


class Sulking:
    async def act(self, request):
        return Reply(text="no")


class Broken:
    async def act(self, request):
        return Reply(text="", failure="timeout" if request.state.task.index % 2 else "")


def play(game, agents, **options):
    return asyncio.run(evaluate(game, agents, **options))


def test_the_interval_is_wilsons_with_one_sample_a_task():
    # 7 of 10: centre (0.7 + z^2/20) / (1 + z^2/10), z^2 = 3.841459
    z2 = 3.841459
    centre = (0.7 + z2 / 20) / (1 + z2 / 10)
    half = math.sqrt(z2) / (1 + z2 / 10) * math.sqrt(0.21 / 10 + z2 / 400)
    found = success_interval([[True]] * 7 + [[False]] * 3)
    assert found.mean == pytest.approx(0.7)
    assert (found.low, found.high) == pytest.approx((centre - half, centre + half), abs=1e-5)


def test_samples_of_one_task_are_no_independent_evidence():
    clustered = success_interval([[True] * 8] * 5 + [[False] * 8] * 5)
    single = success_interval([[True]] * 5 + [[False]] * 5)
    assert (clustered.low, clustered.high) == pytest.approx((single.low, single.high))
    spread = success_interval([[True, False] * 4] * 10)
    assert spread.high - spread.low < clustered.high - clustered.low


@pytest.mark.parametrize("outcome", [True, False])
def test_all_or_nothing_still_has_an_interval(outcome):
    found = success_interval([[outcome]] * 20)
    assert found.mean == float(outcome)
    assert 0.1 < found.high - found.low < 0.2


def test_the_interval_covers():
    draw, inside = random.Random(0), 0
    for _ in range(400):
        found = success_interval([[draw.random() < 0.6 for _ in range(2)] for _ in range(60)])
        inside += found.low <= 0.6 <= found.high
    assert 0.91 < inside / 400 < 0.99


@pytest.mark.parametrize("workflow", ["solo", "pair"])
@pytest.mark.parametrize("name", ["sokoban", "plan_path"])
def test_the_oracle_solves_and_a_sulking_team_does_not(name, workflow):
    game = masgym.game(name, workflow=workflow, T=8)
    good = summarise(play(game, {"*": Oracle()}, tasks=20))
    bad = summarise(play(game, {"*": Sulking()}, tasks=20))
    assert (good.success.mean, good.malformed_rate, good.episodes) == (1.0, 0.0, 20)
    assert good.returns == pytest.approx(2.0)  # Phi from 0 to 1, and success once
    assert good.tokens_per_episode == pytest.approx(3 * len(game.agents) * good.turns_to_solve)
    assert (bad.success.mean, bad.malformed_rate) == (0.0, 1.0)
    assert math.isnan(bad.turns_to_solve)
    assert bad.returns == pytest.approx(-0.5 * 8 * len(game.agents))


def test_a_failed_reply_ends_its_episode_by_that_name():
    report = summarise(play(masgym.game("sokoban"), {"*": Broken()}, tasks=10))
    assert report.failures == {"timeout": 5}


class Saying:
    def __init__(self, reply):
        self.reply = reply

    async def act(self, request):
        return self.reply


class Plain:
    def act(self, request):
        return Reply(text="no")


@pytest.mark.parametrize(
    ("agent", "says"),
    [
        (Saying(None), "gave NoneType; `async def act`"),
        (Saying("UP"), "gave str; `async def act`"),
        (Plain(), "gave Reply; `async def act`"),
        (Saying(Reply(text=None)), "text is None; str was expected"),
        (Saying(Reply(text=b"U")), "text is b'U'; str was expected"),
        (Saying(Reply(text="U", tokens=-5)), "with -5 and 0 tokens"),
        (Saying(Reply(text="U", failure="done")), "whose failure is 'done'"),
        (Saying(Reply(text="U", failure="T")), "whose failure is 'T'"),
        (Saying(Reply(text="U", failure="a\x1b[2J")), "whose failure is 'a.x1b.2J'"),
        (Saying(Reply(text="U", tokens=1.5)), "tokens is 1.5; int was expected"),
        (Saying(Reply(text="U", prompt_tokens=True)), "prompt_tokens is True; int was expected"),
        (Saying(Reply(text="U", cut=1)), "cut is 1; bool was expected"),
        (Saying(Reply(text="", failure=5)), "failure is 5; str was expected"),
    ],
)
def test_what_is_no_reply_is_refused_and_its_agent_named(agent, says):
    with pytest.raises(BadValue, match=f"^tool_0, played by {type(agent).__name__}, .*{says}"):
        play(masgym.game("sokoban"), {"tool": agent, "*": Oracle()}, tasks=2)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"tasks": "x"}, "tasks is 'x'; a whole number of at least 0"),
        ({"tasks": True}, "tasks is True"),
        ({"tasks": -1}, "tasks is -1"),
        ({"tasks": 2.0}, "tasks is 2.0"),
        ({"samples": 0}, "samples is 0"),
        ({"samples": None}, "samples is None"),
        ({"workers": 0}, "workers is 0"),
        ({"workers": "many"}, "workers is 'many'"),
        ({"key": "evaluate"}, "key is 'evaluate'; a tuple"),
        ({"split": "exam"}, "unknown split 'exam'"),
    ],
)
def test_bad_arguments_are_told(options, says):
    with pytest.raises((BadValue, UnknownName), match=says):
        play(masgym.game("sokoban"), {"*": Oracle()}, **{"tasks": 1, **options})


def test_what_is_no_game_and_who_is_no_agent_are_told():
    with pytest.raises(BadValue, match=r"game is 'sokoban'; a Game was expected"):
        play("sokoban", {"*": Oracle()}, tasks=1)
    with pytest.raises(BadValue, match=r"agents is .*; a mapping was expected"):
        play(masgym.game("sokoban"), Oracle(), tasks=1)
    with pytest.raises(BadValue, match=r"'tool' is played by 'oracle', which has no method act"):
        play(masgym.game("sokoban"), {"tool": "oracle", "*": Oracle()}, tasks=1)
    with pytest.raises(BadValue, match="no episodes to report on"):
        summarise(())


def test_pass_at_k_goes_by_powers_of_two():
    report = summarise(play(masgym.game("sokoban"), {"*": Oracle()}, tasks=2, samples=6))
    assert {k: found.mean for k, found in report.pass_at_k.items()} == {"1": 1, "2": 1, "4": 1}


def test_lone_surrogates_are_replaced_as_the_faces_do():
    seen = []

    class Listening(Saying):
        async def act(self, request):
            seen.extend(reply for outputs, _ in request.state.log for reply in outputs.values())
            return self.reply

    play(masgym.game("sokoban"), {"*": Listening(Reply(text="\ud800"))}, tasks=1)
    assert set(seen) == {"?"}


def test_what_an_agent_raises_comes_out_as_it_is_and_ends_the_other_episodes():
    asked, over = [], []

    class Failing(Oracle):
        async def act(self, request):
            asked.append(request.state.task.index)
            await asyncio.sleep(0)
            if request.state.task.index == 1 and over:
                raise KeyError("lost")
            return await super().act(request)

    class Slow(Failing):
        async def act(self, request):
            if request.state.task.index:
                while not over:
                    await asyncio.sleep(0)
            return await super().act(request)

    async def ended():
        with pytest.raises(KeyError, match="lost"):
            await evaluate(masgym.game("plan_path"), {"*": Slow()}, tasks=4, on_episode=over.append)
        before = len(asked)
        await asyncio.sleep(0.05)
        assert len(asked) == before
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(ended())
    assert over[0].index == 0


def test_results_do_not_depend_on_which_tasks_are_played_together():
    game = masgym.game("plan_path")
    many = play(game, {"*": Oracle()}, tasks=12, samples=2)
    few = play(game, {"*": Oracle()}, tasks=3, samples=2)
    assert many[:6] == few
    assert [(r.index, r.sample) for r in few] == [(i, s) for i in range(3) for s in range(2)]


def test_players_are_named_by_id_role_or_star():
    game = masgym.game("sokoban")
    one, two = Oracle(), Sulking()
    assert assign(game, {"tool": one, "*": two}) == {"tool_0": one, "actor_0": two}
    assert assign(game, {"tool_0": two, "tool": one, "actor": one}) == {"tool_0": two, "actor_0": one}
    with pytest.raises(UnknownName, match="planner"):
        assign(game, {"planner": one})
    with pytest.raises(BadValue, match="nobody is given who plays actor_0"):
        assign(game, {"tool": one})


class Wordy(Oracle):
    """Every second turn it is cut off."""

    async def act(self, request):
        cut = request.state.turn % 2 == 1
        return Reply(text="I think that <answer>" if cut else "no", tokens=5, cut=cut)


def test_replies_that_were_cut_off_are_counted():
    records = play(masgym.game("sokoban", T=4), {"tool": Wordy(), "*": Sulking()}, tasks=3)
    assert [(r.cut, r.replies) for r in records] == [(2, 8)] * 3
    report = summarise(records)
    assert report.cut_rate == 0.25
    assert to_json(report)["cut_rate"] == 0.25
    older = {name: found for name, found in to_json(report).items() if name != "cut_rate"}
    assert from_json(older).cut_rate == 0


def test_a_report_is_json_and_a_table():
    report = summarise(play(masgym.game("sokoban"), {"*": Sulking()}, tasks=3))
    data = json.loads(json.dumps(to_json(report)))
    assert data["success"]["mean"] == 0.0
    assert data["turns_to_solve"] is None
    assert table({"sulking": report}, "t").row_count == 1
    assert to_json(from_json(data)) == data


@pytest.fixture(scope="module")
def told():
    return to_json(summarise(play(masgym.game("plan_path"), {"*": Oracle()}, tasks=3)))


def test_limits_that_rounding_took_past_the_mean_are_read(told):
    success = {"mean": 0.0, "low": 5.551115123125783e-17, "high": 0.5614970356393196}
    assert from_json({**told, "success": success}).success.low == success["low"]


@pytest.mark.parametrize("data", [{"success": 1}, {}, [], None, 3, "x", [{}]])
def test_what_is_no_report_is_told(data):
    with pytest.raises(BadFile, match="no report"):
        from_json(data)


NO_NUMBERS = (None, True, "1", [], {}, math.nan, math.inf, -math.inf, 10**400)


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        *((f"success.{name}", (*NO_NUMBERS, -0.1, 1.1)) for name in ("low", "mean", "high")),
        ("success", (*NO_NUMBERS, 1, {"low": 0.5, "mean": 0.4, "high": 1.0}, {"low": 0, "mean": 0.4, "high": 0.3})),
        ("pass_at_k", (None, 1, [])),
        ("pass_at_k.1.mean", NO_NUMBERS),
        *((name, (*NO_NUMBERS, 0, -1, 1.5)) for name in ("episodes", "tasks")),
        ("turns_to_solve", (*NO_NUMBERS[1:], -1)),
        ("returns", NO_NUMBERS),
        *((name, (*NO_NUMBERS, -0.1, 1.1)) for name in ("malformed_rate", "cut_rate")),
        *((name, (None, 1, [], {"x": -1}, {"x": 1.5}, {"x": "1"})) for name in ("malformed_reasons", "failures")),
        ("tokens_per_episode", (*NO_NUMBERS, -1)),
        ("terms", (None, 1, [], {"x": "1"}, {"x": math.nan})),
        ("by_level", (None, 1, [], {"x": 1}, {"x": {}})),
        ("by_level.easy.tasks", (*NO_NUMBERS, 0)),
        ("by_level.easy.success.mean", NO_NUMBERS),
        ("cost", NO_NUMBERS),
        *((f"cost.{name}", (*NO_NUMBERS, -1, 1.5)) for name in ("C_tok", "C_call", "C_tool", "prompt_tokens")),
        ("cost.U_tok", (*NO_NUMBERS[1:], -1)),
        *((f"cost.{name}", (*NO_NUMBERS, -1)) for name in ("K_e", "reply_tokens")),
    ],
)
def test_a_field_of_another_kind_or_range_is_told_by_name(told, path, wrong):
    *outer, last = path.split(".")
    for given in wrong:
        changed = copy.deepcopy(told)
        holder = changed
        for name in outer:
            holder = holder[name]
        assert last in holder
        holder[last] = given
        with pytest.raises(BadFile, match=f"no report: (field '{re.escape(path)}|in {path}|{path})") as caught:
            from_json(changed)
        assert len(str(caught.value)) < 300
    del holder[last]
    if path != "cut_rate":  # older versions had none
        with pytest.raises(BadFile, match=f"fields {last}"):
            from_json(changed)
