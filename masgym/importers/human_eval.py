"""HumanEval (arXiv 2107.03374): task_id, prompt, entry_point, canonical_solution, test.

The test program's `check(candidate)` is kept. What it asks a candidate for is recorded from the canonical solution, in
the sandbox, so that a candidate never shares a process with it. Examples are those that the docstring tells and
the solution passes; what stands before the function (imports, helpers) goes before every program.
"""

import ast
import doctest
import json
import re
from dataclasses import replace

from masgym.domains.code.checks import answers, passes, record
from masgym.domains.code.problem import Case, Problem, problem_of
from masgym.domains.code.replies import read_tests
from masgym.domains.code.taskfile import instance_of
from masgym.importers.cases import SECONDS, answered, parameters
from masgym.importers.rows import Row, Unfit
from masgym.tags import Malformed
from masgym.tools.python import Python
from masgym.types import JSON

_EXAMPLES = 3
_TOLD = re.compile(r"(?:>>>)?\s*(\w+\(.*\))\s*(?:==|=>|->|➞|=|#=>)\s*(.+)")


def read(row: Row) -> dict[str, JSON]:
    prompt, name = row.text("prompt"), row.text("entry_point")
    function = _function(row, prompt, name)
    head = "".join(prompt.splitlines(keepends=True)[: function.lineno - 1])
    reference = f"{prompt.removeprefix(head)}{row.text('canonical_solution')}"
    task: dict[str, JSON] = {
        "statement": f"Complete this function.\n\n{prompt.rstrip()}",
        "form": "function",
        "entry_point": name,
        "parameters": parameters(prompt, name),
        "prelude": head,
        "examples": [],
        "gold": [],
        "check": {"program": row.text("test"), "inputs": _inputs(row, f"{head}{reference}", name)},
        "reference": reference,
        "mutants": [],
        "time_limit": SECONDS,
        "source": "humaneval",
        "level": "humaneval",
        "id": row.text("task_id"),
    }
    problem = problem_of(instance_of(task, row.where).content)
    examples = _examples(problem, ast.get_docstring(function) or "")
    return {**task, "examples": examples} if examples else {**task, "tests": _tests(problem)}


def _function(row: Row, prompt: str, name: str) -> ast.FunctionDef:
    """The function that is to be completed: the last of that name."""
    try:
        found = [node for node in ast.parse(prompt).body if isinstance(node, ast.FunctionDef) and node.name == name]
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise row.bad("prompt", f"Python ({error})") from error
    if not found:
        raise row.bad("prompt", f"the head of a function {name!r}")
    return found[-1]


def _inputs(row: Row, program: str, name: str) -> JSON:
    made = answers(Python()(record(program, row.text("test"), name, 2 * SECONDS).arguments), 1)[0]
    if made.kind != "ok":
        raise Unfit(f"its own solution does not pass: {made.kind} {made.what}".rstrip())
    return made.what


def _examples(problem: Problem, described: str) -> list[JSON]:
    """What the docstring tells of single calls, in literals: doctests, or lines with a sign between call and value."""
    try:
        told = [
            f"{one.source.strip()} == {one.want.strip()}" for one in doctest.DocTestParser().get_examples(described)
        ]
    except ValueError:  # its indentation is not that of doctests
        told = []
    told += [f"{found[1]} == {found[2]}" for found in map(_TOLD.match, described.splitlines()) if found]
    tests = [read_tests(text, problem, 1) for text in told]
    cases = list(dict.fromkeys(case for found in tests if not isinstance(found, Malformed) for case in found))[
        :_EXAMPLES
    ]
    made = answered(replace(problem, check=None), problem.reference, cases)
    return [_json(case) for case, answer in zip(cases, made, strict=True) if passes(problem, case, answer)]


def _tests(problem: Problem) -> list[JSON]:
    """What a good tester writes where the docstring has no example: the first call of the test program."""
    asked = problem.hidden[:1]
    made = answered(replace(problem, check=None), problem.reference, asked)
    return [
        {"args": case.arguments, "expected": answer.what}
        for case, answer in zip(asked, made, strict=True)
        if answer.kind == "ok"
    ]


def _json(case: Case) -> JSON:
    return {"args": case.arguments, "expected": json.loads(case.expected)}
