"""What a programming task holds, as a value and as JSON. A file of tasks has one JSON object a line:

statement   text: what is to be written, without the signature and the examples, which prompts add
brief       text, optional: the statement for the compact style
form        "function" | "stdin": values are passed to a function, or text to a script's standard input
entry_point name of the function (or of a method of a class `Solution`); "function" only
parameters  list of names, optional: with them a reply may be a bare expression; "function" only
prelude     text, optional: put before every program (imports that a data set takes for granted)
examples    list of cases that the statement shows; may be empty
gold        list of cases that are never shown; at least one, or `check`
check       {"program": text, "inputs": [arguments, ...]}, optional: instead of gold a program that defines
            `check(candidate)`, and the arguments it asks the candidate for, as recorded from the reference
tests       list of cases, optional: what a good tester writes; none of them is an example or a gold test
reference   text: a program that passes; may be empty in imported tasks, whose tester is then judged by `valid` alone
mutants     list of texts: programs that are nearly right, each failing a gold test; may be empty in imported tasks
time_limit  CPU seconds for each program and case
source      text: where the task comes from
level       text: its difficulty

case        {"args": [value, ...], "expected": value}, or {"stdin": text, "stdout": text}
value       JSON; what JSON lacks as `harness.encode` writes it: {"tuple": [...]}, {"set": [...]}, ...

Other fields are left alone, and are not part of the task.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from masgym.domains.code.harness import decode
from masgym.errors import BadValue
from masgym.types import JSON, value

Form: TypeAlias = Literal["function", "stdin"]


@value
class Case:
    """An input and what a right program makes of it; both as JSON text, since values have to be hashable."""

    given: str  # a list of arguments; for scripts standard input
    expected: str  # a value; for scripts standard output

    @property
    def arguments(self) -> JSON:
        return json.loads(self.given)


@value
class Check:
    """A test program in the form of HumanEval."""

    program: str
    inputs: tuple[str, ...]  # JSON text of lists of arguments


@value
class Problem:
    """A task as its domain sees it; the fields are those above."""

    statement: str
    brief: str
    form: Form
    entry_point: str
    parameters: tuple[str, ...]
    prelude: str
    examples: tuple[Case, ...]
    gold: tuple[Case, ...]
    check: Check | None
    tests: tuple[Case, ...]
    reference: str
    mutants: tuple[str, ...]
    time_limit: float

    @property
    def hidden(self) -> tuple[Case, ...]:
        """The cases that a program is run on to be judged; those of `check` expect nothing by themselves."""
        if self.check is None:
            return self.gold
        return tuple(Case(given=given, expected="null") for given in self.check.inputs)


def problem_of(content: Mapping[str, JSON]) -> Problem:
    """Reads the JSON form. Raises BadValue, which names the field and says what was expected there."""
    form = _one_of(content, "form", ("function", "stdin"))
    cases = _function_case if form == "function" else _script_case
    made = Problem(
        statement=_text(content, "statement"),
        brief=_text(content, "brief", _text(content, "statement")),
        form=form,
        entry_point=_name(_text(content, "entry_point"), "entry_point") if form == "function" else "",
        parameters=tuple(_name(name, "parameters") for name in _list(content, "parameters", [])),
        prelude=_text(content, "prelude", ""),
        examples=_each(content, "examples", cases),
        gold=_each(content, "gold", cases, []),
        check=_check(content["check"]) if content.get("check") is not None else None,
        tests=_each(content, "tests", cases, []),
        reference=_text(content, "reference", ""),
        mutants=tuple(_string(text, "mutants") for text in _list(content, "mutants")),
        time_limit=_seconds(content),
    )
    if bool(made.gold) == bool(made.check):
        raise BadValue("field 'gold': either gold cases or a `check` were expected, and not both.")
    return made


def case_of(given: JSON, expected: JSON) -> Case:
    return Case(given=_canonical(given), expected=_canonical(expected))


def shown(case: Case, form: Form, entry_point: str) -> str:
    """The case as a test: `f(1, 'a') == 2`, or `run('1 2\\n') == '3\\n'` of a script."""
    return f"{asked(case, form, entry_point)} == {literal(json.loads(case.expected))}"


def asked(case: Case, form: Form, entry_point: str) -> str:
    """The left side of `shown`."""
    if form == "stdin":
        return f"run({literal(case.arguments)})"
    return f"{entry_point}({', '.join(literal(argument) for argument in case.arguments)})"


def literal(encoded: JSON) -> str:
    """An encoded value as Python writes it."""
    return repr(decode(encoded))


def _canonical(given: JSON) -> str:
    return json.dumps(given, sort_keys=True)


def _function_case(given: Any, field: str) -> Case:
    if not isinstance(given, dict) or not isinstance(given.get("args"), list) or "expected" not in given:
        raise BadValue(f'field {field!r}: {_cut(given)} instead of {{"args": [...], "expected": ...}}.')
    for part in (*given["args"], given["expected"]):
        try:
            decode(part)
        except (TypeError, ValueError, RecursionError) as error:
            raise BadValue(f"field {field!r}: {_cut(part)} is no encoded value: {error}.") from error
    return case_of(given["args"], given["expected"])


def _script_case(given: Any, field: str) -> Case:
    if not isinstance(given, dict) or not all(isinstance(given.get(key), str) for key in ("stdin", "stdout")):
        raise BadValue(f'field {field!r}: {_cut(given)} instead of {{"stdin": text, "stdout": text}}.')
    return case_of(given["stdin"], given["stdout"])


def _check(given: Any) -> Check:
    inputs = given.get("inputs") if isinstance(given, dict) else None
    if not isinstance(inputs, list) or not all(isinstance(arguments, list) for arguments in inputs):
        raise BadValue(f'field \'check\': {_cut(given)} instead of {{"program": text, "inputs": [[...], ...]}}.')
    asked = tuple(json.dumps(arguments) for arguments in inputs)  # keys in the order in which `check` gives them
    return Check(program=_string(given.get("program"), "check"), inputs=asked)


def _each(
    content: Mapping[str, Any], field: str, read: Callable[[Any, str], Case], default: list[JSON] | None = None
) -> tuple[Case, ...]:
    return tuple(read(given, field) for given in _list(content, field, default))


def _list(content: Mapping[str, Any], field: str, default: list[JSON] | None = None) -> list[JSON]:
    found = content.get(field, default)
    if not isinstance(found, list):
        raise BadValue(f"field {field!r}: {_cut(found)} instead of a list.")
    return found


def _text(content: Mapping[str, Any], field: str, default: str | None = None) -> str:
    return _string(content.get(field, default), field)


def _string(found: Any, field: str) -> str:
    if not isinstance(found, str):
        raise BadValue(f"field {field!r}: {_cut(found)} instead of a text.")
    return found


def _name(found: Any, field: str) -> str:
    if not isinstance(found, str) or not found.isidentifier():
        raise BadValue(f"field {field!r}: {_cut(found)} instead of a name.")
    return found


def _one_of(content: Mapping[str, Any], field: str, known: tuple[Any, ...]) -> Any:
    if content.get(field) not in known:
        raise BadValue(f"field {field!r}: {_cut(content.get(field))} instead of one of {', '.join(known)}.")
    return content[field]


def _seconds(content: Mapping[str, Any]) -> float:
    found = content.get("time_limit")
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 < found <= 60:
        raise BadValue(f"field 'time_limit': {_cut(found)} instead of a number of seconds above 0, at most 60.")
    return float(found)


def _cut(found: Any) -> str:
    text = repr(found)
    return text if len(text) <= 80 else f"{text[:77]}..."
