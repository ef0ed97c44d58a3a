"""Where shipped data lies: in the installed package (`masgym/_data`), else in the checkout (`envs_data`)."""

import os
from collections.abc import Callable
from errno import EFBIG, EINVAL
from pathlib import Path

from masgym.errors import BadFile

_PACKAGE = Path(__file__).resolve().parent
SHIPPED = (_PACKAGE / "_data", _PACKAGE.parent / "envs_data")


def data_file(domain: str, file: str) -> Path:
    """`file` as a path if it is one, else the file of that name shipped for `domain`, else the path as it came."""
    places = (Path(file), *(folder / domain / file for folder in SHIPPED))
    return next((path for path in places if path.is_file()), Path(file))


MOST_BYTES = 2**32  # of a file that is read as a whole
MOST_FILES = 10_000  # in a folder that stands for its files


def regular(path: Path, most: float = MOST_BYTES) -> Path:
    """The path, unless it is a device or a pipe, which may have no end, or has more than `most` bytes: an OSError."""
    if path.exists() and not path.is_dir() and not path.is_file():
        raise OSError(EINVAL, "it is no regular file; copy what it gives into one")
    if path.is_file() and (size := path.stat().st_size) > most:
        raise OSError(EFBIG, f"it has {size} bytes; at most {most:g} are read")
    return path


def few_files(folder: Path) -> Path:
    """The folder, unless it and those in it hold more than MOST_FILES files: an OSError."""
    count = 0
    for _, folders, files in os.walk(folder):
        if (count := count + len(files) + len(folders)) > MOST_FILES:
            raise OSError(EFBIG, f"it holds more than {MOST_FILES} files; name the file, or a folder of the set alone")
    return folder


def bytes_of(file: object, what: str, find: Callable[[str], Path] = Path) -> bytes:
    """What the file holds that `find` makes of its name. Raises BadFile, which says `what` cannot be read."""
    if not isinstance(file, str):
        raise BadFile(f"the {what} is {file!r}; a path was expected, as text.")
    try:
        return regular(find(file)).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: no name of a file can hold "\0"
        raise BadFile(f"the {what} {file!r} cannot be read: {error}.") from error
