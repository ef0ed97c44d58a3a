"""Runs untrusted Python: stdin and JSON values in; text, JSON values and a named outcome out. Never a verdict.

The program runs under bubblewrap as an unprivileged user, in namespaces of its own, on a read-only root that holds
nothing but the interpreter (`bubblewrap.py`), without network, behind a filter of system calls (`seccomp.py`), with
limits on CPU time, wall time, memory, processes, output and files. All that it started or wrote ends with it. What it
answers is compared HERE, by `same`: it can claim any value, but it is never told which one is expected.

Not covered:
- faults of the kernel itself; what caches, timing and locks on shared files give away, to other programs too;
- kernel memory (inodes of /tmp, pipes) is bounded only by the limits of time and descriptors;
- memory is limited by process: in all `processes` times `memory`, and /tmp beside it; so is CPU time: a program that
  forks again and again may use `processes` times `wall` seconds;
- a program can tell that it is in a sandbox, and what it prints may depend on the clock and on /dev/urandom;
- what it prints, errors included, may repeat its input: a hidden input stays hidden only if that is shown to nobody;
- the versions of the host's kernel, interpreter and C library can be read, and how busy it is;
- processors other than x86-64 and AArch64 get no filter of system calls; Linux before 5.14 counts the processes of all
  of a user's sandboxes together.
The backend "unsafe" isolates NOTHING: a plain process with limits, for machines on which no isolation can be had.
"""

import json
import marshal
import signal
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from masgym.errors import UnknownName
from masgym.tools.launch import BACKENDS, STARTED, Backend, Limits, launch
from masgym.tools.process import Ended
from masgym.types import JSON, value

__all__ = [
    "BACKENDS",
    "SANDBOXES",
    "Answer",
    "Backend",
    "Limits",
    "Outcome",
    "Ran",
    "Sandbox",
    "backend_name",
    "run_calls",
    "run_program",
    "same",
]

Sandbox: TypeAlias = Literal["auto", "bubblewrap", "unsafe"]  # what may be asked for
SANDBOXES: tuple[Sandbox, ...] = ("auto", *BACKENDS)
Outcome: TypeAlias = Literal["ok", "exception", "timeout", "memory", "output limit", "killed"]

_SHOWN = 200  # most characters of an error
_DEEPEST = 64  # most levels of lists and dicts in an answer
_DEFAULT = Limits()


@value
class Ran:
    """What became of a program that was run as a script."""

    outcome: Outcome
    stdout: str
    error: str  # "", or one line: the exception's last, or which limit was met


@value
class Answer:
    """What became of one call of a program's function."""

    outcome: Outcome
    value: JSON  # None unless "ok"; tuples have become lists
    error: str


def backend_name(asked: str = "auto") -> Backend:
    """The backend that runs the programs, as reports name it. "auto" is one that isolates: never "unsafe".

    Starts nothing. Raises UnknownName.
    """
    if asked not in SANDBOXES:
        raise UnknownName("sandbox", asked, SANDBOXES)
    return "unsafe" if asked == "unsafe" else "bubblewrap"


def run_program(
    program: str,
    stdin: str = "",
    *,
    limits: Limits = _DEFAULT,
    packages: Sequence[str] = (),
    backend: Backend = "bubblewrap",
) -> Ran:
    """Runs `program` as a script. packages: of "numpy" and "sympy", read-only.

    Never raises on any program. Raises NoSandbox where none can be isolated, UnknownName for packages and backends.
    """
    ended = launch({"program": program, "function": ""}, stdin, limits, packages, backend)
    outcome, error = _outcome(ended, limits)
    return Ran(outcome=outcome, stdout=ended.stdout.decode("utf-8", "replace"), error=error)


def run_calls(
    program: str,
    function: str,
    arguments: Sequence[Sequence[JSON]],
    *,
    limits: Limits = _DEFAULT,
    packages: Sequence[str] = (),
    backend: Backend = "bubblewrap",
) -> tuple[Answer, ...]:
    """Runs `program` once and calls its `function` with each list of arguments: one Answer a call, in that order.

    A method of a class `Solution` is found too. The limits are for all calls together; the calls that were not
    answered when one was met share its outcome. Raises as `run_program`.
    """
    calls = [marshal.dumps(list(given)) for given in arguments]
    ended = launch({"program": program, "function": function, "calls": calls}, "", limits, packages, backend)
    lines = ended.report[len(STARTED) :].split(b"\n")[:-1]  # whole lines only
    answers = [_answer(line) for line in lines[: len(calls)]]
    outcome, error = _outcome(ended, limits)
    if outcome == "ok":
        outcome, error = "killed", "it ended before it answered"
    unanswered = Answer(outcome=outcome, value=None, error=error)
    return (*answers, *[unanswered] * (len(calls) - len(answers)))


def same(expected: JSON, actual: JSON) -> bool:
    """Equal in value and in type, all the way down: 1, 1.0 and True differ. NaN is the same as NaN."""
    if type(expected) is not type(actual):
        return False
    if isinstance(expected, dict):
        return expected.keys() == actual.keys() and all(same(expected[key], actual[key]) for key in expected)
    if isinstance(expected, list):
        return len(expected) == len(actual) and all(map(same, expected, actual))
    return expected == actual or (expected != expected and actual != actual)


def _outcome(ended: Ended, limits: Limits) -> tuple[Outcome, str]:
    """The name of what ended a process, and a line that says more."""
    number = -ended.code if ended.code < 0 else ended.code - 128  # bwrap exits with 128 + the signal's number
    if ended.cut == "timeout" or (not ended.cut and number == signal.SIGXCPU):
        return "timeout", f"it took more than {limits.cpu} s of CPU time, or {limits.wall:g} s in all"
    if ended.cut:
        return "output limit", f"it printed more than {limits.output} bytes"
    if number in set(signal.Signals):
        return "killed", f"it was ended by {signal.Signals(number).name}"
    if ended.code == 0:
        return "ok", ""
    lines = ended.stderr.decode("utf-8", "replace").strip().splitlines()
    return _raised(lines[-1] if lines else f"it exited with code {ended.code}")


def _answer(line: bytes) -> Answer:
    """A line of the report (see child.py), which the program may have written itself: any bytes."""
    try:
        found: Any = _plain(json.loads(line.decode("utf-8", "replace")))
    except (ValueError, RecursionError):  # no JSON, an endless integer; levels without end
        found = None
    match found:
        case ["ok", answered]:
            return Answer(outcome="ok", value=answered, error="")
        case ["exception", str(last_line)]:
            outcome, error = _raised(last_line)
            return Answer(outcome=outcome, value=None, error=error)
        case _:
            return Answer(outcome="exception", value=None, error="its answer was no JSON value")


def _raised(last_line: str) -> tuple[Outcome, str]:
    memory = last_line.partition(":")[0].endswith("MemoryError")
    return "memory" if memory else "exception", last_line[:_SHOWN]


def _plain(found: JSON, levels: int = _DEEPEST) -> JSON:
    """The value without lone surrogates. Raises ValueError if it is nested deeper than `levels`."""
    if isinstance(found, str):
        return found.encode("utf-8", "replace").decode("utf-8")
    if not isinstance(found, list | dict):
        return found
    if levels == 0:
        raise ValueError("nested too deep")
    if isinstance(found, list):
        return [_plain(item, levels - 1) for item in found]
    return {_plain(key): _plain(item, levels - 1) for key, item in found.items()}
