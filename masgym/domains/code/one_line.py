"""One-line tasks: families of parametric functions, drawn without end. A task is a function of its function's text.

So one function is one task, whatever was drawn before it, and lies in one split.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from masgym.domains.code.harness import encode
from masgym.domains.code.pieces import (
    CHECK,
    DIGITS,
    MEASURE,
    NUMBER,
    PAIR,
    PICK,
    SCALE,
    SLICE,
    TEXT,
    TEXT_CHECK,
    WORDS,
    Piece,
    Step,
)
from masgym.rng import keyed
from masgym.tasks import Instance
from masgym.types import JSON, value

EXAMPLES, GOLD, MUTANTS = 3, 8, 4
_LONGEST = 90  # characters of an example
_NEIGHBOURS = 24  # mutants tried for a task
_TRIES = 26  # inputs drawn for a task; what examples and gold tests leave over makes the tests of a good tester

Vocabulary: TypeAlias = tuple[Piece, ...]
Steps: TypeAlias = tuple[Step, ...]
Case: TypeAlias = tuple[tuple[Any, ...], Any]  # arguments, value


@value
class Family:
    """Functions of one form: `code` and `run` get steps, one of each vocabulary in `parts`."""

    name: str
    inputs: str  # a character per parameter, see _input
    parts: tuple[Vocabulary, ...]
    words: str  # {0}, {1}... are the steps'
    code: Callable[..., str]
    run: Callable[..., Any]  # (*steps, *arguments)


def _chain(name: str, inputs: str, words: str, *parts: Vocabulary) -> Family:
    """Each step is applied to what the one before it made."""

    def code(*steps: Step) -> str:
        return reduce(lambda text, step: step.code(text), steps, inputs)

    def run(*given: Any) -> Any:
        steps, arguments = given[: len(parts)], given[len(parts) :]
        start: Any = arguments if len(inputs) > 1 else arguments[0]
        return reduce(lambda v, step: step.run(v), steps, start)

    return Family(name=name, inputs=inputs, parts=parts, words=words, code=code, run=run)


def _family(name: str, inputs: str, words: str, parts: tuple[Vocabulary, ...], code: Any, run: Any) -> Family:
    return Family(name=name, inputs=inputs, parts=parts, words=words, code=code, run=run)


FAMILIES = (
    _chain("one_step", "x", "x: {0}", NUMBER),
    _chain("two_steps", "x", "x: {0}, then {1}", NUMBER, NUMBER),
    _chain("three_steps", "x", "x: {0}, then {1}, then {2}", NUMBER, NUMBER, NUMBER),
    _chain("pair", "xy", "{0}, then {1}", PAIR, NUMBER),
    _chain("check", "x", "x: {0}; whether that {1}", NUMBER, CHECK),
    _chain("digits", "n", "n: {0}; then {1}", DIGITS, NUMBER),
    _chain("text", "s", "s: {0}", TEXT),
    _chain("text_two", "s", "s: {0}, then {1}", TEXT, TEXT),
    _chain("measure", "s", "s: {0}; then {1}", MEASURE, NUMBER),
    _chain("words", "w", "w: {0}", WORDS),
    _chain("text_words", "w", "w: {0}; of that {1}", TEXT, WORDS),
    _chain("pick", "a", "a: {0}; then {1}", PICK, NUMBER),
    _chain("slices", "a", "a: {0}, then {1}", SLICE, SLICE),
    _chain("slice_pick", "a", "a: {0}; of that {1}", SLICE, PICK),
    _family(
        *("weighted", "xy", "add {0} x and {1} y", (SCALE, SCALE)),
        lambda p, q: p.code("x") + "+" * (q.code("y")[0] != "-") + q.code("y"),
        lambda p, q, x, y: p.run(x) + q.run(y),
    ),
    _family(
        *("both", "x", "whether x {0} and {1}", (CHECK, CHECK)),
        lambda p, q: f"{p.code('x')} and {q.code('x')}",
        lambda p, q, x: p.run(x) and q.run(x),
    ),
    _family(
        *("either", "x", "whether x {0} or {1}", (CHECK, CHECK)),
        lambda p, q: f"{p.code('x')} or {q.code('x')}",
        lambda p, q, x: p.run(x) or q.run(x),
    ),
    _family(
        *("branch", "x", "x: if it {0}, {1}; else {2}", (CHECK, NUMBER, NUMBER)),
        lambda p, q, r: f"{q.code('x')} if {p.code('x')} else {r.code('x')}",
        lambda p, q, r, x: q.run(x) if p.run(x) else r.run(x),
    ),
    _family(
        *("range_sum", "n", "for each v from 0 to below n%10: {0}; the sum; then {1}", (NUMBER, NUMBER)),
        lambda p, q: q.code(f"sum({p.code('v')} for v in range(n%10))"),
        lambda p, q, n: q.run(sum(p.run(v) for v in range(n % 10))),
    ),
    _family(
        *("text_check", "s", "whether s {0} or {1}", (TEXT_CHECK, TEXT_CHECK)),
        lambda p, q: f"{p.code('s')} or {q.code('s')}",
        lambda p, q, s: p.run(s) or q.run(s),
    ),
    _family(
        *("map", "a", "the list of each v of a: {0}", (NUMBER,)),
        lambda p: f"[{p.code('v')} for v in a]",
        lambda p, a: [p.run(v) for v in a],
    ),
    _family(
        *("keep", "a", "the list of those v of a where v {0}", (CHECK,)),
        lambda p: f"[v for v in a if {p.code('v')}]",
        lambda p, a: [v for v in a if p.run(v)],
    ),
    _family(
        *("map_keep", "a", "the list of each v of a where v {1}: {0}", (NUMBER, CHECK)),
        lambda p, q: f"[{p.code('v')} for v in a if {q.code('v')}]",
        lambda p, q, a: [p.run(v) for v in a if q.run(v)],
    ),
    _family(
        *("sum_where", "a", "for each v of a where v {1}: {0}; the sum", (NUMBER, CHECK)),
        lambda p, q: f"sum({p.code('v')} for v in a if {q.code('v')})",
        lambda p, q, a: sum(p.run(v) for v in a if q.run(v)),
    ),
    _family(
        *("count_where", "a", "the number of v of a where v {0}; then {1}", (CHECK, NUMBER)),
        lambda p, q: q.code(f"sum({p.code('v')} for v in a)"),
        lambda p, q, a: q.run(sum(p.run(v) for v in a)),
    ),
    _family(
        *("all_where", "a", "whether every v of a {0}", (CHECK,)),
        lambda p: f"all({p.code('v')} for v in a)",
        lambda p, a: all(p.run(v) for v in a),
    ),
    _family(
        *("zipped", "ab", "the list over the pairs x of a and y of b: {0}, then {1}", (PAIR, NUMBER)),
        lambda p, q: f"[{q.code(p.code(''))} for x,y in zip(a,b)]",
        lambda p, q, a, b: [q.run(p.run(pair)) for pair in zip(a, b, strict=True)],
    ),
)
NAMES = tuple(family.name for family in FAMILIES)
NANO = ("one_step", "two_steps", "check")  # short, and of integers: enough to train and test the small model on
_KINDS = {
    **{"x": "an integer", "y": "an integer", "n": "an integer of at least 0"},
    **{"s": "a string", "w": "a string of words"},
    **{"a": "a list of integers", "b": "a list of integers as long as a"},
}


def draw(rng: np.random.Generator, *, families: Sequence[str] = NAMES) -> Instance | None:
    """One random function, of the families of those names; None where it makes no good task."""
    known = [f for f in FAMILIES if f.name in families]
    chosen = known[rng.integers(len(known))]
    level = "nano" if set(families) <= set(NANO) else "easy"
    return instance(chosen, tuple(_step(rng, part) for part in chosen.parts), level)


def instance(family: Family, steps: Steps, level: str = "easy") -> Instance | None:
    """The task of one function; None where its values are too uniform or too few mutants can be told from it."""
    code = family.code(*steps)
    rng = keyed("code", family.name, code)
    cases = _cases(rng, family, steps)
    examples, gold, spare = cases[:EXAMPLES], cases[EXAMPLES : EXAMPLES + GOLD], cases[EXAMPLES + GOLD :]
    if len(gold) < GOLD or not _fair(examples, gold):
        return None
    mutants, tests = _mutants(rng, family, steps, gold, spare)
    if len(mutants) < 3:
        return None
    words = family.words.format(*(step.words for step in steps))
    content: dict[str, JSON] = {
        "statement": _statement(family.inputs, words),
        "brief": words,
        "form": "function",
        "entry_point": "f",
        "parameters": list(family.inputs),
        "examples": _tests(examples),
        "gold": _tests(gold),
        "tests": _tests(tests),
        "reference": _program(family.inputs, code),
        "mutants": [_program(family.inputs, mutant) for mutant in mutants],
        "time_limit": 0.5,
        "source": f"masgym/one_line/{family.name}",
    }
    return Instance(content=content, level=level, optimum=None)


def _step(rng: np.random.Generator, vocabulary: Vocabulary) -> Step:
    piece = vocabulary[rng.integers(len(vocabulary))]
    return Step(piece=piece, k=piece.constants[int(rng.integers(len(piece.constants)))])


def _cases(rng: np.random.Generator, family: Family, steps: Steps) -> list[Case]:
    """Different inputs and their values, so ordered that equal values lie far apart."""
    drawn = {repr(given): given for given in (tuple(_inputs(rng, family.inputs)) for _ in range(_TRIES))}
    groups: dict[str, list[Case]] = {}
    for given in drawn.values():
        if (answer := _value(family, steps, given)) is not None:
            groups.setdefault(repr(answer), []).append((given, answer))
    depth = max(map(len, groups.values()), default=0)
    return [group[i] for i in range(depth) for group in groups.values() if i < len(group)]


def _value(family: Family, steps: Steps, given: tuple[Any, ...]) -> Any:
    try:
        return family.run(*steps, *given)
    except (IndexError, ValueError):  # a word or a largest one that is not there
        return None


def _fair(examples: Sequence[Case], gold: Sequence[Case]) -> bool:
    """Whether no constant, nor the argument itself, passes more than half of the gold tests; and examples are short."""
    values = [repr(answer) for _, answer in gold]
    trivial = max(*map(values.count, values), sum(repr(given[0]) == repr(answer) for given, answer in gold))
    short = all(len(repr(example)) <= _LONGEST for example in examples)
    return short and trivial <= len(gold) // 2 and len({repr(answer) for _, answer in examples}) > 1


def _mutants(
    rng: np.random.Generator, family: Family, steps: Steps, gold: Sequence[Case], spare: Sequence[Case]
) -> tuple[list[str], list[Case]]:
    """(up to MUTANTS different wrong functions, the few of `spare` that tell them all from the right one).

    Of those drawn the ones that are right most often: a test has to be chosen well to tell them apart.
    """
    found: dict[str, tuple[int, set[int]]] = {}  # text -> how many of `gold` and which of `spare` it fails
    near, far = list(_near(steps)), list(_far(family, steps))
    for wrong in (*near, *(far[i] for i in rng.permutation(len(far))[: _NEIGHBOURS - len(near)])):
        failed = {n for n, (given, answer) in enumerate(spare) if _value(family, wrong, given) != answer}
        lost = sum(_value(family, wrong, given) != answer for given, answer in gold)
        if failed and lost:
            found.setdefault(family.code(*wrong), (lost, failed))
    closest = sorted(found, key=lambda code: found[code][0] / GOLD + len(found[code][1]) / len(spare))[:MUTANTS]
    return closest, [spare[n] for n in _cover([found[code][1] for code in closest])]


def _near(steps: Steps) -> Iterator[Steps]:
    """One constant changed a little."""
    for place, step in enumerate(steps):
        known = list(step.piece.constants)
        rank = known.index(step.k)
        for k in (*known[max(0, rank - 2) : rank], *known[rank + 1 : rank + 3]):
            yield (*steps[:place], Step(piece=step.piece, k=k), *steps[place + 1 :])


def _far(family: Family, steps: Steps) -> Iterator[Steps]:
    """One step replaced by another kind of step."""
    for place, (step, vocabulary) in enumerate(zip(steps, family.parts, strict=True)):
        for piece in vocabulary:
            for k in piece.constants if piece is not step.piece else ():
                yield (*steps[:place], Step(piece=piece, k=k), *steps[place + 1 :])


def _cover(sets: Sequence[set[int]]) -> list[int]:
    """Few numbers of which each set holds one: greedily."""
    left, chosen = list(sets), list[int]()
    while left:
        counts = {n: sum(n in one for one in left) for n in sorted(set().union(*left))}
        chosen.append(max(counts, key=lambda n: counts[n]))
        left = [one for one in left if chosen[-1] not in one]
    return chosen


def _inputs(rng: np.random.Generator, kinds: str) -> Iterator[Any]:
    """A value for each parameter, by its name."""
    length = int(rng.integers(4, 7))
    for kind in kinds:
        if kind in "xy":
            yield int(rng.integers(-9, 21))
        elif kind == "n":
            yield int(rng.integers(10 ** rng.integers(1, 4)))
        elif kind in "ab":
            yield rng.integers(-9, 21, size=length).tolist()
        elif kind == "s":
            yield _word(rng, 3, 8)
        else:
            yield " ".join(_word(rng, 2, 6) for _ in range(rng.integers(3, 5)))


def _word(rng: np.random.Generator, least: int, below: int) -> str:
    return "".join("abcde"[i] for i in rng.integers(5, size=rng.integers(least, below)))


def _statement(inputs: str, words: str) -> str:
    kinds = "; ".join(f"{name} is {_KINDS[name]}" for name in inputs)
    return f"Write the function f({', '.join(inputs)}), which returns what is described here ({kinds}).\n{words}"


def _program(inputs: str, code: str) -> str:
    return f"def f({','.join(inputs)}):\n    return {code}\n"


def _tests(cases: Sequence[Case]) -> list[JSON]:
    return [{"args": encode(list(given)), "expected": encode(answer)} for given, answer in cases]
