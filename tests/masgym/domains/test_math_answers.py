"""Reading answers, and what reading alone settles: by hand, and a fuzz against math-verify itself."""

import time

import pytest
from math_verify import LatexExtractionConfig, verify
from math_verify import parse as parse_latex

from masgym.domains.math.answers import MOST, box, plain, read, same, settle, upright
from masgym.domains.math.generator import FAMILIES
from masgym.rng import keyed
from masgym.tags import Malformed


class TestReading:
    @pytest.mark.parametrize(
        ("reply", "answer"),
        [
            ("7", "7"),
            (" -7\n", "-7"),
            ("+7", "+7"),
            ("3/4", "3/4"),
            ("-2.50", "-2.50"),
            (r"\boxed{7}", "7"),
            (r"So it is $\boxed{ \frac{1}{2} }$.", r"\frac{1}{2}"),
            (r"\boxed{7} and again \boxed {7 }", "7"),
            (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
            (r"\boxed{2\sqrt{3}}", r"2\sqrt{3}"),
            ("\\boxed{1\n+x}", "1 +x"),
            (r"<answer>\boxed{7}</answer>", "7"),
            (r"\boxed{$7$}", "7"),
            *[
                (box(a), a)
                for a in ("x", r"\pi", r"\infty", "\u221e", r"\emptyset", "\u2205", r"\{\}", r"1, 2, \dots, 9")
            ],
            *[(box(a), a) for a in (r"\text{even}", "(A)", "no answer", r"\text{the answers}")],
            (r"\boxed{\$7}", r"\$7"),
            (r"\boxed{36π}", r"36\pi"),
            (r"\boxed{−3}", "-3"),
            ("```python\nprint(8)\n```\n\\boxed{7}", "7"),
            (r"8 or 9? \boxed{7}", "7"),
        ],
    )
    def test_an_answer(self, reply, answer):
        assert read(reply) == answer

    @pytest.mark.parametrize(
        ("reply", "why"),
        [
            ("", "empty"),
            (" \n", "empty"),
            ("seven", "no \\boxed"),
            ("7 8", "no \\boxed"),
            ("3+4", "no \\boxed"),
            ("7.", "no \\boxed"),
            ("1e3", "no \\boxed"),
            ("７", "no \\boxed"),
            ("<answer>7</answer>", "no \\boxed"),
            ("9" * (MOST + 1), "no \\boxed"),
            (r"\boxed{7}\boxed{8}", "2 different"),
            (r"\boxed{7}\boxed{7.0}\boxed{8}", "3 different"),
            (r"\boxed{\boxed{7}}", "inside another"),
            (r"\boxed{7", "not closed"),
            (r"\boxed{7}\boxed{", "not closed"),
            (r"\boxed{}", "empty"),
            (r"\boxed{$ $}", "empty"),
            (r"\boxed{７}", "numerals"),
            (r"\boxed{٧}", "numerals"),
            (r"\boxed{½}", "numerals"),
            *[
                (box(dots), "dots or a placeholder")
                for dots in ("...", "\u2026", r"\ldots", r"$\dots$", "?", "_", r"\text{}")
            ],
            *[
                (box(words), "dots or a placeholder")
                for words in (
                    "answer",
                    "Your final answer",
                    r"\text{answer}",
                    "<answer>",
                    "the answer here",
                    "[result]",
                )
            ],
            (r"\boxed{7$8$}", "marks"),
            (r"\boxed{\(7\)}", "marks"),
            (box("9" * (MOST + 1)), "longer"),
        ],
    )
    def test_no_answer(self, reply, why):
        found = read(reply)
        assert isinstance(found, Malformed)
        assert why in found.reason

    @pytest.mark.parametrize("part", ["\\boxed{", "{", "}", "\\boxed{7}", "\\", "7 ", "\\boxed{\\boxed{"])
    def test_takes_linear_time(self, part):
        started = time.process_time()
        read(part * 100_000)
        assert time.process_time() - started < 2

    def test_a_reason_never_quotes_the_reply(self):
        for reply in (
            "SECRET",
            r"\boxed{SECRET}\boxed{x}",
            r"\boxed{SECRET７}",
            r"\boxed{$SECRET$x}",
            r"\boxed{SECRET",
        ):
            assert "SECRET" not in read(reply).reason


class TestSettling:
    @pytest.mark.parametrize(
        ("expected", "answer"),
        [
            *[("7", answer) for answer in ("7", "+7", "07", "7.0", "x=7", "x_1 = 7", r"7\text{ apples}")],
            *[("1234", answer) for answer in ("1,234", "1{,}234", r"1,\!234", "1234.00")],
            *[("3/4", answer) for answer in (r"\frac{3}{4}", r"\dfrac34", r"\frac{-3}{-4}", "0.75")],
            *[("-3/4", answer) for answer in (r"-\frac{3}{4}", r"\frac{-3}{4}", r"\frac{3}{-4}", "- 3/4", "-0.75")],
            ("2\\sqrt{3}", "2 \\sqrt{3}"),
            ("x^2 + 1", "x^2+1"),
            *[("2+3i", rf"2+3\{command}{{i}}") for command in ("mathrm", "text", "textrm", "textbf")],
            (r"2\mathrm{e}", "2e"),
            (r"\mathrm{e}^{\pi\mathrm{i}}", r"e^{\pi i}"),
            *[("10:30", time) for time in ("10:30", r"10:30\text{ a.m.}", "10 : 30", "10{:}30", r"10\colon 30")],
            ("8:05", "08:05"),
        ],
    )
    def test_right(self, expected, answer):
        assert settle(expected, answer) is True

    @pytest.mark.parametrize(
        ("expected", "answer"),
        [
            ("7", "8"),
            ("7", "6.9999999"),
            ("7", "-7"),
            ("3/4", "4/3"),
            ("12", r"1\text{ or }2"),
            ("12", "1 2"),
            ("8", "x=7, x=8"),
            ("8", "7, 8"),
            ("7", r"\pm 7"),
            ("7", r"7 \lor 8"),
            ("7", "..."),
            ("7", r"\text{seven}"),
            ("9" * 400, "9" * 399 + "8"),
            *[("10:30", answer) for answer in ("1/3", r"\frac13", "1:3", "10:03", "10", "10:30:00", "0.333333")],
            *[(number, "10:30") for number in ("1/3", "0.5", r"\frac{1}{3}")],
            ("2:3", "4:6"),
        ],
    )
    def test_wrong(self, expected, answer):
        assert settle(expected, answer) is False

    @pytest.mark.parametrize(
        ("expected", "answer"),
        [
            *[("7", work) for work in ("3+4", "3 4", r"3\,4", "14/2", r"\frac{14}{2}", "3+4=7", "7!/6!", "(1)(7)")],
            *[("7", work) for work in (r"\sqrt{49}", r"\gcd(14,21)", r"\sum_{i=1}^7 1", r"\max(1,7)", "10-3", "8=7")],
            ("120", "5!"),
            ("2", "1 1"),
            ("3/4", "6/8"),
            ("3/4", r"\frac{-6}{-8}"),
            ("3/4", r"\frac{6.0}{8}"),
            ("3/4", r"\frac14+\frac12"),
            (r"2\sqrt{5}", r"\sqrt{2^2+4^2}"),
            (r"2\sqrt{5}", r"\sqrt{4+16}"),
            (r"6\sqrt{6}", r"\sqrt{9\cdot4\cdot3\cdot2}"),
            (r"49\pi", r"7^2\pi"),
            (r"49\pi", r"7\cdot7\pi"),
            (r"49\pi", r"(7)(7)\pi"),
            (r"\frac{256\pi}{3}", r"\frac{4}{3}\cdot 64\pi"),
            (r"\frac{3+\sqrt{5}}{2}", r"\frac{3+\sqrt{9-4}}{2}"),
        ],
    )
    def test_work_left_is_wrong_though_equal(self, expected, answer):
        assert settle(expected, answer) is False

    @pytest.mark.parametrize(
        ("expected", "answer"),
        [
            (r"2\sqrt{3}", r"\sqrt{12}"),
            (r"\frac{\sqrt{3}}{2}", r"\frac{1}{2}\sqrt{3}"),
            (r"2\sqrt{3}", "3.4641016"),
            (r"49\pi", r"\pi\cdot 49"),
            (r"\frac{3+\sqrt{5}}{2}", r"\frac{3}{2}+\frac{\sqrt{5}}{2}"),
            (r"\frac{3+\sqrt{5}}{2}", r"\frac{\sqrt5-(-3)}{2}"),
            ("1/3", "0.333333"),
            ("7", r"\text{7}"),
            ("7", r"7^\circ"),
            ("x^2+1", "1+x^2"),
            (r"\{1,2\}", r"\{2,1\}"),
            ("Evelyn", r"\text{Evelyn}"),
            *[("7", rf"7\mathrm{{{letter}}}") for letter in "eijk"],
            *[(rf"7\text{{{letter}}}", "7") for letter in "eijk"],
            (r"2+3\mathrm{i}", "2+3"),
            (r"2\sqrt{3}", r"2\sqrt{3}\mathrm{i}"),
            *[(r"\text{Evelyn}", rf"\{command}{{Bob}}") for command in ("text", "textrm", "textbf", "mathrm", "mbox")],
            (r"\text{(A)}", r"\text{(B)}"),
            (r"\text{(A)}.", r"\text{(B)}."),
            (r"\text{even}", r"\text{}"),
        ],
    )
    def test_left_to_math_verify(self, expected, answer):
        assert settle(expected, answer) is None

    def test_sameness_by_reading(self):
        assert same("7", "7.0")
        assert same("1/2", r"\frac{1}{2}")
        assert not same("7", "8")
        assert not same(r"2\sqrt{3}", r"\sqrt{12}")  # equal, but reading cannot tell

    def test_every_generated_answer_can_be_given(self):
        for name, family in FAMILIES.items():
            rng = keyed("given", name)
            for made in filter(None, (family(rng) for _ in range(50))):
                given = made.answer if plain(made.answer) else box(made.answer)
                assert settle(made.answer, read(given)) is True


_ALPHABET = [*"0123456789+-*/^(){}.,= xπ７", *(r"\frac", r"\sqrt", r"\boxed{", r"\text{", r"\,", r"\pm", r"\$", "\n")]


def _mutated(reply, rng):
    """One to three insertions, deletions or doublings."""
    for _ in range(rng.integers(1, 4)):
        place, kind = int(rng.integers(len(reply) + 1)), rng.integers(3)
        if kind == 0:
            reply = reply[:place] + _ALPHABET[rng.integers(len(_ALPHABET))] + reply[place:]
        elif kind == 1:
            reply = reply[:place] + reply[place + 1 :]
        else:
            reply = reply[:place] + reply
    return reply


def test_reading_is_never_more_lenient_than_math_verify():
    """100,000 corrupted replies: what reading calls right, math-verify calls right, and every answer is one line."""
    rng = keyed("fuzz", "answers")
    problems = [p for f in FAMILIES.values() if (p := f(rng))]
    right = set()
    for i in range(100_000):
        expected = problems[i % len(problems)].answer
        found = read(_mutated(box(expected) if i % 2 or not plain(expected) else expected, rng))
        if isinstance(found, Malformed):
            continue
        assert found == " ".join(found.split())
        assert len(found) <= MOST
        if settle(expected, found):
            right.add((expected, found))
    assert len(right) > 100
    config = [LatexExtractionConfig(boxed_match_priority=0)]
    for expected, answer in sorted(right)[:: max(1, len(right) // 400)]:
        gold, given = (parse_latex(box(t), config, parsing_timeout=None) for t in (expected, answer))
        assert verify(gold, given, timeout_seconds=None), (expected, answer)


def test_upright_letters_that_are_numbers_stay_when_math_verify_reads():
    assert upright(r"7\mathrm{i}+\text{ e }") == "7i+e"
    assert upright(r"\pi\mathrm{i}") == r"\pi i"
    assert upright(r"7\mathrm{m}+\text{if}") == r"7\mathrm{m}+\text{if}"
