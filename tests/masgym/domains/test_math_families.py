"""Generated problems: every answer is found again from the question's text, by brute force or another formula."""

import ast
import math
import operator
import re
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from math_verify import LatexExtractionConfig
from math_verify import parse as parse_latex

from masgym.domains.math.answers import box, plain, read, settle
from masgym.domains.math.families.problem import pi_times, root, signed, surd, term
from masgym.domains.math.generator import FAMILIES, LEVEL_OF, LEVELS, draw
from masgym.rng import keyed

_OPERATIONS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def arithmetic(text):
    """An expression of numbers, + - * / and brackets, in fractions."""

    def walk(node):
        if isinstance(node, ast.BinOp):
            return _OPERATIONS[type(node.op)](walk(node.left), walk(node.right))
        return Fraction(node.value)

    return walk(ast.parse(text, mode="eval").body)


def numbers(text):
    return [int(found) for found in re.findall(r"(?<![\w)])-?\d+", text)]


def coefficients(text, *names):
    """Of a sum such as "-3x^2 + x - 2", by name ("" for the constant)."""
    found = Counter()
    for sign, digits, name in re.findall(r"([+-]?)(\d*)([a-z]?(?:\^\d|_\(n-\d\))?)(?=[+-]|$)", text.replace(" ", "")):
        if digits or name:
            found[name] += (-1 if sign == "-" else 1) * int(digits or 1)
    return [found[name] for name in names]


def missing(question):
    known, total = map(int, question.split("+?="))
    return next(x for x in range(100) if known + x == total)


def remainder(question):
    number, by = numbers(question)
    while number >= by:
        number -= by
    return number


def linear(question):
    left, right = re.fullmatch(r"Solve (.*) = (.*) for x\..*", question).groups()
    (a, b), (c, d) = coefficients(left, "x", ""), coefficients(right, "x", "")
    # a line through two points of the difference of both sides
    at = [(a * x + b) - (c * x + d) for x in (0, 1)]
    return Fraction(-at[0], at[1] - at[0])


def percent(question):
    share, number = numbers(question)
    return sum(Fraction(number, 100) for _ in range(share))


def common_divisor(question):
    a, b = numbers(question)
    return max(d for d in range(1, a + 1) if a % d == b % d == 0)


def common_multiple(question):
    a, b = numbers(question)
    return next(m for m in range(a, a * b + 1, a) if m % b == 0)


def arithmetic_sequence(question):
    first, second, _, n = numbers(question)
    value = first
    for _ in range(n - 1):
        value += second - first
    return value


def mean(question):
    found = numbers(question)
    return sum(Fraction(x, len(found)) for x in found)


def base(question):
    digits, b = re.match(r"The numeral (\d+) is written in base (\d)", question).groups()
    return sum(int(digit) * int(b) ** place for place, digit in enumerate(reversed(digits)))


def two_numbers(question):
    lines = re.match(r"Given (.*) = (-?\d+) and (.*) = (-?\d+), what", question).groups()
    (a, b), (c, d) = coefficients(lines[0], "x", "y"), coefficients(lines[2], "x", "y")
    p, q = int(lines[1]), int(lines[3])
    span = range(-12, 13)
    [found] = [x * y for x in span for y in span if a * x + b * y == p and c * x + d * y == q]
    return found


def modular_power(question):
    a, b, m = map(int, re.match(r".* when (\d+)\^(\d+) is divided by (\d+)", question).groups())
    value = 1
    for _ in range(b):
        value = value * a % m
    return value


def congruences(question):
    r, m, s, n = numbers(question)
    return next(x for x in range(1, m * n + 1) if x % m == r and x % n == s)


def divisor_sum(question):
    [n] = numbers(question)
    return sum({d for k in range(1, math.isqrt(n) + 1) if n % k == 0 for d in (k, n // k)})


def totient(question):
    _, n, _, _ = numbers(question)
    return sum(math.gcd(k, n) == 1 for k in range(1, n + 1))


def trailing_zeros(question):
    [n] = numbers(question.replace("!", ""))
    value, zeros = math.factorial(n), 0
    while value % 10 == 0:
        value, zeros = value // 10, zeros + 1
    return zeros


def multiples(question):
    _, n, a, b = numbers(question)
    return sum(k % a == 0 or k % b == 0 for k in range(1, n + 1))


def arrangements(question):
    word = re.search(r"letters ([A-Z]+) be", question)[1]

    @cache
    def ways(left):
        return 1 if not any(left) else sum(ways((*left[:i], n - 1, *left[i + 1 :])) for i, n in enumerate(left) if n)

    return ways(tuple(Counter(word).values()))


def lattice_paths(question):
    m, n, x, y = (int(k) for pair in re.findall(r"\((\d+),(\d+)\)", question)[1:] for k in pair)
    ways = {(0, 0): 1}
    for i in range(m + 1):
        for j in range(n + 1):
            if i or j:
                ways[i, j] = 0 if (i, j) == (x, y) else ways.get((i - 1, j), 0) + ways.get((i, j - 1), 0)
    return ways[m, n]


def bounded_sums(question):
    total, parts, _, most = numbers(question)
    ways = Counter({0: 1})
    for _ in range(parts):
        ways = sum((Counter({t + k: n for t, n in ways.items()}) for k in range(most + 1)), Counter())
    return ways[total]


def urn(question):
    red, blue, drawn, some = numbers(question)[:4]
    if math.comb(red + blue, drawn) > 5000:  # too many to list: the draws one after another

        @cache
        def chance(r, b, d, s):
            if d == 0:
                return Fraction(s == 0)
            hits = Fraction(r, r + b) * chance(r - 1, b, d - 1, s - 1) if r and s else 0
            return hits + (Fraction(b, r + b) * chance(r, b - 1, d - 1, s) if b else 0)

        return chance(red, blue, drawn, some)
    draws = [sum(ball < red for ball in balls) for balls in combinations(range(red + blue), drawn)]
    return Fraction(draws.count(some), len(draws))


def recurrence(question):
    first, second, rule, n = re.match(
        r"Let a_1 = (\d+), a_2 = (\d+) and a_n = (.*) for .* a_(\d+)\?", question
    ).groups()
    p, q = coefficients(rule.replace("a_(n-1)", "u").replace("a_(n-2)", "v"), "u", "v")
    values = [int(first), int(second)]
    while len(values) < int(n):
        values.append(p * values[-1] + q * values[-2])
    return values[-1]


def roots_squared(question):
    b, c, _ = coefficients(re.search(r"roots of (.*), with", question)[1], "x^2", "x", "")
    return b * b - 2 * c  # Vieta


def larger_root(question):
    b, c = coefficients(re.search(r"root of (.*)\? ", question)[1], "x", "")
    return max(np.roots([1, b, c]).real)


def infinite_sum(question):
    first, ratio = re.match(r".* series is (\d+) and its ratio is (\S+)\. ", question).groups()
    return math.fsum(int(first) * float(Fraction(ratio)) ** n for n in range(1000))


def integral(question):
    shown, low, high = re.match(r".* integral of (.*) from x = (-?\d+) to x = (-?\d+)\?", question).groups()
    a, b, c = coefficients(shown, "x^2", "x", "")
    low, high = int(low), int(high)
    at = [a * x * x + b * x + c for x in (low, Fraction(low + high, 2), high)]
    return Fraction(high - low, 6) * (at[0] + 4 * at[1] + at[2])  # Simpson's rule is exact here


def heron(a, b, c):
    s = (a + b + c) / 2
    return math.sqrt(max(0, s * (s - a) * (s - b) * (s - c)))


def polygon(question):
    corners = [(int(x), int(y)) for x, y in re.findall(r"\((-?\d+),(-?\d+)\)", question)]
    return heron(*(math.dist(p, q) for p, q in combinations(corners, 2)))


def three_sides(question):
    a, b, c = numbers(question)
    x = (a * a + c * c - b * b) / (2 * a)  # the foot of the height on side a
    return a * math.sqrt(c * c - x * x) / 2


def cone(question):
    radius, height = numbers(question)
    slices = [math.pi * (radius * z) ** 2 for z in (0, 0.5, 1)]
    return height / 6 * (slices[0] + 4 * slices[1] + slices[2])


def expression_of(question):
    return arithmetic(re.fullmatch(r"(?:Compute )?(.*?)(?:=\?|\..*)", question)[1])


SOLVERS = {
    **dict.fromkeys(["add", "subtract", "multiply", "divide", "chain", "precedence"], expression_of),
    **dict.fromkeys(["expression", "fractions"], expression_of),
    "hypotenuse": lambda question: math.hypot(*numbers(question)),
    "circle": lambda question: math.pi * (numbers(question)[0] / 2) ** 2,
    **{name: globals()[name] for name in FAMILIES if name in globals()},
}


def problems(name, count):
    rng = keyed("families", name)
    found = [made for _ in range(3 * count) if (made := FAMILIES[name](rng))]
    return found[:count]


def value_of(answer):
    """As math-verify reads it: a number of sympy's."""
    return parse_latex(box(answer), [LatexExtractionConfig(boxed_match_priority=0)], parsing_timeout=None)[0]


def test_every_family_has_a_solver():
    assert set(SOLVERS) == set(FAMILIES)
    assert len(FAMILIES) >= 15


@pytest.mark.parametrize("name", FAMILIES)
def test_answers_are_right(name):
    for made in problems(name, 40):
        found, answer = SOLVERS[name](made.question), value_of(made.answer)
        if isinstance(found, int | Fraction):
            assert Fraction(str(answer)) == found, made
        else:
            assert float(answer.evalf()) == pytest.approx(float(found), rel=1e-9), made


@pytest.mark.parametrize("name", FAMILIES)
def test_no_answer_is_common(name):
    made = problems(name, 2000)
    assert len(made) == 2000
    answer, count = Counter(problem.answer for problem in made).most_common(1)[0]
    assert count / len(made) <= 0.2, answer


@pytest.mark.parametrize("name", FAMILIES)
def test_answers_are_in_the_form_that_is_asked_for(name):
    for made in problems(name, 200):
        assert made.question.isascii()
        assert read(box(made.answer)) == made.answer
        assert settle(made.answer, made.answer) is True
        if plain(made.answer):
            assert made.answer == str(Fraction(made.answer))  # lowest terms
        else:
            assert re.fullmatch(r"[\d+\-{}]*(\\(frac|sqrt|pi)|[\d+\-{}])*", made.answer), made
            assert made.answer.count("sqrt") + made.answer.count("pi") == 1


@pytest.mark.parametrize("name", [name for name in FAMILIES if LEVEL_OF[name] == "easy"])
def test_the_easy_level_is_short(name):
    for made in problems(name, 200):
        assert len(made.question) <= 12
        assert len(made.answer) <= 3


def test_levels_cover_the_families_and_draw_from_all_of_theirs():
    assert sorted(name for preset in LEVELS.values() for name in preset["families"]) == sorted(FAMILIES)
    for level, preset in LEVELS.items():
        rng = keyed("levels", level)
        made = [found for _ in range(600) if (found := draw(rng, families=preset["families"]))]
        assert {found.content["family"] for found in made} == set(preset["families"])
        assert {found.level for found in made} == {level}


class TestForms:
    @pytest.mark.parametrize(
        ("n", "text"), [(1, "1"), (9, "3"), (2, r"\sqrt{2}"), (72, r"6\sqrt{2}"), (60, r"2\sqrt{15}")]
    )
    def test_root(self, n, text):
        assert root(n) == text

    @pytest.mark.parametrize(
        ("parts", "text"),
        [
            ((3, 5, 2), r"\frac{3+\sqrt{5}}{2}"),
            ((-1, 5, 2), r"\frac{-1+\sqrt{5}}{2}"),
            ((4, 8, 2), r"2+\sqrt{2}"),
            ((0, 12, 2), r"\sqrt{3}"),
            ((0, 12, 4), r"\frac{\sqrt{3}}{2}"),
            ((-6, 72, 4), r"\frac{-3+3\sqrt{2}}{2}"),
        ],
    )
    def test_surd(self, parts, text):
        assert surd(*parts) == text

    @pytest.mark.parametrize(
        ("number", "text"),
        [((1, 1), r"\pi"), ((9, 4), r"\frac{9\pi}{4}"), ((1, 4), r"\frac{\pi}{4}"), ((49, 1), r"49\pi")],
    )
    def test_pi(self, number, text):
        assert pi_times(Fraction(*number)) == text

    def test_terms(self):
        assert [term(n, "x") for n in (1, -1, 3, -3, 0)] == ["x", "-x", "3x", "-3x", "0x"]
        assert [signed(n, "x") for n in (1, -1, 3)] == ["+ x", "- x", "+ 3x"]
        assert [signed(n) for n in (1, -7)] == ["+ 1", "- 7"]
