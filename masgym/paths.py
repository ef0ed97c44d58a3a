"""Where shipped data lies: in the installed package (`masgym/_data`), else in the checkout (`envs_data`)."""

from collections.abc import Callable
from pathlib import Path

from masgym.errors import BadFile

_PACKAGE = Path(__file__).resolve().parent
SHIPPED = (_PACKAGE / "_data", _PACKAGE.parent / "envs_data")


def data_file(domain: str, file: str) -> Path:
    """`file` as a path if it is one, else the file of that name shipped for `domain`, else the path as it came."""
    places = (Path(file), *(folder / domain / file for folder in SHIPPED))
    return next((path for path in places if path.is_file()), Path(file))


def bytes_of(file: object, what: str, find: Callable[[str], Path] = Path) -> bytes:
    """What the file holds that `find` makes of its name. Raises BadFile, which says `what` cannot be read."""
    if not isinstance(file, str):
        raise BadFile(f"the {what} is {file!r}; a path was expected, as text.")
    try:
        return find(file).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: no name of a file can hold "\0"
        raise BadFile(f"the {what} {file!r} cannot be read: {error}.") from error
