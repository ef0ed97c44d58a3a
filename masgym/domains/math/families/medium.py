"""Level medium: arithmetic in several steps, fractions, linear equations, divisors, sequences, plane geometry."""

from collections.abc import Mapping
from fractions import Fraction
from math import gcd, lcm

from numpy.random import Generator

from masgym.domains.math.families.problem import (
    EXACT,
    LOWEST,
    Family,
    Problem,
    nonzero,
    pi_times,
    problem,
    root,
    signed,
    term,
    whole,
)


def expression(rng: Generator) -> Problem:
    a, b, c, d = whole(rng, 12, 99), whole(rng, 12, 99), whole(rng, 3, 19), whole(rng, 100, 999)
    return problem(f"Compute ({a} - {b}) * {c} + {d}.", (a - b) * c + d)


def linear(rng: Generator) -> Problem | None:
    a, b, c, d = nonzero(rng, 9), nonzero(rng, 20), nonzero(rng, 9), nonzero(rng, 20)
    if a == c:
        return None
    sides = f"{term(a, 'x')} {signed(b)} = {term(c, 'x')} {signed(d)}"
    return problem(f"Solve {sides} for x. {LOWEST}", Fraction(d - b, a - c))


def fractions(rng: Generator) -> Problem:
    b, d = whole(rng, 3, 15), whole(rng, 3, 15)
    one, other = Fraction(whole(rng, 1, b - 1), b), Fraction(whole(rng, 1, d - 1), d)
    sign = "+" if rng.random() < 0.5 else "-"
    return problem(f"Compute {one} {sign} {other}. {LOWEST}", one + other if sign == "+" else one - other)


def percent(rng: Generator) -> Problem:
    share, number = 5 * whole(rng, 1, 19), 20 * whole(rng, 2, 60)
    return problem(f"What is {share}% of {number}?", share * number // 100)


def common_divisor(rng: Generator) -> Problem:
    common = whole(rng, 2, 40)
    a, b = common * whole(rng, 2, 30), common * whole(rng, 2, 30)
    return problem(f"What is the greatest common divisor of {a} and {b}?", gcd(a, b))


def common_multiple(rng: Generator) -> Problem:
    a, b = whole(rng, 6, 60), whole(rng, 6, 60)
    return problem(f"What is the least common multiple of {a} and {b}?", lcm(a, b))


def arithmetic_sequence(rng: Generator) -> Problem:
    first, step, n = whole(rng, -30, 30), nonzero(rng, 15), whole(rng, 10, 60)
    shown = ", ".join(str(first + i * step) for i in range(3))
    return problem(f"An arithmetic sequence begins {shown}. What is its term number {n}?", first + (n - 1) * step)


def mean(rng: Generator) -> Problem:
    numbers = [whole(rng, -20, 80) for _ in range(whole(rng, 4, 7))]
    listed = ", ".join(map(str, numbers))
    return problem(f"What is the mean of {listed}? {LOWEST}", Fraction(sum(numbers), len(numbers)))


def base(rng: Generator) -> Problem:
    b = whole(rng, 3, 9)
    digits = [whole(rng, 1, b - 1), *(whole(rng, 0, b - 1) for _ in range(3))]
    text = "".join(map(str, digits))
    return problem(f"The numeral {text} is written in base {b}. Write its value in base 10.", int(text, b))


def hypotenuse(rng: Generator) -> Problem:
    a, b = whole(rng, 1, 20), whole(rng, 1, 20)
    return problem(
        f"The legs of a right triangle are {a} and {b}. How long is its hypotenuse? {EXACT}", root(a**2 + b**2)
    )


def circle(rng: Generator) -> Problem:
    diameter = whole(rng, 2, 60)
    return problem(f"What is the area of a circle of diameter {diameter}? {EXACT}", pi_times(Fraction(diameter**2, 4)))


def two_numbers(rng: Generator) -> Problem | None:
    x, y = nonzero(rng, 12), nonzero(rng, 12)
    a, b, c, d = (nonzero(rng, 6) for _ in range(4))
    if a * d == b * c:
        return None
    lines = [f"{term(p, 'x')} {signed(q, 'y')} = {p * x + q * y}" for p, q in ((a, b), (c, d))]
    return problem(f"Given {lines[0]} and {lines[1]}, what is the product xy?", x * y)


MEDIUM: Mapping[str, Family] = {
    f.__name__: f
    for f in (
        expression,
        linear,
        fractions,
        percent,
        common_divisor,
        common_multiple,
        arithmetic_sequence,
        mean,
        base,
        hypotenuse,
        circle,
        two_numbers,
    )
}
