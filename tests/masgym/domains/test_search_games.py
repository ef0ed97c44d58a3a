"""Search as a game: the contract, the oracle, what is shown, what persists, what a restored state runs."""

import json
from functools import partial

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test
from search_games import REPLIES, WORKFLOWS, after, play, small

import masgym
from masgym.domains.search import LEVELS, Search
from masgym.domains.search.grammar import mentions, parse
from masgym.game import Game
from masgym.snapshot import Snapshot, answer, start
from masgym.testing import check_game
from masgym.tools import driver as drivers
from masgym.tools.driver import default_driver, step_sync
from masgym.workflows.pair import Pair
from masgym.workflows.solo import Solo


@pytest.mark.parametrize("workflow", WORKFLOWS)
@pytest.mark.parametrize(("level", "style"), [("nano", "compact"), ("medium", "full")])
def test_contract(level, style, workflow):
    game = small(workflow, level=level, style=style)
    check_game(game, tasks=1, beam=4, replies=REPLIES)


@pytest.mark.parametrize("workflow", WORKFLOWS)
@pytest.mark.parametrize("level", LEVELS)
def test_the_oracle_solves_every_task_hop_by_hop(level, workflow):
    game = masgym.game("search", workflow, level=level)
    for index in range(100 if workflow == "verify" else 500):
        *_, (_, _, done) = play(game, game.domain.tasks.get("test", index))
        assert done.state.success
        replies = game.domain.hops + 1
        assert done.state.turn == ((replies + 1) // 2 if workflow == "pair" else replies)  # a pair speaks twice


@pytest.mark.filterwarnings("ignore")  # of text observations: not arrays
@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_official_suites(workflow, capsys):
    make = partial(masgym.make, "search", workflow=workflow, level="nano", entities=200)
    parallel = partial(masgym.parallel_env, "search", workflow=workflow, level="nano", entities=200)
    api_test(make(), num_cycles=40)
    parallel_api_test(parallel(), num_cycles=40)
    seed_test(make, num_cycles=40)
    parallel_seed_test(parallel, num_cycles=40)
    assert "Passed" in capsys.readouterr().out


def test_gymnasium():
    check_env(gymnasium.make("masgym/Search-v0", entities=200).unwrapped)


class TestSecrecy:
    @pytest.mark.parametrize("style", ["full", "compact"])
    @pytest.mark.parametrize("level", ["nano", "medium"])
    def test_the_answer_is_shown_only_by_a_passage_or_a_reply(self, level, style):
        game = masgym.game("search", "pair", level=level, style=style)
        for index in range(60):
            task, told = game.domain.tasks.get("train", index), False
            golden = task.content["golden_answers"]
            for state, outputs, _ in play(game, task):
                known = any(mentions(str(passage), golden) for passage in state.world.passages)
                for agent in game.agents:
                    shown = mentions(game.observe(state, agent).text, golden)
                    assert shown == known or told
                told = told or any(golden[0] in reply for reply in outputs.values())

    def test_gold_titles_and_queries_are_not_shown(self):
        game = masgym.game("search", "solo", level="expert")
        for index in range(30):
            task = game.domain.tasks.get("train", index)
            text = game.observe(game.initial(task), "actor_0").text
            assert not any(mentions(text, [title]) for title in task.content["gold"][1:])


class TestWhatPersists:
    def test_what_the_searcher_found_is_there_in_later_turns_even_if_the_actor_is_malformed(self):
        game = small("pair", level="medium")
        state = game.initial(game.domain.tasks.get("train", 0))
        query, *_ = state.world.question.queries
        state = after(game, state, f"<search>{query}</search>", "nonsense")
        assert (state.turn, [lookup.query for lookup in state.world.lookups]) == (1, [query])
        for agent in game.agents:
            assert str(state.world.passages[0]) in game.observe(state, agent).text

    def test_the_actor_sees_it_in_the_same_turn_and_need_not_search_again(self):
        game = small("pair", level="easy")
        state = game.initial(game.domain.tasks.get("train", 0))
        state = after(game, state, game.oracle(state, "tool_0"))
        assert str(state.world.passages[0]) in game.observe(state, "actor_0").text
        assert parse(game.oracle(state, "actor_0")).kind == "answer"

    def test_a_rejected_draft_of_a_search_was_still_searched(self):
        game = small("verify", level="medium")
        state = game.initial(game.domain.tasks.get("train", 0))
        state = after(game, state, game.oracle(state, "solver_0"), "reject")
        assert len(state.world.lookups) == 1
        assert not after(game, state, "<answer>x</answer>", "reject").world.answer

    def test_a_searchers_answer_is_only_a_proposal(self):
        game = small("pair", level="easy")
        state = game.initial(game.domain.tasks.get("train", 0))
        state = after(game, state, "<answer>1785</answer>")
        assert not state.world.answer
        assert not state.ended
        assert 'the answer "1785"' in game.observe(state, "actor_0").text

    def test_several_searches_of_one_event_all_last(self):
        game = Game(domain=Search(hops=2, entities=200), workflow=Two())
        state = game.initial(game.domain.tasks.get("train", 0))
        one, two = state.world.question.queries
        for replies, expected in (((one, two), [one, two]), ((one, one), [one])):
            outputs = {agent: f"<search>{query}</search>" for agent, query in zip(game.agents, replies, strict=True)}
            done = step_sync(game, state, outputs, default_driver().run)
            assert [lookup.query for lookup in done.state.world.lookups] == expected
            assert done.team == done.gain == 0


class Two(Solo):
    """Two searchers at once, and nobody acts."""

    __slots__ = ()
    agents = ("tool_0", "tool_1")

    def slot(self, agent):
        return "tool"

    def advance(self, state, effects, last_turn):
        return None, None


class TestReplay:
    def test_a_restored_state_searches_nothing_again(self, monkeypatch):
        game, ran = small("pair", level="hard", T=8), []
        task = game.domain.tasks.get("train", 3)

        def counted(arguments):
            ran.append(arguments["query"])
            return drivers.search(arguments)

        driver = drivers.Driver(tools={"search": counted})
        now = start(game, task)
        while not now.state.ended:
            now = answer(now, game.oracle(now.state, now.selection), partial(step_sync, run=driver.run))
            before = list(ran)
            text = now.to_json()
            assert Snapshot.from_json(text, game) == now
            assert ran == before
        assert ran == task.content["queries"]
        assert "passages" in text

    def test_a_changed_result_gives_another_world_or_is_refused(self):
        game = small("solo", level="easy")
        now = start(game, game.domain.tasks.get("train", 0))
        now = answer(now, game.oracle(now.state, "actor_0"), partial(step_sync, run=default_driver().run))
        record = json.loads(now.to_json())
        record["log"][0][1]["actor_0"][0]["value"]["passages"] = []
        assert Snapshot.from_json(json.dumps(record), game).state.world.passages == ()
        for broken in ({"passages": [{}]}, {"passages": [{"contents": 3}]}, None):
            record["log"][0][1]["actor_0"][0]["value"] = broken
            with pytest.raises(masgym.BadSnapshot):
                Snapshot.from_json(json.dumps(record), game)


def test_the_module_and_the_names():
    from masgym import search_v0

    assert search_v0.env(hops=1, T=4).unwrapped.game == masgym.game("search", hops=1, T=4)
    assert masgym.list_levels("search") == tuple(LEVELS) == ("nano", "easy", "medium", "hard", "expert")
    assert masgym.game("search", Pair(), level="nano").domain.terse


def test_prompts_of_the_small_model_are_short():
    game = masgym.game("search", "pair", level="nano", style="compact")
    texts = [
        game.observe(state, agent).text + outputs[agent]
        for index in range(50)
        for state, outputs, _ in play(game, game.domain.tasks.get("train", index))
        for agent in outputs
    ]
    assert max(map(len, texts)) <= 80
    assert set("".join(texts)) <= set("abcdefghijklmnopqrstuvwxyz0123456789 \n:?=+")
