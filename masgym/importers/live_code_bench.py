"""LiveCodeBench (arXiv 2403.07974): question_content, starter_code, difficulty, public_test_cases, private_test_cases,
metadata, contest_date.

A test is {"input", "output", "testtype": "stdin" | "functional"}; functional ones have an argument a line, as JSON. The
set has no solutions: testers are judged by `valid` alone. The date of the contest is kept beside the task, so that a
window of dates can be cut out of the file.
"""

from datetime import datetime

from masgym.domains.code.harness import encode
from masgym.errors import BadValue
from masgym.importers.cases import parameters, parted
from masgym.importers.rows import Row
from masgym.importers.text_pickle import unpack
from masgym.types import JSON

_SECONDS = 6.0  # of CPU time a case, as the set's own runner gives
_PRELUDE = """\
from typing import *
from collections import *
from functools import *
from heapq import *
from itertools import *
import bisect, collections, functools, heapq, itertools, math, re, string, sys
from bisect import *
from math import *
del pow
"""  # what the set's platform has at hand for functions; `pow` is the builtin one there


def read(row: Row) -> dict[str, JSON]:
    public, private = _tests(row, "public_test_cases"), _tests(row, "private_test_cases")
    kinds = {test.text("testtype") for test in (*public, *private)}
    if len(kinds) > 1:
        raise row.bad("public_test_cases", f"tests of one kind, not of {' and '.join(sorted(kinds))}")
    starter = row.string("starter_code")
    own = _function(row, starter) if kinds == {"functional"} else {"form": "stdin"}
    case = _call if kinds == {"functional"} else _script
    return {
        "statement": "\n\n".join(text for text in (row.text("question_content"), starter.rstrip()) if text),
        **own,
        **parted([case(test) for test in public], [case(test) for test in private]),
        "reference": "",
        "mutants": [],
        "time_limit": _SECONDS,
        "source": "livecodebench",
        "level": row.text("difficulty"),
        "contest_date": _date(row),
    }


def _function(row: Row, starter: str) -> dict[str, JSON]:
    metadata = row.parsed("metadata")
    name = (
        Row(where=row.where, fields=metadata, path="metadata.").text("func_name") if isinstance(metadata, dict) else ""
    )
    if not name:
        raise row.bad("metadata", 'JSON text of {"func_name": name}, which tests of functions need')
    return {
        "form": "function",
        "entry_point": name,
        "parameters": parameters(starter, name),
        "prelude": _PRELUDE,
    }


def _tests(row: Row, name: str) -> list[Row]:
    text = row.text(name)
    found = row.json(name, text if text.lstrip().startswith("[") else _unpacked(row, name, text))
    if not isinstance(found, list) or not all(isinstance(test, dict) for test in found):
        raise row.bad(name, "a list of objects, as JSON text")
    return [Row(where=row.where, fields=test, path=f"{name}.") for test in found]


def _unpacked(row: Row, name: str, text: str) -> str:
    try:
        return unpack(text)
    except BadValue as error:
        raise row.bad(name, f"JSON text, or base64 of zlib of a pickled text ({error})") from error


def _script(test: Row) -> dict[str, JSON]:
    return {"stdin": test.string("input"), "stdout": test.string("output")}


def _call(test: Row) -> dict[str, JSON]:
    lines = test.string("input").split("\n")
    given = [test.json("input", line) for line in lines if line.strip()]
    return {"args": encode(given), "expected": encode(test.json("output", test.text("output")))}


def _date(row: Row) -> str:
    """The day, YYYY-MM-DD."""
    found = row.fields.get("contest_date")
    try:
        moment = found if isinstance(found, datetime) else datetime.fromisoformat(row.text("contest_date"))
    except ValueError as error:
        raise row.bad("contest_date", "a date") from error
    return moment.date().isoformat()
