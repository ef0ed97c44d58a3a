r"""Boxoban level files: levels of equally long rows under headings `; N`, a space for floor.

The shipped file was made by

    python -c "from masgym.domains.sokoban.boxoban import *; print(level_text(generated(40)), end='')" \
        > envs_data/sokoban/boxoban_style.txt
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TypeAlias

from masgym.domains.sokoban.board import FLOOR, fault, parse, text_rows
from masgym.domains.sokoban.generator import difficulty, generate
from masgym.domains.sokoban.solver import estimate, fewest_moves, is_small
from masgym.errors import BadFile, UnsolvableTask
from masgym.rng import keyed
from masgym.tasks import Instance, Listed

Rows: TypeAlias = Sequence[str]

_PACKAGE = Path(__file__).resolve().parents[2]
_SHIPPED = (_PACKAGE / "_data" / "sokoban", _PACKAGE.parent / "envs_data" / "sokoban")  # installed, checkout


def load(file: str) -> Listed:
    """The levels of `file`, a path or the name of a shipped file, as tasks. BadFile when it is no such file."""
    path = find_file(file)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise BadFile(f"the level file {file!r} cannot be read: {error}.") from error
    return _read(file, sha256(raw).hexdigest(), raw)


def instances(text: str, file: str) -> list[Instance]:
    """Every level of `text`. content = {"board": rows}; `file` is named in errors.

    On small layouts (solver.py) unsolvable levels are found and optimum is exact. On larger ones only a box without a
    goal it could reach and a frozen square are found here, optimum is None, and `level` goes by a lower bound.
    """
    found = [_instance(rows, f"{file}, line {line}", line, file) for line, rows in _blocks(text)]
    if not found:
        raise BadFile(f"{file} holds no level; expected rows of # - . $ * @ + under headings like '; 0'.")
    return found


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
    return next((path for path in (Path(file), *(folder / file for folder in _SHIPPED)) if path.is_file()), Path(file))


@lru_cache(maxsize=32)
def _read(file: str, digest: str, raw: bytes) -> Listed:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadFile(f"{file} is no text file: {error}.") from error
    return Listed("sokoban", {"file": Path(file).name, "sha256": digest}, instances(text, file))


def _blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    """(number of its first line, rows) of each run of lines that are neither blank nor a heading."""
    rows: list[str] = []
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        if line.strip() and not line.startswith(";"):
            rows.append(line)
        elif rows:
            yield number - len(rows), rows
            rows = []


def _instance(rows: list[str], where: str, line: int, file: str) -> Instance:
    if found := fault(rows):
        raise BadFile(f"{file}, line {line + found[0]}: {found[1]}.")
    start = parse(rows)
    pushes = estimate(start)
    if pushes is None:
        raise BadFile(f"{where}: the level cannot be solved; its boxes cannot all be pushed to goals.")
    solution = fewest_moves(start) if is_small(start.layout) else None
    content = {"board": list(text_rows(start))}
    return Instance(content=content, level=difficulty(pushes), optimum=None if solution is None else len(solution))
