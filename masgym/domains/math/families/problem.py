r"""What a family makes, and exact answers as text: 7, -3/4, 2\sqrt{3}, \frac{3+\sqrt{5}}{2}, 49\pi, \frac{9\pi}{2}."""

from collections.abc import Callable
from fractions import Fraction
from math import gcd, isqrt
from typing import TypeAlias

import numpy as np

from masgym.types import value

LOWEST = "Give an integer or a fraction in lowest terms."
EXACT = "Give the exact value."


@value
class Problem:
    """A question and its exact answer, in LaTeX where it is no plain number."""

    question: str
    answer: str


Family: TypeAlias = Callable[[np.random.Generator], Problem | None]  # None: this draw gave nothing


def problem(question: str, answer: int | Fraction | str) -> Problem:
    return Problem(question=question, answer=str(answer))


def whole(rng: np.random.Generator, least: int, most: int) -> int:
    """A whole number, both bounds included."""
    return int(rng.integers(least, most + 1))


def nonzero(rng: np.random.Generator, most: int) -> int:
    """From -most to most, without 0."""
    return whole(rng, 1, most) * (1 if rng.random() < 0.5 else -1)


def distinct(rng: np.random.Generator, least: int, most: int, count: int) -> list[int]:
    """Different whole numbers, both bounds included."""
    return [least + int(i) for i in rng.choice(most - least + 1, size=count, replace=False)]


def signed(number: int, name: str = "") -> str:
    """As a term that follows another: "+ 3", "- 3x", "+ x"."""
    return f"{'-' if number < 0 else '+'} {term(abs(number), name)}"


def term(number: int, name: str = "") -> str:
    """As a first term: "3x", "-x"."""
    return f"{'-' if number < 0 else ''}{'' if name and abs(number) == 1 else abs(number)}{name}"


def square_part(number: int) -> tuple[int, int]:
    """(k, m) with number = k^2 m and m free of squares."""
    k = next(k for k in range(isqrt(number), 0, -1) if number % (k * k) == 0)
    return k, number // (k * k)


def root(number: int) -> str:
    """The square root of a whole number > 0, simplified."""
    return _times(*square_part(number))


def surd(whole_part: int, square: int, below: int) -> str:
    """(whole_part + sqrt(square)) / below, simplified; square > 0 is no square number, below > 0."""
    k, m = square_part(square)
    common = gcd(whole_part, k, below)
    a, k, below = whole_part // common, k // common, below // common
    above = f"{a}+{_times(k, m)}" if a else _times(k, m)
    return above if below == 1 else rf"\frac{{{above}}}{{{below}}}"


def pi_times(number: Fraction) -> str:
    """A positive multiple of pi."""
    above = rf"{'' if number.numerator == 1 else number.numerator}\pi"
    return above if number.denominator == 1 else rf"\frac{{{above}}}{{{number.denominator}}}"


def _times(k: int, m: int) -> str:
    return str(k) if m == 1 else rf"{'' if k == 1 else k}\sqrt{{{m}}}"
