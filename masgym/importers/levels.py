"""Boxoban's level files: rows of 10 characters under headings `; N`. A folder stands for all its .txt files."""

from collections.abc import Iterator
from pathlib import Path

from masgym.domains.sokoban.board import fault
from masgym.domains.sokoban.boxoban import blocks
from masgym.errors import BadFile, BadValue
from masgym.importers.rows import Row
from masgym.importers.sources import Hub
from masgym.paths import few_files, regular
from masgym.types import JSON

_WIDTH = 10


def rows(source: str, hub: Hub) -> Iterator[Row]:
    """A row for each level. Raises BadFile, which names file and line."""
    path = Path(source)
    if hub != Hub():
        raise BadValue("Boxoban's levels are files; a configuration or split of a hub cannot be chosen in them.")
    files = _levels(path) if path.is_dir() else [path]
    if not files:
        raise BadFile(f"{source} holds no .txt file of levels.")
    for file in files:
        yield from _rows(file)


def read(row: Row) -> dict[str, JSON]:
    return {"board": list(row.fields["board"])}


def _levels(folder: Path) -> list[Path]:
    try:
        return sorted(few_files(folder).rglob("*.txt"))
    except OSError as error:
        raise BadFile(f"the folder {str(folder)!r} cannot be read: {error.strerror}.") from error


def _rows(file: Path) -> Iterator[Row]:
    try:
        text = regular(file).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile(f"the level file {str(file)!r} cannot be read: {error}.") from error
    for line, board in blocks(text):
        for number, cells in enumerate(board, start=line):
            if len(cells) != _WIDTH:
                raise BadFile(f"{file}, line {number}: {len(cells)} characters instead of {_WIDTH}.")
        if found := fault(board):
            raise BadFile(f"{file}, line {line + found[0]}: {found[1]}.")
        yield Row(where=f"{file}, line {line}", fields={"board": board})
