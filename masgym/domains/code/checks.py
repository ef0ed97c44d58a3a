"""Running programs on cases: tool calls out, answers in. Expected values stay here; only inputs go to the sandbox.

What the statement shows and what it hides run apart, so that nothing that is shown later (values, errors) can come from
a program that saw hidden inputs.
"""

import json
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import Any

from masgym.domains.code.problem import Case, Check, Problem, asked, literal
from masgym.errors import BadValue
from masgym.tools.python import function_call
from masgym.tools.sandbox import Limits, same
from masgym.types import JSON, ToolCall, ToolResult, value

_HARNESS = Path(__file__).with_name("harness.py").read_text(encoding="utf-8")
_PATIENCE = 4  # a program may use the time of so many cases in all
_SLOWER = 4  # a mutant may take so many times what the reference may take on a tester's tests
_OUTPUT = 2**18  # bytes that a run may answer in all
_SHOWN = 200  # characters of a value or an error in a report


@value
class Answer:
    """What a program made of one case."""

    kind: str  # "ok", "compile", "exception", or another outcome of the sandbox
    what: JSON  # the encoded value, or standard output; else the error's last line
    own: bool = True  # False: it made nothing of the case, because a limit of the whole run had ended that before


@value
class Failure:
    """A failed case as text: a short line each."""

    asked: str
    came: str
    expected: str


def run(problem: Problem, programs: Sequence[str], cases: Sequence[Case], patience: int = _PATIENCE) -> ToolCall:
    """Asks for `answers`: for each program one for each case. patience: of so many cases a program may use the time."""
    calls = [[*_asked(problem, program, case), problem.time_limit] for program in programs for case in cases]
    return _run(problem, calls, len(programs) * min(len(cases), patience) * problem.time_limit)


def run_tests(problem: Problem, tests: Sequence[Case]) -> ToolCall:
    """Asks for `answers` of the reference, then of each mutant. Time has to tell them apart by far: the reference gets
    a share of a mutant's, for each test and in all, and where that does not do no mutant is tried."""
    limit, reference = problem.time_limit, f"{problem.prelude}{problem.reference}"
    given = ((problem.reference, 1 / _SLOWER, ""), *((mutant, 1, reference) for mutant in problem.mutants))
    calls = [
        [*_asked(problem, program, test), share * limit, share * limit * _PATIENCE, after]
        for program, share, after in given
        for test in tests
    ]
    return _run(problem, calls, _PATIENCE * limit * sum(share for _, share, _ in given))


def replay(problem: Problem, check: Check, given: Sequence[Answer]) -> ToolCall:
    """Asks whether `check` accepts a candidate that answered `given` to its inputs. The candidate does not run."""
    trusted, inputs = f"{problem.prelude}{problem.reference}", [json.loads(text) for text in check.inputs]
    answers = [[answer.kind, answer.what] for answer in given]
    seconds = _PATIENCE * problem.time_limit
    return _call("replay", [[trusted, check.program, inputs, answers, seconds]], seconds)


def record(program: str, check: str, entry_point: str, seconds: float) -> ToolCall:
    """Asks for the inputs of a `Check`: the answer's value is a list of lists of arguments. For importers."""
    return _call("record", [[program, check, entry_point, seconds]], seconds)


def answers(result: ToolResult, count: int) -> tuple[Answer, ...]:
    """The answers to `count` calls. From the sandbox can come anything: what is no answer counts as an error."""
    rows: Any = result.value["answers"]
    if len(rows) != count:
        raise BadValue(f"{count} calls were answered by {len(rows)} answers; results must be those of `calls`.")
    return tuple(map(_answer, rows))


def stated(cases: Sequence[Case], failing: int = 0) -> ToolResult:
    """What `run` comes to where one program passes all `cases`, and `failing` more that follow it answer none."""
    right = [_row("ok", ["ok", json.loads(case.expected)]) for case in cases]
    return ToolResult(outcome="ok", value={"answers": right + [_row("exception", None)] * (failing * len(cases))})


def passes(problem: Problem, case: Case, answer: Answer) -> bool:
    """Whether the answer is the one expected: in value and type; of scripts the lines, without spaces at their ends."""
    if answer.kind != "ok":
        return False
    expected = json.loads(case.expected)
    if problem.form == "stdin":
        return isinstance(answer.what, str) and _lines(answer.what) == _lines(expected)
    return same(expected, answer.what)


def failure(problem: Problem, case: Case, answer: Answer) -> Failure:
    """A case that `answer` does not pass."""
    if answer.kind == "ok":
        came = f"gives {_readable(answer.what)}"
    else:
        came = f"ends with {answer.kind} {answer.what}".rstrip()
    what = asked(case, problem.form, problem.entry_point)
    return Failure(asked=_cut(what), came=_cut(came), expected=_cut(literal(json.loads(case.expected))))


def _asked(problem: Problem, program: str, case: Case) -> list[JSON]:
    """What the harness is asked first."""
    whole = f"{problem.prelude}{program}"
    return [whole, case.arguments] if problem.form == "stdin" else [whole, problem.entry_point, case.arguments]


def _run(problem: Problem, calls: list[list[JSON]], seconds: float) -> ToolCall:
    return _call("feed" if problem.form == "stdin" else "call", calls, seconds)


def _call(function: str, calls: list[list[JSON]], seconds: float) -> ToolCall:
    cpu = ceil(seconds) + 1
    limits = Limits(cpu=cpu, wall=10.0 + 4 * cpu, output=_OUTPUT)
    return function_call(_HARNESS, function, calls, limits=limits)


def _answer(row: Any) -> Answer:
    """Of the tool's {"outcome", "value", "error"}, whose value should be what the harness answers."""
    if row["outcome"] != "ok":
        return Answer(kind=row["outcome"], what="", own=row["outcome"] == "exception")
    match row["value"]:
        case ["ok", what]:
            return Answer(kind="ok", what=what)
        case [("compile" | "exception" | "timeout") as kind, str(what)]:
            return Answer(kind=kind, what=_cut(what))
        case _:
            return Answer(kind="exception", what="")


def _row(outcome: str, what: JSON) -> dict[str, JSON]:
    return {"outcome": outcome, "value": what, "error": ""}


def _readable(what: JSON) -> str:
    try:
        return literal(what)
    except (TypeError, ValueError, RecursionError):  # a program may answer in the harness's place
        return repr(what)


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().split("\n")]


def _cut(text: str) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 3]}..."
