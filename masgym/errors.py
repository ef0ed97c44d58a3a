"""What a program does wrong is an exception (what a model replies is data); each is also a standard error."""

import difflib
from collections.abc import Iterable

_LISTED = 100  # names that a message lists


class MasgymError(Exception):
    """The root: `except MasgymError` catches all that masgym raises on purpose."""

    def __str__(self) -> str:  # KeyError would print its repr
        return str(self.args[0]) if self.args else ""


class UnknownName(MasgymError, KeyError):
    """A domain, workflow, agent, role, option or tool that does not exist."""

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        names = sorted(known)
        near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
        super().__init__(f"unknown {kind} {name!r}.{hint} Known: {', '.join(names[:_LISTED]) or 'none'}{more}.")


class BadValue(MasgymError, ValueError):
    """An argument out of its range, or arguments that contradict each other."""


class BadFile(MasgymError, ValueError):
    """A data file that cannot be read as what it should be; the message names file, line and field."""


class BadSnapshot(MasgymError, ValueError):
    """A snapshot of another game, of another format version, or with impossible content."""


class UnsolvableTask(MasgymError, ValueError):
    """A generator found no instance for what was asked."""


class Stopped(MasgymError):
    """The person who plays has stopped: Ctrl-C, or the end of the input."""


class NoSandbox(MasgymError, RuntimeError):
    """A program was to be run, and it cannot be isolated here; the message says what to install."""
