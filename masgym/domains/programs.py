"""Programs in the replies of tool users: found, run as calls of the tool "python", and what they printed, for others.

    reply  := text with exactly one marked block, and any number of others, which are ignored
            | text with exactly one block, not marked       (no fence: no program; anything else: malformed)
    marked := ``` (python | python3 | py) newline program ```
    block  := ``` [word] newline program ```

The last line that a program prints is its proposal, in the grammar of a plain one. All that it prints is an
observation: it enters shared memory trimmed, without control characters, and with a bar before every line, so that it
cannot pass for another line of a prompt.
"""

import re
from collections.abc import Callable
from typing import TypeVar

from masgym.errors import BadValue
from masgym.tags import Malformed, printable
from masgym.tools.python import program_call
from masgym.tools.sandbox import Limits
from masgym.types import Slot, ToolCall, ToolResult, value

T = TypeVar("T")

FENCE = "```"
BLOCKS = (  # what prompts say of them
    "Exactly one block may be marked python; others beside it are ignored. Where none is marked so, there must be one "
    "block in all."
)
BRIEF = (
    f"Or reply with a Python program, in one fenced block: {FENCE}python, a line break, the program, {FENCE}. {BLOCKS} "
    "Its standard input holds {stdin}. The last line that it prints must be {last}; the team is shown all that it "
    f"prints. It has {Limits().cpu} seconds and Python's standard library, no files and no network."
)
_PYTHON = ("python", "python3", "py")
_LANGUAGE = re.compile(r"[\w+#.-]*", re.ASCII)
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
    blocks = [text.partition("\n") for text in parts[1::2]]
    marked = [number for number, (word, newline, _) in enumerate(blocks) if newline and _language(word) in _PYTHON]
    number, *more = marked or range(len(blocks))
    if more:
        kind = "marked python" if marked else "and none is marked python"
        return Malformed(reason=f"it has {1 + len(more)} fenced blocks {kind}; exactly one was expected")
    if len(parts) == 2 * (number + 1):
        return Malformed(reason="its fenced block is not closed; a reply that grows too long is cut off")
    word, newline, program = blocks[number]
    if not newline or not _LANGUAGE.fullmatch(_language(word)):
        return Malformed(reason=f"its fenced block is no program: {FENCE}python and a line break were expected")
    return program if program.strip() else Malformed(reason="its program is empty")


def _language(word: str) -> str:
    return word.strip().lower()


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
