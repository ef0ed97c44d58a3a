"""Programs in the replies of tool users: found, run as calls of the tool "python", and what they printed, for others.

    reply := text with exactly one fenced block     (no fence: no program; any other number of fences: malformed)
    block := ``` [python | python3 | py] newline program ```

The last line that a program prints is its proposal, in the grammar of a plain one. All that it prints is an
observation: it enters shared memory trimmed, without control characters, and with a bar before every line, so that it
cannot pass for another line of a prompt.
"""

from collections.abc import Callable
from typing import TypeVar

from masgym.errors import BadValue
from masgym.tags import Malformed, printable
from masgym.tools.python import program_call
from masgym.tools.sandbox import Limits
from masgym.types import Slot, ToolCall, ToolResult, value

T = TypeVar("T")

FENCE = "```"
BRIEF = (
    f"Or reply with a Python program, in one fenced block: {FENCE}python, a line break, the program, {FENCE}. "
    "Its standard input holds {stdin}. The last line that it prints must be {last}; the team is shown all that it "
    f"prints. It has {Limits().cpu} seconds and Python's standard library, no files and no network."
)
_LANGUAGES = ("", "python", "python3", "py")
_LINES, _WIDTH = 20, 200  # what is shown: the last lines, so many characters of each


@value
class Printed:
    """What became of a program."""

    lines: tuple[str, ...]  # of its output: cleaned, trimmed, none of them blank
    failure: str  # "", or how it ended: "exception: ZeroDivisionError: division by zero"


def program_of(reply: str) -> str | Malformed | None:
    """The program; None in a reply without a fence."""
    parts = reply.split(FENCE)
    if len(parts) == 1:
        return None
    if len(parts) != 3:
        return Malformed(reason=f"it has {len(parts) - 1} fences {FENCE}; one fenced block, so 2, was expected")
    language, newline, program = parts[1].partition("\n")
    if language.strip().lower() not in _LANGUAGES or not newline:
        return Malformed(reason=f"its fenced block is no program: {FENCE}python and a line break were expected")
    return program if program.strip() else Malformed(reason="its program is empty")


def program_calls(slot: Slot, reply: str, results: tuple[ToolResult, ...], stdin: str) -> tuple[ToolCall, ...]:
    """The call that runs a tool user's program, unless there is none or it has run."""
    program = program_of(reply) if slot == "tool" else None
    return (program_call(program, stdin),) if isinstance(program, str) and not results else ()


def printed(result: ToolResult) -> Printed:
    """Reads the result of a `program_call`."""
    lines = (printable(line).strip() for line in result.value["stdout"].splitlines())
    failure = "" if result.outcome == "ok" else f"{result.outcome}: {printable(result.value['error']).strip()}"
    return Printed(lines=tuple(line[:_WIDTH] for line in lines if line)[-_LINES:], failure=failure)


def propose(
    slot: Slot, reply: str, results: tuple[ToolResult, ...], parse: Callable[[str], T | Malformed]
) -> tuple[T | Malformed, Printed | None]:
    """What is proposed, and what became of the program if it was one: in the tool slot a program may speak.

    Raises BadValue when the reply holds a program and `results` is empty.
    """
    program = program_of(reply) if slot == "tool" else None
    if isinstance(program, Malformed):
        return program, None
    if program is None:
        return parse(reply), None
    if not results:
        raise BadValue("a reply with a program was judged without the result of its call; run `calls` first.")
    out = printed(results[0])
    return parse(out.lines[-1]) if out.lines else Malformed(reason="no line was printed"), out


def noted(note: str, program: Printed | None) -> str:
    """The note on a proposal, with what became of its program."""
    if program is None:
        return note
    failed = f"; its program failed, {program.failure}" if program.failure else ""
    shown = "; its program printed" if program.lines else ""
    return f"{note}{failed}{shown}" + "".join(f"\n| {line}" for line in program.lines)
