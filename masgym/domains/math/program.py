"""The tool user's program (masgym.domains.programs): the last line that it prints is the answer."""

from masgym.domains import programs
from masgym.domains.math.answers import checked, read
from masgym.domains.programs import noted
from masgym.tags import Malformed
from masgym.tools.python import program_call
from masgym.tools.sandbox import Limits
from masgym.types import ToolCall, ToolResult, value

LIMITS = Limits(cpu=5)  # seconds; importing sympy takes one of them


@value
class Printed:
    """What a program came to."""

    answer: str | None  # None: it failed, or its last line is no answer
    note: str
    runs: bool


def run(program: str) -> ToolCall:
    return program_call(program, limits=LIMITS, packages=("numpy", "sympy"))


def printed(result: ToolResult) -> Printed:
    """Reads what came back."""
    out = programs.printed(result)
    if out.failure or not out.lines:
        note = noted("no answer" if out.failure else "its program printed nothing", out)
        return Printed(answer=None, note=note, runs=not out.failure)
    last = out.lines[-1]
    answer = read(last) if r"\boxed" in last else checked(last)
    if isinstance(answer, Malformed):
        return Printed(answer=None, note=noted(f"no answer: {answer.reason}", out), runs=True)
    return Printed(answer=answer, note=noted(f"answers {answer}", out), runs=True)
