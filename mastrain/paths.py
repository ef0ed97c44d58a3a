"""Where configs lie: in the installed package, else in the checkout."""

from pathlib import Path

from masgym.errors import BadFile

HERE = Path(__file__).resolve().parent


def configs_dir() -> Path:
    """Raises BadFile when neither place has them."""
    for place in (HERE / "_configs", HERE.parent / "configs"):
        if (place / "config.yaml").is_file():
            return place
    raise BadFile(f"no configs beside {HERE}; install the masgym wheel or run from a checkout.")
