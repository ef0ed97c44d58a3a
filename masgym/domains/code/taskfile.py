"""Tasks from a file of JSON lines; `problem.py` says what a line holds, `masgym.tasks.listed` what it may hold beside.

Blank lines are skipped; equal ones are one.
"""

import ast
import json
import warnings
from collections.abc import Mapping
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path

from masgym.domains.code.problem import Problem, problem_of
from masgym.errors import BadFile, BadValue, UnknownName
from masgym.paths import bytes_of, data_file
from masgym.tasks import Instance, Listed, listed, object_of
from masgym.types import JSON

SHIPPED = "tasks.jsonl"  # in envs_data/code
FIELDS = (  # what of a line belongs to a task; `level` is kept beside it
    *("statement", "brief", "form", "entry_point", "parameters", "prelude", "examples", "gold", "check", "tests"),
    *("reference", "mutants", "time_limit", "source"),
)


def load(file: str, level: str | None = None) -> Listed:
    """The tasks of `file`, a path or the name of a shipped file; of one level if it is given.

    Raises BadFile, which names file, line and field, and UnknownName for a level that the file does not hold.
    """
    raw = bytes_of(file, "task file", partial(data_file, "code"))
    return _listed(file, sha256(raw).hexdigest(), raw, level)


def instances(text: str, file: str) -> list[Instance]:
    """Every task of `text`; `file` is named in errors."""
    lines = reversed([*enumerate(text.split("\n"), start=1)])
    found = {line: f"{file}, line {number}" for number, line in lines if line.strip()}
    if not found:
        raise BadFile(f"{file} holds no task; a JSON object a line was expected.")
    return [instance_of(object_of(line, where), where) for line, where in reversed(found.items())]


def line_of(made: Instance) -> str:
    """The line that reads back as this task."""
    content = {name: made.content[name] for name in FIELDS if name in made.content}
    return json.dumps({"level": made.level, **content}) + "\n"


@lru_cache(maxsize=8)
def _listed(file: str, digest: str, raw: bytes, level: str | None) -> Listed:
    params: dict[str, JSON] = {"file": Path(file).name, "sha256": digest}
    if level is None:
        return Listed("code", params, _read(file, raw))
    kept = [made for made in _read(file, raw) if made.level == level]
    if not kept:
        raise UnknownName(f"difficulty in {file}", level, {made.level for made in _read(file, raw)})
    return Listed("code", {**params, "difficulty": level}, kept)


@lru_cache(maxsize=8)
def _read(file: str, raw: bytes) -> tuple[Instance, ...]:
    try:
        return tuple(instances(raw.decode("utf-8-sig"), file))
    except UnicodeDecodeError as error:
        raise BadFile(f"{file} is no UTF-8 text: {error}.") from error


def instance_of(row: Mapping[str, JSON], where: str) -> Instance:
    """The task of a line. Raises BadFile, which names `where` and the field."""
    content = {name: row[name] for name in FIELDS if name in row}
    level = row.get("level")
    if not isinstance(level, str) or not level:
        raise BadFile(f"{where}, field 'level': {level!r} instead of a text that is not empty.")
    try:
        _check_programs(problem_of(content))
    except BadValue as error:
        raise BadFile(f"{where}, {error}") from error
    return listed(content, level, row, where)


def _check_programs(problem: Problem) -> None:
    """Raises BadValue where prelude or reference is no Python, or the reference binds no entry point. They are not run:
    what else a program does wrong shows when it is."""
    _bound("prelude", problem.prelude)
    bound = _bound("reference", problem.reference)
    if problem.reference and problem.form == "function" and not {problem.entry_point, "Solution"} & bound:
        raise BadValue(f"field 'reference': it defines no {problem.entry_point!r}, nor a class `Solution`.")


def _bound(field: str, program: str) -> set[str]:
    """The names that a program binds anywhere."""
    try:
        with warnings.catch_warnings(action="ignore"):
            nodes = list(ast.walk(ast.parse(program)))
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise BadValue(f"field {field!r}: it is no Python program: {error}.") from error
    named = {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    imported = {n.asname or n.name for n in nodes if isinstance(n, ast.alias)}
    return named | imported | {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
