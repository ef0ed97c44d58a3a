r"""Problems from a file of JSON lines, one object a line:

    {"question": "What is 2^10?", "answer": "1024", "level": "easy", "source": "handmade"}

question  text, not empty
answer    text in LaTeX without a box, or an integer
tolerance number, optional: how far from `answer`, a number in digits, a right one may be; exact without it
level     text, optional: "listed" without it
source    text, optional: where the problem comes from
split, content_hash   optional: see `masgym.tasks.listed`
Other fields are left alone. Blank lines are skipped; equal lines are one task.
"""

from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from math import inf
from pathlib import Path

from masgym.domains.math.answers import box, near, read
from masgym.errors import BadFile
from masgym.paths import bytes_of
from masgym.tasks import Instance, Listed, listed, object_of
from masgym.types import JSON


def load(file: str) -> Listed:
    """The problems of `file`, a path. Raises BadFile, which names line and field."""
    raw = bytes_of(file, "task file")
    return _read(file, sha256(raw).hexdigest(), raw)


@lru_cache(maxsize=8)
def _read(file: str, digest: str, raw: bytes) -> Listed:
    try:
        lines = raw.decode("utf-8-sig").split("\n")  # JSON may hold the other characters that end lines
    except UnicodeDecodeError as error:
        raise BadFile(f"{file} is no UTF-8 text: {error}.") from error
    rows = {line: f"{file}, line {number}" for number, line in reversed([*enumerate(lines, start=1)]) if line.strip()}
    if not rows:
        raise BadFile(f"{file} holds no task; a JSON object a line was expected.")
    made = [instance_of(object_of(line, where), where) for line, where in reversed(rows.items())]
    return Listed("math", {"file": Path(file).name, "sha256": digest}, made)


def instance_of(row: Mapping[str, JSON], where: str) -> Instance:
    """The problem of a line. Raises BadFile, which names `where` and the field."""
    content: dict[str, JSON] = {"question": _text(row, "question", where), "answer": _answer(row, where)}
    if "tolerance" in row:
        content["tolerance"] = _tolerance(row["tolerance"], content["answer"], where)
    if "source" in row:
        content["source"] = _text(row, "source", where)
    return listed(content, _text({"level": "listed", **row}, "level", where), row, where)


def is_tolerance(given: JSON, answer: str) -> bool:
    """Whether `answer` can be judged with it; any can with 0."""
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given < inf:
        return False
    return given == 0 or near(answer, answer, given)


def _tolerance(given: JSON, answer: str, where: str) -> float:
    if not is_tolerance(given, answer):
        raise BadFile(f"{where}, field 'tolerance': {given!r} instead of a number, of an answer that is one in digits.")
    return float(given)


def _answer(row: Mapping[str, JSON], where: str) -> str:
    given = row.get("answer")
    text = str(given) if isinstance(given, int) and not isinstance(given, bool) else _text(row, "answer", where)
    answer = " ".join(text.split())
    if read(box(answer)) != answer:
        raise BadFile(f"{where}, field 'answer': {answer[:80]!r} cannot be the content of one \\boxed{{}}.")
    return answer


def _text(row: Mapping[str, JSON], field: str, where: str) -> str:
    found = row.get(field)
    if not isinstance(found, str) or not found.strip():
        raise BadFile(f"{where}, field {field!r}: {found!r} instead of a text that is not empty.")
    return found.strip()
