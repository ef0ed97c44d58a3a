"""What agents are told is true and whole: the turn, how to reply, who decides; in every domain, workflow and turn."""

import re

import pytest

import masgym
from masgym.domains.moves import parse_moves
from masgym.domains.sudoku.grammar import parse
from masgym.domains.sudoku.grid import SHAPES
from masgym.tags import Malformed
from masgym.tools.driver import default_driver, step_sync

DOMAINS = ("sokoban", "plan_path", "sudoku", "code", "math", "search")
WORKFLOWS = ("solo", "pair", "verify", "ensemble", "routed")
OPTIONS = {"sokoban": {"min_pushes": 1}, "plan_path": {"min_path": 1}, "search": {"hops": 1, "entities": 200}}
GRAMMAR = {  # what tells how to reply
    **dict.fromkeys(("sokoban", "plan_path", "sudoku"), "<answer>"),
    "math": r"for example \boxed{42} or \boxed{\frac{3}{4}}",
    "search": "<search>words to look for</search>",
}
OF_SLOT = {"judge": "<verify>approve</verify>", "route": "<route>STOP</route>"}


def made(domain, workflow, turns):
    return masgym.game(domain, workflow, T=turns, **OPTIONS.get(domain, {}))


def played(game, reply):
    """(state, active set) of every event of a game in which all reply so, then the last state."""
    state = game.initial(game.domain.tasks.get("train", 0))
    while members := game.active(state):
        yield state, members
        state = step_sync(game, state, {a: reply(state, a) for a in members}, default_driver().run).state
    yield state, ()


def grammar_of(domain, slot):
    told = "one fenced block" if slot != "tool" else "one to 8 tests, one a line"
    return OF_SLOT.get(slot) or GRAMMAR.get(domain, told)


@pytest.mark.parametrize("turns", [1, 2])
@pytest.mark.parametrize("workflow", WORKFLOWS)
@pytest.mark.parametrize("domain", DOMAINS)
def test_every_prompt_tells_the_turn_and_how_to_reply(domain, workflow, turns):
    if domain == "search" and turns == 1:
        with pytest.raises(masgym.BadValue, match="too few"):  # one turn is for a search, one for the answer
            made(domain, workflow, turns)
        return
    game = made(domain, workflow, turns)
    for state, members in played(game, lambda state, agent: "012" if agent == "router_0" else "nothing"):
        last = " It is the last one." if state.turn + 1 == turns else ""
        for agent in game.agents if state.ended else members:
            system, user = (message.content for message in game.observe(state, agent).messages)
            clock = f"Turn {state.turn + 1} of at most {turns}.{last}"
            over = f"The game is over, after {state.turn} of at most {turns} turn{'s' if turns > 1 else ''}."
            assert user.startswith(f"{over if state.ended else clock}\n\n")
            assert grammar_of(domain, game.slot(agent)) in system
            assert not re.search(r"\ba [aeiou]", system), "an article"


@pytest.mark.parametrize("domain", DOMAINS)
def test_who_judges_is_told_that_the_last_turn_is_different(domain):
    for workflow, options, told in (
        ("verify", {}, "in the last turn it is done whatever you say"),
        ("ensemble", {"verifier": True}, "costs the turn, except in the last one"),
    ):
        game = masgym.game(domain, workflow, **options)
        state = game.initial(game.domain.tasks.get("train", 0))
        assert told in game.observe(state, "verifier_0").text


@pytest.mark.parametrize(("workflow", "speakers"), [("ensemble", ("worker_0", "tool_0")), ("routed", ("router_0",))])
def test_who_speaks_before_a_verifier_knows_of_it(workflow, speakers):
    for verifier in (False, True):
        game = masgym.game("plan_path", workflow, verifier=verifier)
        state = game.initial(game.domain.tasks.get("train", 0))
        assert all(("verifier judges" in game.observe(state, a).text) == verifier for a in speakers)


def test_a_game_that_was_solved_early_is_over():
    game = made("plan_path", "solo", 8)
    *_, (state, _) = played(game, lambda state, agent: game.oracle(state, agent))
    assert state.ended == "done"
    assert state.turn < 8
    assert f"The game is over, after {state.turn} of at most 8 turns." in game.observe(state, "actor_0").text


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
@pytest.mark.parametrize("domain", ["sokoban", "plan_path", "sudoku"])
def test_examples_keep_to_the_limit_that_is_told(domain, limit):
    game = masgym.game(domain, "solo", T=16, moves_per_turn=limit)
    brief = game.domain.brief("act")
    (example,) = re.findall(r"<answer>(.+?)</answer>", brief)
    assert re.search(rf"[Aa]t most {limit}\b", brief)
    if domain == "sudoku":
        assert len(parse(example, SHAPES[4]).placements) <= limit
        assert parse(example, SHAPES[4]) == parse(re.search(r"in short: (.*?)\)", brief)[1], SHAPES[4])
    else:
        assert not isinstance(parse_moves(example, limit), Malformed)


class TestSearch:
    def test_searches_left_are_those_of_the_budget_which_the_turns_may_not_reach(self):
        game = masgym.game("search", "solo", T=4, entities=200)
        prompts = [game.observe(state, "actor_0").text for state, _ in played(game, lambda s, a: f"?word {s.turn}")]
        assert [re.search(r"Searches left in the budget: (\w+)", text)[1] for text in prompts] == list("65432")
        assert prompts[0].count("Searches left in the budget: 6, or fewer where the turns end before.") == 1
        assert all("the turns may be over before the budget is" in text for text in prompts)
        assert all("the answer has to be given in the last turn at the latest" in text for text in prompts)
        assert ["It is the last one." in text for text in prompts] == [False, False, False, True, False]

    @pytest.mark.parametrize("workflow", ["pair", "verify"])
    def test_a_search_is_made_at_once_whoever_asks_for_it(self, workflow):
        game = masgym.game("search", workflow, entities=200)
        (first, _), (second, (agent,)), *_ = played(game, lambda s, a: "?the founder" if s.phase == 0 else "reject")
        assert "A search is made at once, whoever asks for it" in game.observe(first, game.active(first)[0]).text
        assert 'Found by "the founder"' in game.observe(second, agent).text


class TestMath:
    def test_a_tolerance_is_told(self, tmp_path):
        file = tmp_path / "tasks.jsonl"
        file.write_text('{"question": "How far, in m?", "answer": "12.5", "tolerance": 0.05, "split": "test"}')
        for workflow in WORKFLOWS:
            game = masgym.game("math", workflow, tasks=str(file))
            state = game.initial(game.domain.tasks.get("test", 0))
            for agent in game.agents:
                text = game.observe(state, agent).text
                assert "It need not be exact: up to 0.05 more or less is right." in text
                assert "exact unless the problem says otherwise" in text
        compact = masgym.game("math", "solo", tasks=str(file), style="compact")
        assert compact.observe(state, "actor_0").text == "act\nHow far, in m?\n+-0.05"
        for answer, right in (("12.46", True), ("12.44", False)):
            assert step_sync(compact, state, {"actor_0": answer}, default_driver().run).state.success == right

    def test_the_prompt_said_again_is_no_answer(self):
        for workflow in WORKFLOWS:
            game = masgym.game("math", workflow)
            state = game.initial(game.domain.tasks.get("test", 0))
            for agent in set(game.agents) - {"verifier_0", "router_0"}:
                prompt = game.observe(state, agent).text
                assert game.domain.effect("act", state.world, prompt, ()).malformed

    def test_without_one_the_answer_is_exact(self):
        game = masgym.game("math", "pair")
        state = game.initial(game.domain.tasks.get("train", 0))
        assert "need not be exact" not in game.observe(state, "tool_0").text
        assert "+-" not in masgym.game("math", style="compact").observe(state, "tool_0").text

    def test_programs_are_told_what_they_have(self):
        brief = masgym.game("math").domain.brief("tool")
        assert "It has 5 seconds and Python's standard library, numpy and sympy, no input" in brief


OFFERS = {
    "code": "Tests that teammates offer in this turn count as examples: the game only ends when it passes those",
    "math": "it only ends the game if it agrees with one of them; else the game goes on.",
}


@pytest.mark.parametrize("domain", OFFERS)
def test_who_acts_in_a_team_is_told_what_teammates_offers_change(domain):
    for workflow in WORKFLOWS:
        game = masgym.game(domain, workflow)
        state = game.initial(game.domain.tasks.get("train", 0))
        for agent in game.agents:
            told = OFFERS[domain] in game.observe(state, agent).messages[0].content
            assert told == (game.slot(agent) == "act" and workflow != "solo"), (workflow, agent)


def test_the_coder_is_told_what_judges_and_what_ends_the_game():
    assert "Hidden tests judge it; the game ends when it passes the examples." in masgym.game("code").domain.brief(
        "act"
    )


WRONG = {"sokoban": "U", "plan_path": "U", "sudoku": "11=1", "code": "0", "math": "29", "search": "?word"}


@pytest.mark.parametrize("workflow", WORKFLOWS)
@pytest.mark.parametrize("domain", DOMAINS)
def test_prompts_speak_of_nobody_who_is_not_there(domain, workflow):
    """Of no team in solo, and everywhere only of roles that the workflow has; after right and wrong replies."""
    game = made(domain, workflow, 3)
    absent = re.compile(rf"\b({'|'.join(absent_from(game))})s?\b")
    for state, members in played(game, lambda s, a: WRONG[domain] if s.turn else game.oracle(s, a)):
        for agent in members:
            text = game.observe(state, agent).text
            assert not absent.search(text), (absent.search(text), text)


def absent_from(game):
    titles = game.domain.titles
    there = {titles.get(game.slot(agent), "") for agent in game.agents} | {titles["draft"]}
    alone = {"team", "teammate", "verifier"} if game.workflow.name == "solo" else set()
    closing = set() if game.workflow.name in ("ensemble", "routed") else {"aggregator", "router"}
    return {*titles.values(), *alone, *closing, "nobody of that name"} - there


FORMS = {
    **dict.fromkeys(("sokoban", "plan_path"), "Reply like <answer>R R U</answer>."),
    "sudoku": "Reply like <answer>r1c2=3 r2c4=1</answer>.",
    "math": r"Reply like \boxed{42}.",
    "search": "Reply like <search>words to look for</search> or <answer>only the answer</answer>.",
    "code": "Reply with one block: a line ```python, the whole program, a line ```.",
}
OF_TESTER = "Reply with nothing but tests, one a line, like f(literals) == literal."
FORM_OF_SLOT = {
    "judge": "Reply with <verify>approve</verify> or <verify>reject</verify>.",
    "route": "Reply like <route>0,1</route>.",
}


@pytest.mark.parametrize("workflow", WORKFLOWS)
@pytest.mark.parametrize("domain", DOMAINS)
def test_whose_reply_was_malformed_is_told_the_form_again(domain, workflow):
    """Once, after the reason; the compact style is as it was, and nobody else is told."""
    game = made(domain, workflow, 3)
    compact = masgym.game(domain, workflow, T=3, style="compact", **OPTIONS.get(domain, {}))
    for state, members in played(game, lambda s, a: "0,1,2" if s.turn == 0 and a == "router_0" else "** ??"):
        for agent in members if state.turn else ():
            slot = game.slot(agent)
            form = OF_TESTER if (domain, slot) == ("code", "tool") else FORM_OF_SLOT.get(slot, FORMS[domain])
            lines = game.observe(state, agent).messages[-1].content.splitlines()
            told = [i for i, line in enumerate(lines) if line.startswith("Your last reply was malformed: ")]
            own = [e for e in game.workflow.visible(state, agent) if e.agent == agent and e.effect.malformed]
            assert len(told) == lines.count(form) == len(own)
            assert all(lines[i + 1] == form for i in told)
            assert "Reply" not in compact.observe(state, agent).text


def test_the_form_comes_after_what_a_program_printed_and_search_without_budget_is_no_form():
    game = masgym.game("plan_path", "pair")
    state = game.initial(game.domain.tasks.get("train", 0))
    program = "```python\nprint('north')\nprint('east')\n```"
    for reply in (program, "nonsense"):
        (agent,) = game.active(state)
        state = step_sync(game, state, {agent: reply}, default_driver().run).state
    text = game.observe(state, "tool_0").messages[-1].content
    assert text.endswith("; its program printed\n| north\n| east\nReply like <answer>R R U</answer>.")
    game = masgym.game("search", "solo", entities=200, searches=2, T=8)
    *_, (state, _), _ = played(game, lambda s, a: f"?word {s.turn}")
    text = game.observe(state, "actor_0").text
    assert "Your last reply was malformed: no search is left; an answer was expected\nReply like <answer>only" in text


def test_the_examples_of_the_forms_are_well_formed():
    for domain, reply in (("math", r"\boxed{42}"), ("sudoku", "<answer>r1c2=3 r2c4=1</answer>")):
        game = masgym.game(domain, "solo")
        world = game.initial(game.domain.tasks.get("train", 0)).world
        reason = game.domain.effect("act", world, reply, ()).note
        assert "exactly one" not in reason
        assert "no list" not in reason
    assert parse_moves("<answer>R R U</answer>", 4) == "RRU"
