"""Modules of others, which are imported because somebody named them: whatever they do is told in one line."""

import importlib
import sys
import traceback
from pathlib import Path
from typing import Any

from masgym.errors import BadValue


def import_theirs(module: str) -> Any:
    """The module, which may lie in the working directory. Raises BadValue."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        return importlib.import_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module is a program
        raise BadValue(
            f"the module {module!r} cannot be imported: {told(error)}. Looked for in {here} and sys.path."
        ) from error
    finally:
        sys.path.remove(here)


def told(error: BaseException | None) -> str:
    """What and where, in one line."""
    frames = traceback.extract_tb(error.__traceback__) if error else []
    theirs = [f for f in frames if not f.filename.startswith("<frozen") and f.filename != importlib.__file__]
    place = f" ({Path(theirs[-1].filename).name}, line {theirs[-1].lineno})" if theirs else ""
    try:
        said = f": {text}" if (text := str.__str__(str(error))) else ""
    except BaseException as worse:  # its own method
        said = f", which cannot be told: its text raises {type(worse).__name__}"
    return " ".join(f"{type(error).__name__}{said}{place}".split())
