"""What the importers of programming sets share: which tests are kept, and which programs come with a task.

Imported programs are untrusted: they run in the sandbox. A reference is kept only if it passes the gold tests that are
kept; a wrong submission becomes a mutant only if it compiles, passes one and fails another.
"""

import ast
import json
from collections.abc import Sequence

from masgym.domains.code.checks import Answer, answers, passes, run
from masgym.domains.code.problem import Case, Problem, problem_of
from masgym.domains.code.taskfile import instance_of
from masgym.importers.rows import Row, Unfit
from masgym.tools.python import Python
from masgym.types import JSON

SECONDS = 4.0  # of CPU time a case, where a set says nothing else
KEPT = 32  # gold tests of a task: more would only take time
ANSWERED = 2**17  # characters, as JSON, that these may expect in all: half of what a run may answer
TRIED = 5  # solutions that are tried as reference, and wrong submissions as mutants
MUTANTS = 3


def parted(shown: Sequence[JSON], hidden: Sequence[JSON]) -> dict[str, JSON]:
    """The cases that a statement shows as `examples`, the hidden ones as `gold`: each once, as many as fit.

    Where all are shown they are gold, and prompts show them only as far as the statement does.
    """
    examples, others = _unlike(shown, ()), _unlike(hidden, shown)
    gold = _fitting(others or examples)
    if not gold:
        raise Unfit("it has no tests" if not (shown or hidden) else "its tests expect more output than a run may give")
    return {"examples": _fitting(examples) if others else [], "gold": gold}


def with_programs(row: Row, task: dict[str, JSON], right: Sequence[str], wrong: Sequence[str] = ()) -> dict[str, JSON]:
    """The task with the first of `right` that passes its gold tests, "" where none does, and a few of `wrong`."""
    task = _with_test(task)
    problem = problem_of(instance_of({**task, "reference": "", "mutants": []}, row.where).content)
    reference = next((program for program in right[:TRIED] if all(_passed(problem, program))), "")
    mutants = [program for program in wrong[:TRIED] if reference and len(set(_passed(problem, program))) == 2]
    return {**task, "reference": reference, "mutants": mutants[:MUTANTS]}


def _with_test(task: dict[str, JSON]) -> dict[str, JSON]:
    """Where nothing is shown, one of several gold tests is set apart as what a good tester writes."""
    *gold, last = task["gold"]
    return task if task["examples"] or not gold else {**task, "gold": gold, "tests": [last]}


def answered(problem: Problem, program: str, cases: Sequence[Case]) -> tuple[Answer, ...]:
    """What a program makes of the cases, in the sandbox."""
    return answers(Python()(run(problem, [program], cases).arguments), len(cases)) if cases else ()


def parameters(code: str, entry_point: str) -> list[str]:
    """The names of what `entry_point` takes, in code that may break off after its head; [] where it takes other than
    plain arguments, or the code cannot be read."""
    for text in (code, f"{code.rstrip()} pass"):
        try:
            found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            continue
        for taken in [node.args for node in found if node.name == entry_point]:
            if not (taken.vararg or taken.kwarg or taken.kwonlyargs or taken.defaults):
                return [one.arg for one in taken.args if one.arg != "self"]
    return []


def _passed(problem: Problem, program: str) -> list[bool]:
    made = answered(problem, program, problem.gold)
    return [passes(problem, case, answer) for case, answer in zip(problem.gold, made, strict=True)]


def _unlike(cases: Sequence[JSON], known: Sequence[JSON]) -> list[JSON]:
    """Each case once, and none of `known`."""
    left = {_text(case): case for case in cases}
    for case in known:
        left.pop(_text(case), None)
    return list(left.values())


def _fitting(cases: Sequence[JSON]) -> list[JSON]:
    kept, room = list[JSON](), ANSWERED
    for case in cases:
        size = len(_text(case["stdout"] if "stdout" in case else case["expected"]))
        if len(kept) < KEPT and size <= room:
            kept.append(case)
            room -= size
    return kept


def _text(found: JSON) -> str:
    return json.dumps(found, sort_keys=True)
