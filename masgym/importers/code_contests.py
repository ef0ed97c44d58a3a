"""CodeContests (AlphaCode, arXiv 2203.07814): description, public_tests, private_tests, generated_tests, solutions.

Each kind of test is {"input": [...], "output": [...]}, solutions are {"language": [...], "solution": [...]}, and so is
the optional `incorrect_solutions`, whose Python 3 programs become mutants. Where several outputs are right the set has
no checker, so a task may be harder than it reads.
"""

from masgym.importers.cases import SECONDS, parted, with_programs
from masgym.importers.rows import Row, Unfit
from masgym.types import JSON

_PYTHON = (3, "PYTHON3")  # as a number, and by its name
_LEVELS = ("unknown", "easy", "medium", "hard", "harder", "hardest", "external", *"ABCDEFGHIJKLMNOPQRSTUV")


def read(row: Row) -> dict[str, JSON]:
    if row.string("input_file") or row.string("output_file"):
        raise Unfit("its programs read or write files")
    hidden = [*_cases(row, "private_tests"), *_cases(row, "generated_tests")]
    task: dict[str, JSON] = {
        "statement": row.text("description"),
        "form": "stdin",
        **parted(_cases(row, "public_tests"), hidden),
        "time_limit": _seconds(row),
        "source": "codecontests",
        "level": _level(row),
    }
    wrong = _programs(row, "incorrect_solutions") if row.fields.get("incorrect_solutions") else []
    return with_programs(row, task, _programs(row, "solutions"), wrong)


def _cases(row: Row, name: str) -> list[dict[str, JSON]]:
    tests = row.inside(name)
    given, expected = tests.strings("input"), tests.strings("output")
    if len(given) != len(expected):
        raise tests.bad("output", f"{len(given)} texts, as there are inputs")
    return [{"stdin": stdin, "stdout": stdout} for stdin, stdout in zip(given, expected, strict=True)]


def _programs(row: Row, name: str) -> list[str]:
    programs = row.inside(name)
    languages, texts = programs.items("language"), programs.strings("solution")
    if len(languages) != len(texts):
        raise programs.bad("language", f"{len(texts)} languages, as there are solutions")
    return [text for language, text in zip(languages, texts, strict=True) if language in _PYTHON]


def _seconds(row: Row) -> float:
    """The set's limit was made for faster languages: at least `SECONDS`."""
    limit = row.fields.get("time_limit")
    seconds = row.inside("time_limit").fields.get("seconds") if limit is not None else None
    return min(60.0, max(SECONDS, float(seconds))) if isinstance(seconds, int | float) else SECONDS


def _level(row: Row) -> str:
    found = row.fields.get("difficulty")
    if found is None:
        return "unknown"
    if isinstance(found, str) and found:
        return found
    if not isinstance(found, int) or not 0 <= found < len(_LEVELS):
        raise row.bad("difficulty", f"a text, or a number from 0 to {len(_LEVELS) - 1}")
    return _LEVELS[found]
