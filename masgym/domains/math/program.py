"""The tool user's program: one fenced block, whose last printed line is the answer."""

from collections.abc import Mapping
from typing import Any

from masgym.domains.math.answers import checked, read
from masgym.tags import Malformed
from masgym.types import ToolCall, ToolResult, value

_LANGUAGES = ("", "python", "python3", "py")
_SHOWN = 1000  # characters of output that go to shared memory


@value
class Printed:
    """What a program came to."""

    answer: str | None  # None: it failed, or its last line is no answer
    note: str
    runs: bool


def program_of(reply: str) -> str | Malformed | None:
    """The program; None in a reply without a fence."""
    parts = reply.split("```")
    if len(parts) == 1:
        return None
    if len(parts) != 3:
        return Malformed(reason=f"it has {len(parts) - 1} fences ```; one fenced block was expected")
    language, newline, program = parts[1].partition("\n")
    if language.strip().lower() not in _LANGUAGES or not newline or not program.strip():
        return Malformed(reason="its fenced block is no Python program")
    return program


def run(program: str) -> ToolCall:
    return ToolCall(tool="python", arguments={"program": program, "stdin": "", "packages": ["numpy", "sympy"]})


def printed(result: ToolResult) -> Printed:
    """Reads what came back. Output is quoted line by line, so that it cannot pass for other lines of a prompt."""
    value: Any = result.value
    record: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
    lines = [line.rstrip() for line in str(record.get("stdout", "")).splitlines() if line.strip()]
    quoted = "".join(f"\n| {line}" for line in "\n".join(lines)[-_SHOWN:].splitlines())
    if result.outcome != "ok":
        reason = " ".join(str(record.get("error", "")).split())[:200]
        return Printed(answer=None, note=f"its program failed: {result.outcome} {reason}".rstrip() + quoted, runs=False)
    if not lines:
        return Printed(answer=None, note="its program printed nothing", runs=True)
    answer = read(lines[-1]) if r"\boxed" in lines[-1] else checked(lines[-1])
    if isinstance(answer, Malformed):
        return Printed(answer=None, note=f"its program's last line is no answer: {answer.reason}{quoted}", runs=True)
    return Printed(answer=answer, note=f"its program printed{quoted}", runs=True)
