"""Files of a folder that one process writes and that may be killed at any moment."""

import fcntl
import json
import os
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from math import inf
from mmap import ACCESS_READ, mmap
from pathlib import Path
from secrets import token_hex
from stat import S_IMODE
from typing import TextIO

from masgym.errors import BadFile, BadValue
from masgym.paths import regular
from masgym.tasks import object_of
from masgym.types import JSON

LOCK = ".lock"
_END = ".part"  # of the name of an unfinished file: .NAME.16-HEX-DIGITS.part
_LONGEST = 255 - len("..") - 16 - len(_END)  # bytes of NAME in it


@contextmanager
def locked(folder: Path) -> Generator[None]:
    """The folder, made if need be, is this process's own until the end of the block, or of the process.

    Raises BadValue where it cannot be written or another process has it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = regular(folder / LOCK).open("a")
    except OSError as error:
        why = _dangling(folder) or error.strerror
        raise BadValue(f"the folder {folder} cannot be written ({why}); choose another one.") from error
    with file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # unlike flock's, not handed down to forked children
        except OSError as error:
            if not isinstance(error, BlockingIOError | PermissionError):
                raise BadValue(
                    f"{folder / LOCK} cannot be locked ({error.strerror}); choose another folder."
                ) from error
            raise BadValue(
                f"the folder {folder} is in use by another process; wait for its end, or choose another one."
            ) from error
        yield


def _dangling(path: Path) -> str:
    """The link on the way that leads to nothing, which the system calls an existing file; "" where there is none."""
    links = [link for link in (path, *path.parents) if os.path.islink(link) and not os.path.exists(link)]
    return f"the link {links[-1]} leads to {os.readlink(links[-1])}, where nothing is" if links else ""


def write_whole(path: Path, text: str) -> None:
    """As `whole_file`, of all its text."""
    with whole_file(path) as file:
        file.write(text)


@contextmanager
def whole_file(path: Path) -> Generator[TextIO]:
    """A text file that takes the name `path`, and the place of a file there, when the block has ended well; its
    `buffer` takes bytes.

    Several processes may write one; the last to end has it. What those that were killed left is removed by the next.
    Raises BadFile where it cannot be written.
    """
    try:
        place = Path(os.path.realpath(path))  # what a link leads to is replaced, not the link
        if place.exists() and not place.is_file():
            raise BadFile(f"{path} cannot be written: it is there, and no regular file; name another file.")
        _remove_abandoned(place)
        with _unfinished(place) as file:
            try:
                yield file
                file.flush()
                os.replace(file.name, place)
            finally:
                with suppress(OSError):
                    os.unlink(file.name)
    except OSError as error:
        raise BadFile(
            f"{path} cannot be written: {error.strerror or error}; make room, mend the permissions, or choose another "
            "place."
        ) from error


def _unfinished(place: Path) -> TextIO:
    """A new file with the mode of the one there, locked as long as it is open: others see that somebody writes it."""
    while True:
        path = place.with_name(_start(place) + token_hex(8) + _END)
        # a name in the text may hold half a character
        file = path.open("x", encoding="utf-8", errors="backslashreplace", newline="\n")
        with suppress(OSError):  # where nothing can be locked, nobody takes it for abandoned either
            fcntl.flock(file, fcntl.LOCK_EX)  # unlike lockf's, also between threads
        if path.exists():
            with suppress(OSError):  # there is none yet, or modes are not kept there
                os.fchmod(file.fileno(), S_IMODE(place.stat().st_mode))
            return file
        file.close()  # it was taken for abandoned before it was locked


def _remove_abandoned(place: Path) -> None:
    """Unfinished files of `place` that nobody has locked any more."""
    for name in os.listdir(place.parent):
        if re.fullmatch(re.escape(_start(place)) + "[0-9a-f]{16}" + re.escape(_END), name):
            with suppress(OSError), (place.parent / name).open("r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                (place.parent / name).unlink()


def _start(place: Path) -> str:
    """How the names of its unfinished files begin: with its own, as much of it as leaves them room."""
    return f".{os.fsdecode(os.fsencode(place.name)[:_LONGEST])}."


def append_line(path: Path, row: Mapping[str, JSON]) -> None:
    """One JSON object as a line at the end of the file. A process killed meanwhile leaves a line without its end.

    Raises BadFile where it cannot be written.
    """
    data = json.dumps(row, allow_nan=False).encode() + b"\n"
    try:
        with path.open("ab") as file:
            file.write(data)
    except OSError as error:
        raise BadFile(f"{path} cannot be written: {error.strerror}.") from error


def drop_torn_line(path: Path) -> None:
    """Cuts the file, if there is one, behind its last whole line. Raises BadFile where it cannot be written."""
    try:
        if not path.exists():
            return
        with path.open("r+b") as file:
            if size := os.fstat(file.fileno()).st_size:
                with mmap(file.fileno(), size, access=ACCESS_READ) as data:
                    whole = data.rfind(b"\n") + 1
                file.truncate(whole)
    except OSError as error:
        raise BadFile(f"{path} cannot be written: {error.strerror}; mend its permissions.") from error


def keep_lines(path: Path, kept: Sequence[bool]) -> None:
    """The file has its old lines, or those of them alone that are `kept`, never a part; one truth for each line.

    Raises BadFile where it cannot be written.
    """
    with whole_file(path) as new, path.open("rb") as old:
        new.buffer.writelines(line for line, keep in zip(old, kept, strict=True) if keep)


def read_lines(path: Path) -> Iterator[tuple[str, dict[str, JSON]]]:
    """(where, object) for each whole line of a JSONL file; one that is torn at the end is passed over, and no file has
    none. Raises BadFile."""
    if not path.exists():
        return
    try:
        file = regular(path, inf).open("rb")
    except OSError as error:
        raise BadFile(f"{path} cannot be read: {error.strerror}.") from error
    with file:
        for number, line in enumerate(file, 1):
            where = f"{path}, line {number}"
            if line.endswith(b"\n"):
                yield where, object_of(line.decode("utf-8", "replace"), where)
