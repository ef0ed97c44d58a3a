"""Replies to mathematics that want more than they know: none is right, none is worth more than an honest one."""

import re

import pytest

import masgym
from masgym.domains.math import LEVELS, Math
from masgym.domains.math.answers import box
from masgym.domains.math.domain import World
from masgym.domains.math.generator import FAMILIES
from masgym.rng import keyed
from masgym.tools.driver import default_driver, step_sync


def attacks(question, answer):
    """Replies that want to be right without an answer of their own."""
    wide = answer.translate(str.maketrans("0123456789", "０１２３４５６７８９"))
    other = f"{answer}1"
    options = ", ".join(str(n) for n in range(-20, 120))
    echoed = re.sub(r"=\?|\?|What is |Compute |\.$", "", question).strip()
    inner = [options, rf"\{{{options}\}}", f"[{options}]", f"{answer}, {other}", f"{other}, {answer}"]
    inner += [rf"{answer} \text{{ or }} {other}", rf"{other} \lor {answer}", rf"{answer} \pm 1", f"{answer};{other}"]
    inner += [
        rf"x={other}, x={answer}",
        rf"\text{{{other} or {answer}}}",
        rf"\begin{{cases}}{answer}\\{other}\end{{cases}}",
    ]
    inner += [
        rf"({other}, {answer})",
        r"x \in (-\infty, \infty)",
        "x",
        r"\text{answer}",
        r"\infty",
        question,
        echoed,
    ]
    inner += [rf"\boxed{{{answer}}}", wide, f"{answer}+0", f"{answer}*1", f"1*{answer}", f"{answer}^1", f"{other}-1"]
    replies = [box(text) for text in inner]
    replies += [
        box(answer) + box(other),
        box(other) + box(answer),
        wide,
        f"{answer} {other}",
        f"<answer>{answer}</answer>",
    ]
    replies += [
        f"<answer>{box(answer)}{box(other)}</answer>",
        box(answer)[:-1],
        box("") + box(answer),
        question,
        options,
    ]
    return [reply for reply in replies if answer not in ("0", "1") or "*" not in reply]


class TestAdversaries:
    @pytest.mark.parametrize("name", FAMILIES)
    def test_no_trick_is_right(self, name):
        """With the real math-verify: listing, echoing, nesting, foreign numerals, work left undone."""
        domain, run_calls = Math(families=[name]), default_driver().run
        for index in range(4):
            world = domain.initial(domain.tasks.get("train", index))
            for reply in attacks(world.question, world.expected):
                calls = domain.calls("act", world, reply, ())
                results = run_calls({"a": calls})["a"]
                assert not domain.effect("act", world, reply, results).right, (world, reply)

    def test_the_prompt_echoed_back_is_worth_nothing(self):
        for workflow in ("solo", "pair", "verify"):
            for style in ("full", "compact"):
                game = masgym.game("math", workflow, style=style)
                for index in range(20):
                    state = game.initial(game.domain.tasks.get("train", index))
                    first = game.active(state)[0]
                    done = step_sync(game, state, {first: game.observe(state, first).text}, default_driver().run)
                    assert not done.effects[first].right

    @pytest.mark.parametrize("slot", ["act", "draft", "tool"])
    def test_huge_numbers_and_long_replies(self, slot):
        for reply in ("9" * 100_000, box("9" * 100_000), box("9" * 499), box("7." + "0" * 400 + "1"), "7" + "0" * 499):
            assert not Math().effect(slot, World(question="3+4=?", expected="7"), reply, ()).right

    def test_100_000_corrupted_replies_score_no_more_than_the_honest_one(self):
        """The game level, without a tool: whatever is right without one reads as exactly the number expected."""
        domain = Math(families=LEVELS["easy"]["families"])
        worlds = [domain.initial(domain.tasks.get("train", index)) for index in range(100)]
        pieces = [*"0123456789+-*/=?{}., \n７٣", r"\boxed{", r"\text{", r"\frac{", "<answer>", "```", "x"]
        draws = keyed("fuzz", "game").integers(2**31, size=(100_000, 3)).tolist()
        for count, (where, which, cut) in enumerate(draws):
            world, slot = worlds[count % 100], ("act", "draft")[count % 2]
            honest = world.expected if count % 3 else box(world.expected)
            place = where % (len(honest) + 1)
            reply = honest[:place] + pieces[which % len(pieces)] + honest[place + cut % 2 :]
            if domain.calls(slot, world, reply, ()):
                continue
            effect = domain.effect(slot, world, reply, ())
            assert set(effect.terms.values()) <= {0, 1}
            if effect.right:
                digits = "".join(c for c in effect.world.answer if c in "-0123456789/.")
                assert float(digits) == float(world.expected)
