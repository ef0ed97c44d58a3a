"""What judges programs from inside of the sandbox: `call`, `feed`, `replay`, `record`. Sent there as text.

It shares a process with what it runs, so it can be lied to, and so can who reads its answers: they are values, never
verdicts. Each answer is [kind, what]: ["ok", value], ["compile" | "exception", last line] or ["timeout", ""].
`encode` and `decode` serve both sides: values as JSON, with what JSON lacks as {"tuple": [...]}, {"set": [...]},
{"frozenset": [...]}, {"dict": [[key, value], ...]} and {"float": "nan" | "inf" | "-inf"}.
"""

import json
import math
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

_STDOUT = 1 << 20  # bytes of standard output that are looked at
_loaded: dict[str, Any] = {}  # program -> its namespace, or the answer that says why there is none
_late: set[str] = set()  # programs that ran out of time once: not tried again
_spent: dict[str, float] = {}  # CPU seconds of the programs that have a bound for all their calls


class Overtime(BaseException):
    """The program's time is up."""


def encode(v: Any, order: Callable[[Any], Any] = json.dumps) -> Any:
    """A value as JSON. Raises TypeError for one of another type (an instance of a class, say).

    `order` sorts the pairs of a dict whose keys are not all text, so that equal ones are encoded alike.
    """
    kind = type(v)
    if v is None or kind in (bool, int, str):
        return v
    if kind is float:
        return v if math.isfinite(v) else {"float": str(v)}
    if kind is list:
        return [encode(item, order) for item in v]
    if kind is tuple:
        return {"tuple": [encode(item, order) for item in v]}
    if kind in (set, frozenset):
        return {kind.__name__: sorted((encode(item, order) for item in v), key=json.dumps)}
    if isinstance(v, dict):  # a Counter too
        pairs = [[encode(key, order), encode(item, order)] for key, item in dict.items(v)]
        plain = all(type(key) is str for key, _ in pairs) and not (len(pairs) == 1 and pairs[0][0] in _TAGS)
        return dict(pairs) if plain else {"dict": sorted(pairs, key=order)}
    raise TypeError(f"a value of type {kind.__name__} cannot be compared")


def decode(v: Any) -> Any:
    """The value that `encode` wrote so. Raises ValueError or TypeError for what it cannot have written."""
    if isinstance(v, list):
        return [decode(item) for item in v]
    if not isinstance(v, dict):
        return v
    if len(v) == 1 and (tag := next(iter(v))) in _TAGS:
        return _TAGS[tag](v[tag])
    return {key: decode(item) for key, item in v.items()}


def _no_float(found: Any) -> float:
    raise TypeError(f"a float's name is a text, not {type(found).__name__}")  # of a huge integer: OverflowError


_TAGS: dict[str, Callable[[Any], Any]] = {
    "tuple": lambda items: tuple(decode(item) for item in items),
    "set": lambda items: {decode(item) for item in items},
    "frozenset": lambda items: frozenset(decode(item) for item in items),
    "dict": lambda pairs: {decode(key): decode(item) for key, item in pairs},
    "float": lambda name: float(name) if isinstance(name, str) else _no_float(name),
}


def call(program: str, entry: str, arguments: list[Any], seconds: float, *bound: Any) -> list[Any]:
    """What `entry` returns for encoded arguments; loading the program counts in the CPU seconds of its first call."""
    given = decode(arguments)
    return _bounded(program, seconds, lambda: encode(_function(_namespace(program), entry)(*given)), *bound)


def feed(program: str, stdin: str, seconds: float, *bound: Any) -> list[Any]:
    """What the program writes to standard output when it reads `stdin`."""
    return _bounded(program, seconds, lambda: _script(program, stdin), *bound)


def record(program: str, check: str, entry: str, seconds: float) -> list[Any]:
    """The lists of arguments that `check(candidate)` asks `entry` of a trusted program for, when it passes."""
    asked: list[Any] = []

    def run() -> list[Any]:
        function = _function(_namespace(program), entry)

        def recorded(*arguments: Any) -> Any:
            asked.append(encode(list(arguments), _as_it_comes))
            return function(*arguments)

        _checker(program, check)(recorded)
        return asked

    return _timed(program, seconds, run)


def replay(program: str, check: str, asked: list[Any], answers: list[Any], seconds: float) -> list[Any]:
    """["ok", None] if `check` accepts a candidate that answered so to `asked`. Nothing of the candidate runs here:
    its answers come as plain values."""
    waiting = iter(zip(asked, answers, strict=True))

    def candidate(*arguments: Any) -> Any:
        question, (kind, what) = next(waiting, (None, ("", None)))
        if kind != "ok" or encode(list(arguments), _as_it_comes) != question:
            raise AssertionError("the candidate has no answer")
        return decode(what)

    return _timed(program, seconds, lambda: _checker(program, check)(candidate))


def _bounded(
    program: str, seconds: float, run: Callable[[], Any], in_all: float = math.inf, after: str = ""
) -> list[Any]:
    """`_timed`, and the program's calls use at most `in_all` CPU seconds; not tried if `after` ran out of time."""
    spent = _spent.get(program, 0.0)
    if after in _late or spent >= in_all:
        return ["timeout", ""]
    start = time.process_time()
    made = _timed(program, min(seconds, in_all - spent), run)
    _spent[program] = spent + time.process_time() - start
    return made


def _timed(program: str, seconds: float, run: Callable[[], Any]) -> list[Any]:
    if program in _late:
        return ["timeout", ""]
    signal.signal(signal.SIGPROF, _up)
    signal.setitimer(signal.ITIMER_PROF, seconds, 0.1)
    try:
        return ["ok", run()]
    except Overtime:
        _late.add(program)
        return ["timeout", ""]
    except _Unloadable as error:
        return ["compile", str(error)]
    except BaseException as error:
        return ["exception", _last_line(error)]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _up(*_: Any) -> None:
    raise Overtime


class _Unloadable(Exception):
    """The program does not compile."""


def _compiled(program: str) -> Any:
    try:
        return compile(program, "program.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise _Unloadable(f"{type(error).__name__} in line {getattr(error, 'lineno', None) or 1}") from None


def _namespace(program: str) -> dict[str, Any]:
    """The namespace that the program leaves; a program that fails is not loaded again."""
    if program not in _loaded:
        module = sys.modules["solution"] = type(sys)("solution")
        try:
            exec(_compiled(program), module.__dict__)  # noqa: S102
            _loaded[program] = module.__dict__
        except BaseException as error:
            _loaded[program] = error
    found = _loaded[program]
    if isinstance(found, BaseException):
        raise found
    return found


def _function(namespace: dict[str, Any], entry: str) -> Any:
    """The function, or a method of that name of a class `Solution`, as some data sets have it."""
    if entry in namespace:
        return namespace[entry]
    if hasattr(namespace.get("Solution"), entry):
        return getattr(namespace["Solution"](), entry)
    raise NameError(f"the program defines no function {entry!r}")


def _checker(program: str, check: str) -> Any:
    """`check` of a test program, which may use what a trusted program defines; its random draws are always the same."""
    import random

    namespace = dict(_namespace(program))
    exec(_compiled(check), namespace)  # noqa: S102
    random.seed(0)
    return namespace["check"]


def _script(program: str, stdin: str) -> str:
    """Runs the program as a script, with files as descriptors 0 and 1: whichever way it reads and writes."""
    code, kept = _compiled(program), (os.dup(0), os.dup(1))
    _become(0, _file(stdin.encode()))
    _become(1, _file(b""))
    old = sys.stdin, sys.stdout
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = out = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    try:
        try:
            exec(code, {"__name__": "__main__", "__builtins__": __builtins__})  # noqa: S102
        except SystemExit as error:
            if error.code not in (None, 0):
                raise
        _end_script()
        if not out.closed:
            out.flush()
        return os.pread(1, _STDOUT, 0).decode("utf-8", "replace")
    finally:
        sys.stdin, sys.stdout = old
        _become(0, kept[0])
        _become(1, kept[1])


def _become(fd: int, other: int) -> None:
    """`fd` is what `other` was."""
    os.dup2(other, fd)
    os.close(other)


def _file(content: bytes) -> int:
    """The descriptor of a nameless file with that content, at its start."""
    fd = os.open("harness.tmp", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    os.unlink("harness.tmp")
    os.write(fd, content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _end_script() -> None:
    """What the interpreter does at the end of a script: some programs print only then."""
    if "threading" in sys.modules:
        threads = sys.modules["threading"]
        for thread in threads.enumerate():
            if thread is not threads.main_thread() and not thread.daemon:
                thread.join()
    getattr(sys.modules.get("atexit"), "_run_exitfuncs", _nothing)()
    if not getattr(sys.stdout, "closed", True):
        sys.stdout.flush()


def _as_it_comes(_: Any) -> int:
    return 0


def _nothing() -> None:
    pass


def _last_line(error: BaseException) -> str:
    text = "".join(str(error).splitlines()[:1])
    return f"{type(error).__name__}: {text}"[:300] if text else type(error).__name__
