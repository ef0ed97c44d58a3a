"""APPS (arXiv 2105.09938): question, solutions, input_output, difficulty; starter_code where there is one.

Scripts: a test counts as an example where the statement has its input and its output as lines of their own.
Functions: the set's outputs are ambiguous (a value may stand in a list of its own, and lists for tuples), so a
solution settles them: what it answers, where that is the listed value in one of these readings, is expected. Answers
are compared type-strictly then, where the set's own grader takes a tuple for a list.
"""

import json
from collections.abc import Sequence
from typing import Any

from masgym.domains.code.harness import decode, encode
from masgym.domains.code.problem import Problem, problem_of
from masgym.domains.code.taskfile import instance_of
from masgym.importers.cases import SECONDS, TRIED, answered, parameters, parted, with_programs
from masgym.importers.rows import Row, Unfit
from masgym.tools.sandbox import same
from masgym.types import JSON


def read(row: Row) -> dict[str, JSON]:
    tests = _tests(row)
    solutions = [text for text in _list(row, "solutions") if isinstance(text, str)]
    task: dict[str, JSON] = {
        "statement": row.text("question"),
        "time_limit": SECONDS,
        "source": "apps",
        "level": row.text("difficulty"),
    }
    if tests.fields.get("fn_name") is None:
        return _script(row, task, tests, solutions)
    return _function(row, task, tests, solutions)


def _script(row: Row, task: dict[str, JSON], tests: Row, solutions: Sequence[str]) -> dict[str, JSON]:
    inputs, outputs = _pairs(tests)
    cases = [
        {"stdin": _joined(tests, "inputs", given), "stdout": _joined(tests, "outputs", expected)}
        for given, expected in zip(inputs, outputs, strict=True)
    ]
    shown = [case for case in cases if all(_stands_in(task["statement"], case[part]) for part in case)]
    return with_programs(row, {**task, "form": "stdin", **parted(shown, cases)}, solutions)


def _function(row: Row, task: dict[str, JSON], tests: Row, solutions: Sequence[str]) -> dict[str, JSON]:
    name, starter = tests.text("fn_name"), row.string("starter_code")
    inputs, outputs = _pairs(tests)
    if not all(isinstance(given, list) for given in inputs):
        raise tests.bad("inputs", "a list of lists of arguments")
    whole = {
        **task,
        "statement": "\n\n".join(text for text in (task["statement"], starter.rstrip()) if text),
        "form": "function",
        "entry_point": name,
        "parameters": parameters(starter, name),
        **parted([], [{"args": encode(g), "expected": encode(out)} for g, out in zip(inputs, outputs, strict=True)]),
    }
    problem = problem_of(instance_of({**whole, "mutants": []}, row.where).content)
    for program in solutions[:TRIED]:
        gold = _settled(problem, program)
        if gold:
            return with_programs(row, {**whole, "gold": gold}, [program])
    raise Unfit("its outputs are ambiguous, and none of its first solutions settles them")


def _settled(problem: Problem, program: str) -> list[JSON]:
    """The gold cases with what the program answers, if that is what the set lists; else []."""
    made = answered(problem, program, problem.gold)
    pairs = [(case, decode(json.loads(case.expected)), one) for case, one in zip(problem.gold, made, strict=True)]
    agree = all(one.kind == "ok" and _agrees(out, one.what) for _, out, one in pairs)
    return [{"args": case.arguments, "expected": one.what} for case, _, one in pairs] if agree else []


def _agrees(listed: JSON, what: JSON) -> bool:
    try:
        found = _without_tuples(decode(what))
    except (TypeError, ValueError, RecursionError):  # no encoded value: the program answered in the harness's place
        return False
    return same(listed, found) or (isinstance(listed, list) and len(listed) == 1 and same(listed[0], found))


def _without_tuples(found: Any) -> Any:
    return [_without_tuples(item) for item in found] if isinstance(found, list | tuple) else found


def _tests(row: Row) -> Row:
    """The object that `input_output` holds as JSON text."""
    tests = row.parsed("input_output")
    if not tests:
        raise Unfit("it has no tests")
    return Row(where=row.where, fields={"input_output": tests}).inside("input_output")


def _pairs(tests: Row) -> tuple[list[Any], list[Any]]:
    inputs, outputs = tests.items("inputs"), tests.items("outputs")
    if len(inputs) != len(outputs):
        raise tests.bad("outputs", f"{len(inputs)} outputs, as there are inputs")
    if not inputs:
        raise Unfit("it has no tests")
    return inputs, outputs


def _list(row: Row, name: str) -> list[Any]:
    """A list as JSON text; [] where the field is blank."""
    found = row.parsed(name)
    if not isinstance(found, list | None):
        raise row.bad(name, "a list, as JSON text")
    return found or []


def _joined(tests: Row, name: str, given: JSON) -> str:
    """A text, or its lines."""
    lines = given if isinstance(given, list) else [given]
    if not all(isinstance(line, str) for line in lines):
        raise tests.bad(name, "texts, or lists of lines")
    return "\n".join(lines)


def _stands_in(statement: str, text: str) -> bool:
    return bool(text.strip()) and f"\n{_trimmed(text)}\n" in f"\n{_trimmed(statement)}\n"


def _trimmed(text: str) -> str:
    return "\n".join(line.strip() for line in text.strip().splitlines())
