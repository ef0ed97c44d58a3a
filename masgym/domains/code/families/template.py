"""A family of tasks: texts with $names, filled in by each of its variants. What is here is written, not yet checked;
`shipped.py` runs it and makes tasks of it."""

from collections.abc import Callable, Mapping
from string import Template
from typing import Any, Literal, TypeAlias

import numpy as np

from masgym.domains.code.problem import Form
from masgym.types import value

Variant: TypeAlias = Mapping[str, str]
Draw: TypeAlias = Callable[[np.random.Generator], Any]  # a list of arguments, or standard input


@value
class Family:
    """`program` is the reference; `mistakes` are pieces of it and what a mutant has in their place."""

    name: str
    level: Literal["medium", "hard"]
    form: Form = "function"
    entry_point: str = ""
    parameters: tuple[str, ...] = ()
    statement: str
    program: str
    mistakes: tuple[tuple[str, str], ...]
    variants: tuple[Variant, ...]
    draw: Draw
    edges: tuple[Any, ...] = ()  # inputs that a draw might miss


def filled(text: str, variant: Variant) -> str:
    return Template(text).substitute(variant)


def mutants(family: Family, variant: Variant) -> tuple[str, ...]:
    """The reference with one mistake each; mistakes that this variant gives no occasion for are left out."""
    program = filled(family.program, variant)
    swaps = [(filled(old, variant), filled(new, variant)) for old, new in family.mistakes]
    return tuple(dict.fromkeys(program.replace(old, new, 1) for old, new in swaps if old in program and old != new))


def pick(rng: np.random.Generator, items: Any) -> Any:
    return items[int(rng.integers(len(items)))]


def whole(rng: np.random.Generator, low: int, high: int) -> int:
    """An integer of low..high."""
    return int(rng.integers(low, high + 1))


def numbers(rng: np.random.Generator, least: int, most: int, low: int, high: int) -> list[int]:
    """A list of least..most integers of low..high."""
    return [whole(rng, low, high) for _ in range(whole(rng, least, most))]


def letters(rng: np.random.Generator, least: int, most: int, alphabet: str) -> str:
    return "".join(pick(rng, alphabet) for _ in range(whole(rng, least, most)))


def grid(rng: np.random.Generator, least: int, most: int, marks: str) -> list[str]:
    """Rows of equal length."""
    columns = whole(rng, least, most)
    return [letters(rng, columns, columns, marks) for _ in range(whole(rng, least, most))]
