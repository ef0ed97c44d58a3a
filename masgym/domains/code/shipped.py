"""Makes the shipped tasks: two of each one-line family, one of each variant of `families`. Run as

    python -m masgym.domains.code.shipped > envs_data/code/tasks.jsonl

References and mutants are run in the sandbox: expected values are what the reference answers, and a mutant is kept if
both a gold test and another test tell it from the reference.
"""

import json
import sys
from collections.abc import Iterator, Sequence

from masgym.domains.code import one_line
from masgym.domains.code.checks import answers, run
from masgym.domains.code.families import FAMILIES
from masgym.domains.code.families.template import Family, Variant, filled, mutants
from masgym.domains.code.problem import Case, Problem
from masgym.domains.code.taskfile import line_of
from masgym.errors import UnsolvableTask
from masgym.rng import keyed
from masgym.tasks import Instance
from masgym.tools.python import Python
from masgym.types import JSON, value

EXAMPLES, GOLD = 3, 10
_INPUTS = 60  # drawn for a task, beside the edges
_LONGEST = 300  # characters of a case
_EACH = 2  # tasks of a one-line family
_SECONDS = 0.5


@value
class Tried:
    """An input, what the reference makes of it, and which mutants make something else of it."""

    case: Case
    kills: frozenset[int]
    edge: bool


def main() -> None:
    for made in (*easy(), *(task(family, variant) for family in FAMILIES for variant in family.variants)):
        sys.stdout.write(line_of(made))


def easy() -> Iterator[Instance]:
    for family in one_line.FAMILIES:
        made = dict[str, Instance]()
        for attempt in range(1000):
            if len(made) == _EACH:
                break
            drawn = one_line.draw(keyed("shipped", family.name, attempt), families=(family.name,))
            if drawn:
                made.setdefault(str(drawn.content["reference"]), drawn)
        yield from made.values()


def task(family: Family, variant: Variant) -> Instance:
    """Raises UnsolvableTask where the inputs drawn do not tell three mutants from the reference."""
    wrong = mutants(family, variant)
    tried = _try(family, variant, wrong)
    examples = _examples(tried)
    tests, rest = _cover([one for one in tried if one not in examples])
    cover, rest = _cover(rest)
    known = frozenset[int]().union(*(one.kills for one in tests)) & frozenset().union(*(one.kills for one in cover))
    if len(known) < 3 or len(cover) > GOLD:
        raise UnsolvableTask(f"{family.name} {dict(variant)}: only mutants {sorted(known)} are told apart.")
    gold = [*cover, *_varied(rest, GOLD - len(cover))]
    return _instance(family, variant, [wrong[i] for i in sorted(known)], examples, gold, tests)


def _try(family: Family, variant: Variant, wrong: Sequence[str]) -> list[Tried]:
    """Every different input for which the reference has an answer of moderate length."""
    rng = keyed("shipped", family.name, json.dumps(dict(variant)))
    inputs = [*family.edges, *(family.draw(rng) for _ in range(_INPUTS))]
    given = list(dict.fromkeys(json.dumps(one) for one in inputs))
    cases = [Case(given=text, expected="null") for text in given]
    programs = (filled(family.program, variant), *wrong)
    result = Python()(run(_provisional(family), programs, cases).arguments)
    found = answers(result, len(programs) * len(cases))
    rows = [found[start : start + len(cases)] for start in range(0, len(found), len(cases))]
    return [
        Tried(
            case=Case(given=given[i], expected=json.dumps(right.what, sort_keys=True)),
            kills=frozenset(n for n, row in enumerate(rows[1:]) if row[i] != right),
            edge=i < len(family.edges),
        )
        for i, right in enumerate(rows[0])
        if right.kind == "ok" and len(given[i]) + len(str(right.what)) <= _LONGEST
    ]


def _examples(tried: Sequence[Tried]) -> list[Tried]:
    """Usual inputs with different values; of the first ones drawn those that tell a little apart."""
    usual = sorted([one for one in tried if not one.edge][:12], key=lambda one: abs(len(one.kills) - 1))
    different = {one.case.expected: one for one in reversed(usual)}
    chosen = [one for one in usual if different[one.case.expected] is one]
    return [*chosen, *(one for one in usual if one not in chosen)][:EXAMPLES]


def _cover(tried: Sequence[Tried]) -> tuple[list[Tried], list[Tried]]:
    """(few cases that together tell apart whatever any does, the others): greedily."""
    chosen, left = list[Tried](), frozenset[int]().union(*(one.kills for one in tried))
    while left:
        chosen.append(max(tried, key=lambda one: len(one.kills & left)))
        left -= chosen[-1].kills
    return chosen, [one for one in tried if one not in chosen]


def _varied(tried: Sequence[Tried], count: int) -> list[Tried]:
    """Edges first; then such that equal values lie far apart."""
    groups: dict[str, list[Tried]] = {}
    for one in sorted(tried, key=lambda one: not one.edge):
        groups.setdefault(one.case.expected, []).append(one)
    depth = max(map(len, groups.values()))
    return [group[i] for i in range(depth) for group in groups.values() if i < len(group)][:count]


def _instance(
    family: Family,
    variant: Variant,
    wrong: Sequence[str],
    examples: Sequence[Tried],
    gold: Sequence[Tried],
    tests: Sequence[Tried],
) -> Instance:
    own: dict[str, JSON] = {}
    if family.form == "function":
        own = {"entry_point": family.entry_point, "parameters": list(family.parameters)}
    content: dict[str, JSON] = {
        "statement": filled(family.statement, variant),
        "form": family.form,
        **own,
        "examples": [_row(family, one) for one in examples],
        "gold": [_row(family, one) for one in gold],
        "tests": [_row(family, one) for one in tests],
        "reference": filled(family.program, variant),
        "mutants": list(wrong),
        "time_limit": _SECONDS,
        "source": f"masgym/{family.name}",
    }
    return Instance(content=content, level=family.level, optimum=None)


def _row(family: Family, one: Tried) -> JSON:
    names = ("args", "expected") if family.form == "function" else ("stdin", "stdout")
    return dict(zip(names, (json.loads(one.case.given), json.loads(one.case.expected)), strict=True))


def _provisional(family: Family) -> Problem:
    """What `run` needs to know."""
    return Problem(
        statement="",
        brief="",
        form=family.form,
        entry_point=family.entry_point,
        parameters=family.parameters,
        prelude="",
        examples=(),
        gold=(),
        check=None,
        tests=(),
        reference="",
        mutants=(),
        time_limit=_SECONDS,
    )


if __name__ == "__main__":
    main()
