"""The tool "python": programs as tool calls, run in the sandbox. What it is asked and what it answers is plain data.

arguments                                                       value of the result
{"program", "stdin"}                                            {"stdout", "error"}
{"program", "function", "calls": list of lists of arguments}    {"answers": list of {"outcome", "value", "error"}}

Both may have "limits" (fields of `Limits`) and "packages" (of numpy, sympy). Outcomes are those of `sandbox.py`; that
of several calls is the first that is not "ok".
"""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from masgym.errors import UnknownName
from masgym.tools.sandbox import Backend, Limits, run_calls, run_program
from masgym.types import JSON, ToolCall, ToolResult, value

_DEFAULT = Limits()
_ARGUMENTS = ("program", "stdin", "function", "calls", "limits", "packages")


def program_call(program: str, stdin: str = "", *, limits: Limits = _DEFAULT, packages: Sequence[str] = ()) -> ToolCall:
    """Run the program as a script."""
    return ToolCall(tool="python", arguments={"program": program, "stdin": stdin, **_options(limits, packages)})


def function_call(
    program: str,
    function: str,
    calls: Sequence[Sequence[JSON]],
    *,
    limits: Limits = _DEFAULT,
    packages: Sequence[str] = (),
) -> ToolCall:
    """Run the program once, then call its function with each list of arguments."""
    own = {"program": program, "function": function, "calls": [list(given) for given in calls]}
    return ToolCall(tool="python", arguments={**own, **_options(limits, packages)})


@value
class Python:
    """The tool itself. `backend` is where programs run; see `sandbox.py`."""

    backend: Backend = "bubblewrap"

    def __call__(self, arguments: JSON) -> ToolResult:
        """Raises UnknownName for arguments that do not exist, BadValue for limits, NoSandbox for want of a sandbox."""
        for name in arguments:
            if name not in _ARGUMENTS:
                raise UnknownName("argument of the tool python", name, _ARGUMENTS)
        limits = Limits(**arguments.get("limits", {}))
        options: dict[str, Any] = {"limits": limits, "packages": arguments.get("packages", ()), "backend": self.backend}
        if "function" not in arguments:
            ran = run_program(arguments["program"], arguments.get("stdin", ""), **options)
            return ToolResult(outcome=ran.outcome, value={"stdout": ran.stdout, "error": ran.error})
        answers = run_calls(arguments["program"], arguments["function"], arguments["calls"], **options)
        plain = [{"outcome": a.outcome, "value": a.value, "error": a.error} for a in answers]
        return ToolResult(
            outcome=next((a.outcome for a in answers if a.outcome != "ok"), "ok"), value={"answers": plain}
        )


def _options(limits: Limits, packages: Sequence[str]) -> dict[str, JSON]:
    """What differs from the defaults: results are logged, and a short call is easier to read."""
    changed = {f.name: getattr(limits, f.name) for f in fields(Limits)}
    changed = {name: bound for name, bound in changed.items() if bound != getattr(_DEFAULT, name)}
    return {**({"limits": changed} if changed else {}), **({"packages": list(packages)} if packages else {})}
