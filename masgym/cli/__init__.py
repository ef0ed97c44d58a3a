"""The command `masgym`: one file for each subcommand, with `add` (its arguments) and what runs it.

Exit status: 0; 1 where what was checked does not hold, or nothing could be played; 2 for bad arguments and files, with
one line that says how to mend it; 130 after Ctrl-C, at any time: so what takes a while to import is imported in `main`.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from masgym.errors import MasgymError
from masgym.interrupts import STOPPED, hear


def main(words: Sequence[str] | None = None) -> int:
    """Runs one command line (default: the process's) and returns the exit status."""
    _open_streams()
    try:
        return _run(sys.argv[1:] if words is None else words)
    except BrokenPipeError:  # who read the output has seen enough; what is still buffered goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt as stopped:
        from masgym.tags import printable

        _tell(f"\nmasgym: stopped. {printable(str(stopped))}".rstrip())
        return STOPPED
    except (MasgymError, OSError) as error:
        from masgym.cli.screen import one_line

        _tell(f"masgym: {one_line(str(error))}")
        return 2


def _tell(message: str) -> None:
    with suppress(OSError):  # where nobody can be told, the status still says it
        print(message, file=sys.stderr)


def _run(words: Sequence[str]) -> int:
    from masgym.cli.commands import parser
    from masgym.cli.screen import tolerant

    hear()
    tolerant(sys.stdout)
    arguments = parser().parse_args(words)
    arguments.words = list(words)
    status: int = arguments.run(arguments)
    sys.stdout.flush()
    return status


def _open_streams() -> None:
    """Who closed one (`>&-`) wants nothing of it. In this order each gets its own number again, which no file of ours
    may have: programs that we start would write into it."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
