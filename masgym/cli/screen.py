"""What commands print: JSON for programs, tables for people, and text that others wrote, made harmless."""

import json
import sys
from collections.abc import Generator
from contextlib import contextmanager, nullcontext, redirect_stdout
from io import TextIOWrapper
from typing import Any

from rich.console import Console

from masgym.tags import printable
from masgym.types import JSON

LONGEST = 3000  # characters of a message: it may list a hundred names


def tolerant(stream: Any) -> None:
    """A terminal that cannot show a character shows a "?" for it."""
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="replace")


def print_json(data: JSON) -> None:
    print(json.dumps(data, indent=1, ensure_ascii=True, allow_nan=False))


@contextmanager
def printing_only(result: bool) -> Generator[None]:
    """With `result` what agents print meanwhile goes to standard error: standard output is the result's alone."""
    with redirect_stdout(sys.stderr) if result else nullcontext():
        yield


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Called while the error is handled: Rich would end the process here, as if a check had failed."""
        raise


def console(stderr: bool = False) -> Console:
    """Nothing that is printed is read as markup. Tables are not broken where the output is no terminal."""
    file = sys.stderr if stderr else sys.stdout
    return _Console(file=file, markup=False, highlight=False, emoji=False, width=None if file.isatty() else 160)


def shown(text: str) -> str:
    """Text of a model or a file, line by line: it must not move the cursor."""
    return printable(text, keep="\n")


def one_line(text: str) -> str:
    """Of a message: what is wrong stands at its beginning, what to do at its end."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} ... {line[-LONGEST // 2 :]}"
