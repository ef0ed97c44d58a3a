"""Level easy: short arithmetic on small numbers, enough to train and test the small model on."""

from collections.abc import Mapping

from numpy.random import Generator

from masgym.domains.math.families.problem import Family, Problem, problem, whole


def add(rng: Generator) -> Problem:
    a, b = whole(rng, 0, 9), whole(rng, 0, 9)
    return problem(f"{a}+{b}=?", a + b)


def subtract(rng: Generator) -> Problem:
    a, b = whole(rng, 0, 9), whole(rng, 0, 9)
    return problem(f"{a}-{b}=?", a - b)


def multiply(rng: Generator) -> Problem:
    a, b = whole(rng, 1, 9), whole(rng, 1, 9)
    return problem(f"{a}*{b}=?", a * b)


def divide(rng: Generator) -> Problem:
    quotient, by = whole(rng, 1, 9), whole(rng, 2, 9)
    return problem(f"{quotient * by}/{by}=?", quotient)


def missing(rng: Generator) -> Problem:
    a, b = whole(rng, 0, 9), whole(rng, 0, 9)
    return problem(f"{a}+?={a + b}", b)


def chain(rng: Generator) -> Problem:
    a, b, c = (whole(rng, 0, 9) for _ in range(3))
    return problem(f"{a}+{b}-{c}=?", a + b - c)


def precedence(rng: Generator) -> Problem:
    a, b, c = (whole(rng, 1, 9) for _ in range(3))
    return problem(f"{a}+{b}*{c}=?", a + b * c)


def remainder(rng: Generator) -> Problem:
    number, by = whole(rng, 10, 99), whole(rng, 7, 9)
    return problem(f"{number} mod {by}=?", number % by)


EASY: Mapping[str, Family] = {
    f.__name__: f for f in (add, subtract, multiply, divide, missing, chain, precedence, remainder)
}
