"""Search: attacks on its rewards."""

import random

import pytest
from search_games import WORKFLOWS, play, small

from masgym.domains.search.grammar import parse
from masgym.tags import Malformed
from masgym.tools.driver import default_driver, step_sync
from masgym.types import Effect, ToolResult


class TestAttacks:
    """No reply scores above what an honest one could in that state: team + locals 2 once the answer is right, 1 for a
    search that finds something."""

    def test_100_000_fuzzed_replies(self):
        rng, game = random.Random(0), small("pair", level="medium", f1_weight=0.3)
        domain, task = game.domain, game.domain.tasks.get("train", 5)
        states = [state for state, _, _ in play(game, task)]
        golden = task.content["golden_answers"]
        scraps = (
            *(
                "<search>",
                "</search>",
                "<answer>",
                "</answer>",
                "<",
                ">",
                "?",
                "=",
                " ",
                "\n",
                ", ",
                "\u0660",
                "\ud800",
            ),
            *("<think>", "<verify>approve</verify>", golden[0], golden[0].upper(), task.content["question"], "The"),
            *task.content["queries"],
            *(str(passage) for passage in states[-1].world.passages),
            domain.brief("act"),
        )
        right = 0
        for number in range(100_000):
            world, slot = states[number % len(states)].world, ("act", "tool", "draft")[number % 3]
            reply = "".join(rng.choices(scraps, k=rng.randint(1, 7)))
            results = tuple(
                ToolResult(outcome="ok", value={"passages": []}) for _ in domain.calls(slot, world, reply, ())
            )
            effect = domain.effect(slot, world, reply, results)
            assert isinstance(effect, Effect)
            worth = sum(weight * effect.terms[name] for name, weight in domain.weights(slot).items())
            assert worth <= 1 + 1e-9
            if effect.malformed:
                assert (worth, effect.world) == (0, world)
            if domain.potential(effect.world):
                right += 1
                assert parse(reply).text.lower().strip(" ,?=‹›").removeprefix("the").strip() == golden[0].lower()
        assert right > 20  # the attack does find the answer when it is part of the scraps

    def test_an_answer_that_lists_every_name_earns_less_than_the_answer(self):
        game = small("solo", level="medium", f1_weight=0.3)
        for index in range(30):
            task = game.domain.tasks.get("train", index)
            state = [state for state, _, _ in play(game, task)][-1]
            names = [passage.title for passage in state.world.passages]
            golden = task.content["golden_answers"][0]
            listing = ", ".join([golden, *names])[:290]
            honest, listed = (
                step_sync(game, state, {"actor_0": f"<answer>{text}</answer>"}, default_driver().run)
                for text in (golden, listing)
            )
            assert listed.published("actor_0") < honest.published("actor_0") == pytest.approx(2)
            assert listed.team == listed.gain == 0

    def test_the_prompt_echoed_back_is_malformed(self):
        for workflow in WORKFLOWS:
            for style in ("full", "compact"):
                game = small(workflow, level="medium", style=style)
                for state, _, _ in play(game, game.domain.tasks.get("train", 1)):
                    for agent in game.active(state):
                        observed = game.observe(state, agent)
                        if observed.slot != "judge":
                            assert isinstance(parse(observed.text), Malformed)

    def test_searching_earns_no_return_and_guessing_again_is_impossible(self):
        game = small("pair", level="easy")
        task = game.domain.tasks.get("train", 2)
        played = list(play(game, task, lambda state, agent: f"<search>word {len(state.log)}</search>"))
        assert sum(done.gain for _, _, done in played) == 0
        assert played[-1][2].state.ended == "T"
        wrong = list(play(game, task, lambda state, agent: "<answer>wrong</answer>"))
        assert len(wrong) == 2  # the searcher's proposal, then the actor's answer ends it
        assert wrong[-1][2].state.ended == "done"
        assert not wrong[-1][2].state.success
