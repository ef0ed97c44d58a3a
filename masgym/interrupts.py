"""Ctrl-C while the command `masgym` imports its modules: it ends at once. Nothing has begun that could be kept, and a
KeyboardInterrupt would be raised in whatever is imported just then, where nothing can catch it. So this file itself
imports nothing that takes a while."""

import os
import signal
import sys

STOPPED = 130  # the exit status after Ctrl-C


def _stop(*given: object) -> None:
    with open(2, "wb", buffering=0, closefd=False) as stderr:
        stderr.write(b"\nmasgym: stopped.\n")
    os._exit(STOPPED)


def end_quietly() -> None:
    """For the command alone, from the first line of the package until `hear`; a program that imports masgym keeps what
    it does on Ctrl-C, and a shell that has it ignored keeps that too."""
    if _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)


def hear() -> None:
    """From here on Ctrl-C is a KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _stop:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_command() -> bool:
    """While a package is looked up for `python -m`, that stands in the place of the program's name."""
    if sys.argv[:1] == ["-m"]:
        return sys.orig_argv[-len(sys.argv)].removeprefix("-m") == "masgym"
    return bool(sys.argv) and sys.argv[0].rpartition("/")[2] == "masgym"


end_quietly()
