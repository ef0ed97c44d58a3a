"""What coder and tester may reply. Reading never raises, takes linear time and runs nothing.

coder   reply := text with one fenced block, the program (masgym.domains.programs) | one line, an expression
        An expression `x+1` (after `return ` or not) stands for a function's body: the small model's form.
tester  reply := text with one fenced block of tests | tests
        tests := test ((newline | ";") test)*
        test  := ["assert"] ENTRY(literal, ...) == literal      (scripts: run("standard input") == "output")
        A literal is what ast.literal_eval reads: numbers, text, True, False, None, lists, tuples, sets, dicts.

Reasons never quote the reply: they go to shared memory, which holds no raw text.
"""

import ast
import re
import warnings
from typing import Any

from masgym.domains.code.harness import encode
from masgym.domains.code.problem import Case, Form, Problem, case_of, shown
from masgym.domains.programs import BLOCKS, FENCE, program_of
from masgym.tags import Malformed

LONGEST_PROGRAM = 7000  # characters
LONGEST_TESTS = 3000

CODER = (
    "Reply with the whole program in one fenced block:\n```python\n...\n```\nYou may think first. "
    f"{BLOCKS} For a function whose body is a single `return`, the expression alone, in one line, will do."
)
CODER_FORM = f"Reply with one block: a line {FENCE}python, the whole program, a line {FENCE}."
TESTER = (
    "Reply with one to {most} tests, one a line, each a call and the value that is right, in literals: f(1, 'a') == 2 "
    "(of a script: run('input') == 'output'). You may think first and put the tests into one fenced block; without a "
    f"block there must be nothing but tests. {BLOCKS} A test that repeats an example of the task tells nothing apart; "
    "if a right program takes long on one of the tests, all of them are worth nothing."
)

NO_TESTS = "No right test is known."
_UNREADABLE = (SyntaxError, ValueError, MemoryError, RecursionError)  # what ast.parse raises
_BODY = re.compile(r"def \w+\([\w,]*\):\n    return (.+)\n")


def read_program(reply: str, problem: Problem) -> str | Malformed:
    """The coder's program, whole."""
    text = _block(reply)
    if isinstance(text, Malformed):
        return text
    if len(text) > LONGEST_PROGRAM:
        return Malformed(reason=f"its program has {len(text)} characters; at most {LONGEST_PROGRAM} are read")
    if FENCE in reply:
        return text
    if "\n" in text or problem.form != "function" or not problem.parameters:
        return Malformed(reason="it has no program in a fenced block")
    expression = text.removeprefix("return ")
    if not _is_expression(expression):
        return Malformed(reason="it is neither a program in a fenced block nor an expression")
    return body(problem.entry_point, problem.parameters, expression)


def body(entry_point: str, parameters: tuple[str, ...], expression: str) -> str:
    """The one-line function that returns `expression`."""
    return f"def {entry_point}({','.join(parameters)}):\n    return {expression}\n"


def expression_of(program: str) -> str:
    """What `body` made the program of; another program as it is."""
    found = _BODY.fullmatch(program)
    return found[1] if found else program.strip()


def read_tests(reply: str, problem: Problem, most: int) -> tuple[Case, ...] | Malformed:
    """The tester's tests, each once. A test that contradicts another or the statement's examples is malformed."""
    text = _block(reply)
    if isinstance(text, Malformed):
        return text
    if len(text) > LONGEST_TESTS:
        return Malformed(reason=f"its tests have {len(text)} characters; at most {LONGEST_TESTS} are read")
    try:
        module = _parsed(text, "exec")
        found = [_test(statement, problem.form, problem.entry_point) for statement in module.body]
    except (*_UNREADABLE, TypeError):
        return Malformed(reason=f"it is no list of tests {_form(problem)}")
    tests = tuple(dict.fromkeys(found))
    if not 1 <= len(tests) <= most:
        return Malformed(reason=f"it holds {len(tests)} tests; 1 to {most} were expected")
    known = {case.given: case for case in problem.examples}
    for number, test in enumerate(tests, start=1):
        if known.setdefault(test.given, test) != test:
            return Malformed(reason=f"its test {number} contradicts another test or an example")
    return tests


def fenced(program: str) -> str:
    return f"{FENCE}python\n{program.strip()}\n{FENCE}"


def good_program(problem: Problem) -> str:
    """A reply with the reference; where there is none, with a program that does nothing."""
    expression = expression_of(problem.reference)
    return expression if expression != problem.reference.strip() else fenced(problem.reference or "pass")


def good_tests(problem: Problem, most: int) -> str:
    """A reply with the task's tests for this purpose; else with examples; else one that offers none and is malformed:
    a test that nobody vouches for may fail right programs."""
    cases = (problem.tests or problem.examples)[:most]
    lines = [shown(case, problem.form, problem.entry_point) for case in cases]
    while len("\n".join(lines)) > LONGEST_TESTS:
        lines.pop()
    return "\n".join(lines) or NO_TESTS


def _block(reply: str) -> str | Malformed:
    """What the one fenced block holds, or a reply without fences as a whole."""
    if not reply.strip():
        return Malformed(reason="the reply was empty")
    found = program_of(reply)
    return reply.strip() if found is None else found


def _is_expression(text: str) -> bool:
    """Told here: what a small model writes is mostly none, and starting a sandbox to find out takes its time."""
    try:
        _parsed(text, "eval")
    except _UNREADABLE:
        return False
    return True


def _parsed(text: str, mode: str) -> Any:
    """Without the warnings that Python has for odd literals: a filter may raise them, and a model's text is data."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text, mode=mode)


def _test(statement: ast.stmt, form: Form, entry_point: str) -> Case:
    """Raises ValueError for a statement that is no test, as ast.literal_eval does for what is no literal."""
    match statement:
        case ast.Assert(test=test, msg=None) | ast.Expr(value=test):
            pass
        case _:
            raise ValueError("no test")
    match test:
        case ast.Compare(left=ast.Call(func=ast.Name(id=name), args=given, keywords=[]), ops=[ast.Eq()]):
            if name != (entry_point if form == "function" else "run"):
                raise ValueError("a test of another function")
            arguments, expected = [_encoded(node) for node in given], _encoded(test.comparators[0])
        case _:
            raise ValueError("no comparison of a call")
    if form == "function":
        return case_of(arguments, expected)
    if len(arguments) != 1 or not isinstance(arguments[0], str) or not isinstance(expected, str):
        raise ValueError("standard input and output are text")
    return case_of(arguments[0], expected)


def _encoded(node: ast.expr) -> Any:
    return encode(ast.literal_eval(node))


def tests_like(problem: Problem) -> str:
    """What a tester's reply looks like."""
    return f"Reply with nothing but tests, one a line, like {_form(problem)}."


def _form(problem: Problem) -> str:
    return 'run("input") == "output"' if problem.form == "stdin" else f"{problem.entry_point}(literals) == literal"
