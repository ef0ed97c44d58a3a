"""Level hard: number theory, counting, algebra, geometry and probability, in several steps each."""

from collections.abc import Mapping
from fractions import Fraction
from math import comb, factorial, isqrt, prod

from numpy.random import Generator

from masgym.domains.math.families.problem import (
    EXACT,
    LOWEST,
    Family,
    Problem,
    distinct,
    nonzero,
    pi_times,
    problem,
    signed,
    surd,
    term,
    whole,
)


def modular_power(rng: Generator) -> Problem:
    a, b, m = whole(rng, 2, 60), whole(rng, 20, 999), whole(rng, 13, 97)
    return problem(f"What is the remainder when {a}^{b} is divided by {m}?", pow(a, b, m))


def congruences(rng: Generator) -> Problem:
    m, n = ((7, 9), (8, 11), (9, 13), (11, 14), (13, 15), (16, 17))[whole(rng, 0, 5)]  # coprime
    x = whole(rng, 1, m * n - 1)
    return problem(
        f"What is the least positive integer that leaves remainder {x % m} when divided by {m} and remainder "
        f"{x % n} when divided by {n}?",
        x,
    )


def divisor_sum(rng: Generator) -> Problem:
    n = whole(rng, 30, 600)
    return problem(f"What is the sum of all positive divisors of {n}?", sum(d for d in range(1, n + 1) if n % d == 0))


def totient(rng: Generator) -> Problem:
    n = whole(rng, 50, 1000)
    primes = [p for p in range(2, n + 1) if n % p == 0 and all(p % q for q in range(2, isqrt(p) + 1))]
    count = n * prod(p - 1 for p in primes) // prod(primes)
    return problem(f"How many of the integers from 1 to {n} have no common factor greater than 1 with {n}?", count)


def trailing_zeros(rng: Generator) -> Problem:
    n = whole(rng, 20, 2000)
    zeros = sum(n // 5**power for power in range(1, 6))
    return problem(f"With how many zeros does the decimal form of {n}! end?", zeros)


def multiples(rng: Generator) -> Problem:
    a, b = ((4, 7), (5, 8), (6, 11), (7, 9), (3, 10))[whole(rng, 0, 4)]  # coprime
    n = whole(rng, 100, 2000)
    count = n // a + n // b - n // (a * b)
    return problem(f"How many integers from 1 to {n} are divisible by {a} or by {b}?", count)


def arrangements(rng: Generator) -> Problem:
    counts = [whole(rng, 1, 3) for _ in range(whole(rng, 3, 4))]
    letters = [chr(65 + int(i)) for i in rng.choice(26, size=len(counts), replace=False)]
    word = "".join(letter * count for letter, count in zip(letters, counts, strict=True))
    ways = factorial(sum(counts)) // prod(factorial(count) for count in counts)
    return problem(f"In how many different orders can the letters {word} be written?", ways)


def lattice_paths(rng: Generator) -> Problem:
    m, n = whole(rng, 3, 7), whole(rng, 3, 7)
    x, y = whole(rng, 1, m - 1), whole(rng, 1, n - 1)
    ways = comb(m + n, m) - comb(x + y, x) * comb(m - x + n - y, m - x)
    return problem(
        f"A path goes from (0,0) to ({m},{n}) in unit steps to the right or up. How many such paths do not pass "
        f"through ({x},{y})?",
        ways,
    )


def bounded_sums(rng: Generator) -> Problem:
    parts, most = whole(rng, 3, 5), whole(rng, 3, 7)
    total = whole(rng, 3, parts * most - 3)
    terms = (
        (-1) ** j * comb(parts, j) * comb(total - j * (most + 1) + parts - 1, parts - 1)
        for j in range(total // (most + 1) + 1)
    )
    return problem(
        f"In how many ways can {total} be written as an ordered sum of {parts} integers from 0 to {most}?", sum(terms)
    )


def urn(rng: Generator) -> Problem:
    red, blue = whole(rng, 2, 12), whole(rng, 2, 12)
    drawn = whole(rng, 2, min(5, red + blue - 1))
    some = whole(rng, max(0, drawn - blue), min(drawn, red))
    chance = Fraction(comb(red, some) * comb(blue, drawn - some), comb(red + blue, drawn))
    return problem(
        f"An urn holds {red} red and {blue} blue balls. {drawn} are drawn at once. What is the probability that "
        f"exactly {some} of them are red? {LOWEST}",
        chance,
    )


def recurrence(rng: Generator) -> Problem:
    p, q = nonzero(rng, 4), nonzero(rng, 4)
    first, second, n = whole(rng, 0, 5), whole(rng, 1, 6), whole(rng, 6, 10)
    a, b = first, second
    for _ in range(n - 2):
        a, b = b, p * b + q * a
    rule = f"a_n = {term(p, 'a_(n-1)')} {signed(q, 'a_(n-2)')}"
    return problem(f"Let a_1 = {first}, a_2 = {second} and {rule} for n > 2. What is a_{n}?", b)


def roots_squared(rng: Generator) -> Problem:
    r, s, t = (nonzero(rng, 9) for _ in range(3))
    b, c, d = -(r + s + t), r * s + s * t + r * t, -r * s * t
    shown = f"x^3 {signed(b, 'x^2')} {signed(c, 'x')} {signed(d)}"
    return problem(
        f"What is the sum of the squares of the three roots of {shown}, with multiplicity?", r * r + s * s + t * t
    )


def larger_root(rng: Generator) -> Problem | None:
    b, c = nonzero(rng, 11), nonzero(rng, 20)
    square = b * b - 4 * c
    if square <= 0 or isqrt(square) ** 2 == square:
        return None
    return problem(f"What is the larger root of x^2 {signed(b, 'x')} {signed(c)}? {EXACT}", surd(-b, square, 2))


def infinite_sum(rng: Generator) -> Problem:
    below = whole(rng, 3, 12)
    ratio = Fraction(nonzero(rng, below - 1), below)
    first = whole(rng, 1, 30)
    return problem(
        f"The first term of an infinite geometric series is {first} and its ratio is {ratio}. What is its sum? "
        f"{LOWEST}",
        first / (1 - ratio),
    )


def integral(rng: Generator) -> Problem:
    a, b, c = nonzero(rng, 6), nonzero(rng, 9), nonzero(rng, 9)
    low, high = sorted(distinct(rng, -3, 5, 2))
    area = sum(Fraction(k * (high**n - low**n), n) for n, k in ((3, a), (2, b), (1, c)))
    shown = f"{term(a, 'x^2')} {signed(b, 'x')} {signed(c)}"
    return problem(f"What is the integral of {shown} from x = {low} to x = {high}? {LOWEST}", area)


def polygon(rng: Generator) -> Problem | None:
    (a, b), (c, d), (e, f) = [(whole(rng, -9, 9), whole(rng, -9, 9)) for _ in range(3)]
    twice = abs((c - a) * (f - b) - (e - a) * (d - b))
    if not twice:
        return None
    return problem(
        f"What is the area of the triangle with corners ({a},{b}), ({c},{d}) and ({e},{f})? {LOWEST}",
        Fraction(twice, 2),
    )


def three_sides(rng: Generator) -> Problem | None:
    a, b, c = (whole(rng, 3, 16) for _ in range(3))
    product = (a + b + c) * (-a + b + c) * (a - b + c) * (a + b - c)  # 16 area^2, by Heron
    if min(a + b - c, b + c - a, a + c - b) <= 0:
        return None
    return problem(f"What is the area of a triangle with sides {a}, {b} and {c}? {EXACT}", _quarter_root(product))


def cone(rng: Generator) -> Problem:
    radius, height = whole(rng, 2, 15), whole(rng, 2, 20)
    return problem(
        f"What is the volume of a cone whose base has radius {radius} and whose height is {height}? {EXACT}",
        pi_times(Fraction(radius**2 * height, 3)),
    )


def _quarter_root(square: int) -> str:
    """sqrt(square) / 4, simplified."""
    return str(Fraction(isqrt(square), 4)) if isqrt(square) ** 2 == square else surd(0, square, 4)


HARD: Mapping[str, Family] = {
    f.__name__: f
    for f in (
        modular_power,
        congruences,
        divisor_sum,
        totient,
        trailing_zeros,
        multiples,
        arrangements,
        lattice_paths,
        bounded_sums,
        urn,
        recurrence,
        roots_squared,
        larger_root,
        infinite_sum,
        integral,
        polygon,
        three_sides,
        cone,
    )
}
