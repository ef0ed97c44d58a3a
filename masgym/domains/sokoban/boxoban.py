r"""Boxoban level files: levels of equally long rows under headings `; N`, a space for floor.

A file whose name ends with .jsonl holds an object a line instead: {"board": rows}, and beside it what
`masgym.tasks.listed` says.

The shipped file was made by

    python -c "from masgym.domains.sokoban.boxoban import *; print(level_text(generated(40)), end='')" \
        > envs_data/sokoban/boxoban_style.txt
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

from masgym.domains.sokoban.board import FLOOR, fault, parse, text_rows
from masgym.domains.sokoban.generator import difficulty, generate
from masgym.domains.sokoban.solver import estimate, fewest_moves, is_small
from masgym.errors import BadFile, UnsolvableTask
from masgym.paths import bytes_of, data_file
from masgym.rng import keyed
from masgym.tasks import Instance, Listed, listed, object_of
from masgym.types import JSON

Rows: TypeAlias = Sequence[str]


def load(file: str) -> Listed:
    """The levels of `file`, a path or the name of a shipped file, as tasks. BadFile when it is no such file."""
    raw = bytes_of(file, "level file", find_file)
    return _read(file, sha256(raw).hexdigest(), raw)


def instances(text: str, file: str) -> list[Instance]:
    """Every level of `text`. content = {"board": rows}; `file` is named in errors.

    On small layouts (solver.py) unsolvable levels are found and optimum is exact. On larger ones only a box without a
    goal it could reach and a frozen square are found here, optimum is None, and `level` goes by a lower bound.
    """
    found = [_level(rows, line, file) for line, rows in blocks(text)]
    if not found:
        raise BadFile(f"{file} holds no level; expected rows of # - . $ * @ + under headings like '; 0'.")
    return found


def listed_instances(text: str, file: str) -> list[Instance]:
    """Every level of `text`, JSON lines. As `instances`."""
    lines = [(line, f"{file}, line {number}") for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    if not lines:
        raise BadFile(f'{file} holds no level; {{"board": [row, ...]}} was expected on each line.')
    return [instance_of(object_of(line, where), where) for line, where in lines]


def instance_of(row: Mapping[str, JSON], where: str) -> Instance:
    """The level of a line of JSON. Raises BadFile, which names `where`, and the row of the board."""
    rows: Any = row.get("board")
    if not isinstance(rows, list) or not rows or not all(isinstance(cells, str) for cells in rows):
        raise BadFile(f"{where}, field 'board': {str(rows)[:80]} instead of a list of rows.")
    if found := fault(rows):
        raise BadFile(f"{where}, field 'board', row {found[0]}: {found[1]}.")
    return _instance(rows, row, where)


def level_text(levels: Iterable[Rows]) -> str:
    """The levels as the text of a Boxoban file."""
    return "\n".join(
        "\n".join([f"; {number}", *(row.replace(FLOOR, " ") for row in rows)]) + "\n"
        for number, rows in enumerate(levels)
    )


def generated(count: int) -> Iterator[Rows]:
    """Levels like Boxoban's: 10 x 10, here with 3 and 4 boxes in turn, 12 or more pushes, at most 120 moves."""
    for number in range(count):
        yield _generated(number)


def _generated(number: int) -> Rows:
    for attempt in range(1000):
        rng = keyed("boxoban_style", number, attempt)
        made = generate(rng, size=10, boxes=3 + number % 2, walls=0.3, min_pushes=12, max_pushes=None, moves=120)
        if made:
            return made.content["board"]
    raise UnsolvableTask(f"level {number} did not come in 1000 draws.")


def find_file(file: str) -> Path:
    """`file` as a path, else the shipped file of that name, else the path as it came."""
    return data_file("sokoban", file)


@lru_cache(maxsize=32)
def _read(file: str, digest: str, raw: bytes) -> Listed:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadFile(f"{file} is no text file: {error}.") from error
    made = listed_instances(text, file) if file.endswith(".jsonl") else instances(text, file)
    return Listed("sokoban", {"file": Path(file).name, "sha256": digest}, made)


def blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    """(number of its first line, rows) of each run of lines that are neither blank nor a heading."""
    rows: list[str] = []
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        if line.strip() and not line.startswith(";"):
            rows.append(line)
        elif rows:
            yield number - len(rows), rows
            rows = []


def _level(rows: Rows, line: int, file: str) -> Instance:
    if found := fault(rows):
        raise BadFile(f"{file}, line {line + found[0]}: {found[1]}.")
    return _instance(rows, {}, f"{file}, line {line}")


def _instance(rows: Rows, row: Mapping[str, JSON], where: str) -> Instance:
    start = parse(rows)
    pushes = estimate(start)
    if pushes is None:
        raise BadFile(f"{where}: the level cannot be solved; its boxes cannot all be pushed to goals.")
    solution = fewest_moves(start) if is_small(start.layout) else None
    made = listed({"board": list(text_rows(start))}, difficulty(pushes), row, where)
    return made if solution is None else replace(made, optimum=len(solution))
