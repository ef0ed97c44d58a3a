"""What runs inside the sandbox (started by `launch.py`, which compiles it): sets the limits, then runs the program.

It comes before the untrusted program in the same process, so the parent trusts nothing that follows STARTED on the
report channel: only plain values come back, and they are judged in the parent. The request is marshal, which needs no
import and comes from the parent; what goes back is JSON, one line a call.
"""

from __future__ import annotations

import marshal
import os
import resource
import sys

TYPE_CHECKING = False  # typing's own takes half an interpreter's start to import
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

STARTED = b"started\n"
ESCAPES = {**{code: f"\\u{code:04x}" for code in range(32)}, 34: '\\"', 92: "\\\\"}


def serve(request: dict[str, Any], report: int) -> None:
    """Runs the program, or with a `function` in the request its calls. report: a descriptor."""
    os.closerange(3, report)
    os.closerange(report + 1, 1024)
    for name, bound in request["limits"].items():
        resource.setrlimit(getattr(resource, name), (bound[0], bound[1]))
    sys.path += request["path"]
    sys.argv = ["program.py"]
    os.write(report, STARTED)
    if not request["function"]:
        run(request["program"], "__main__")
    else:
        answer(request["program"], request["function"], request["calls"], report)


def run(program: str, name: str) -> dict[str, Any]:
    """The namespace that the program leaves. An exception is left to the interpreter, which prints it and exits."""
    module = type(sys)(name)
    sys.modules[name] = module
    exec(compile(program, "program.py", "exec", dont_inherit=True), module.__dict__)  # noqa: S102
    return module.__dict__


def answer(program: str, function: str, calls: list[bytes], report: int) -> None:
    """One line a call: ["ok", value] or ["exception", last line]. The program's main guard does not fire."""

    def called(arguments: bytes) -> str:
        try:
            return f'["ok", {json(find(namespace, function)(*marshal.loads(arguments)))}]'
        except BaseException as error:
            return failed(error)

    try:
        namespace = run(program, "program")
    except BaseException as error:
        send(report, [failed(error)] * len(calls))
    else:
        send(report, map(called, calls))  # arguments are decoded anew: no call sees what another did to its own
    os._exit(0)  # whatever threads or exit handlers the program has left


def send(report: int, lines: Iterable[str]) -> None:
    for line in lines:
        text = memoryview(f"{line}\n".encode("utf-8", "surrogatepass"))
        while text:
            text = text[os.write(report, text) :]


def find(namespace: dict[str, Any], function: str) -> Any:
    """The function, or a method of that name of a class `Solution`, as some data sets have it."""
    if function in namespace:
        return namespace[function]
    if hasattr(namespace.get("Solution"), function):
        return getattr(namespace["Solution"](), function)
    raise NameError(f"the program defines no function {function!r}")


def json(found: Any) -> str:
    """The value as JSON: tuples as lists, other types refused, keys that are no text too. (`json` would be imported in
    the time of half an interpreter's start, and would make the key 1 into "1".)"""
    if found is None or found is True or found is False:
        return {None: "null", True: "true", False: "false"}[found]
    if isinstance(found, str):
        return f'"{found.translate(ESCAPES)}"'
    if isinstance(found, int):
        return int.__repr__(found)
    if isinstance(found, float):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(float.__repr__(found), float.__repr__(found))
    if isinstance(found, list | tuple):
        return f"[{', '.join(map(json, found))}]"
    if isinstance(found, dict) and all(isinstance(key, str) for key in found):
        return f"{{{', '.join(f'{json(key)}: {json(item)}' for key, item in found.items())}}}"
    raise TypeError(f"{type(found).__name__} is no JSON value" + " with such keys" * isinstance(found, dict))


def failed(error: BaseException) -> str:
    """The exception as the interpreter's last line shows it; the first line of its text is enough."""
    text = "".join(str(error).splitlines()[:1])
    return f'["exception", {json(f"{type(error).__name__}: {text}" if text else type(error).__name__)}]'
