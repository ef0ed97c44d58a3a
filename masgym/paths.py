"""Where shipped data lies: in the installed package (`masgym/_data`), else in the checkout (`envs_data`)."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
SHIPPED = (_PACKAGE / "_data", _PACKAGE.parent / "envs_data")


def data_file(domain: str, file: str) -> Path:
    """`file` as a path if it is one, else the file of that name shipped for `domain`, else the path as it came."""
    places = (Path(file), *(folder / domain / file for folder in SHIPPED))
    return next((path for path in places if path.is_file()), Path(file))
