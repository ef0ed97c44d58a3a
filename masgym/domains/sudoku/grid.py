"""The rules of Sudoku on a string of cells, row by row; EMPTY where nothing is written.

Legend: `cell` is an index into that string, `digit` one of its characters "1".."9".
"""

from collections.abc import Iterable, Mapping, Sequence
from math import isqrt
from typing import TypeAlias

from masgym.errors import BadValue
from masgym.types import value

EMPTY = "."

Placement: TypeAlias = tuple[int, str]  # cell, digit


@value
class Shape:
    """What all grids of one size share."""

    size: int  # rows, columns and digits
    digits: str
    units: tuple[tuple[int, ...], ...]  # the cells of each row, column and box
    peers: tuple[tuple[int, ...], ...]  # of each cell: the others in its units


@value
class Puzzle:
    """What never changes in a task."""

    shape: Shape
    givens: str
    solution: str  # the only one

    @property
    def blanks(self) -> int:
        return self.givens.count(EMPTY)


@value
class World:
    """A puzzle as far as it is filled."""

    puzzle: Puzzle
    cells: str

    @property
    def solved(self) -> bool:
        return self.cells == self.puzzle.solution

    @property
    def wanting(self) -> tuple[int, ...]:
        """The cells that are empty or wrong."""
        pairs = zip(self.cells, self.puzzle.solution, strict=True)
        return tuple(cell for cell, (found, right) in enumerate(pairs) if found != right)


def _shape(box: int) -> Shape:
    size = box * box
    rows = [tuple(range(row * size, (row + 1) * size)) for row in range(size)]
    columns = [tuple(range(column, size * size, size)) for column in range(size)]
    starts = [row * size + column for row in range(0, size, box) for column in range(0, size, box)]
    boxes = [tuple(start + size * row + column for row in range(box) for column in range(box)) for start in starts]
    units = (*rows, *columns, *boxes)
    peers = [sorted({c for unit in units if cell in unit for c in unit} - {cell}) for cell in range(size * size)]
    return Shape(size=size, digits="123456789"[:size], units=units, peers=tuple(map(tuple, peers)))


SHAPES: Mapping[int, Shape] = {4: _shape(2), 9: _shape(3)}  # by size


def shape_of(cells: Sequence[str]) -> Shape:
    return SHAPES[isqrt(len(cells))]


def rows_of(cells: str) -> list[str]:
    size = shape_of(cells).size
    return [cells[at : at + size] for at in range(0, size * size, size)]


def parse_rows(rows: object) -> str:
    """The cells of a list of rows such as "1.3.". Raises BadValue for what is no grid or breaks a rule already."""
    if not isinstance(rows, list) or not all(isinstance(row, str) for row in rows):
        raise BadValue(f"a grid is a list of rows of text; {rows!r} was given.")
    if len(rows) not in SHAPES or any(len(row) != len(rows) for row in rows):
        lengths = [len(row) for row in rows]
        raise BadValue(f"the rows have {lengths} cells; a grid is one of {' or '.join(f'{n}x{n}' for n in SHAPES)}.")
    cells = "".join(rows)
    shape = shape_of(cells)
    if strange := sorted(set(cells) - set(shape.digits) - {EMPTY}):
        raise BadValue(f"unknown symbol {strange[0]!r}; known are the digits {shape.digits} and {EMPTY!r} for empty.")
    for cell, digit in enumerate(cells):
        if digit != EMPTY and any(cells[peer] == digit for peer in shape.peers[cell]):
            raise BadValue(f"the digit {digit} of {name(cell, shape)} stands twice in a row, a column or a box.")
    return cells


def name(cell: int, shape: Shape) -> str:
    """`r1c2`: row 1, column 2, counted from the top left."""
    row, column = divmod(cell, shape.size)
    return f"r{row + 1}c{column + 1}"


def spell_out(placements: Iterable[Placement], shape: Shape) -> str:
    """`r1c2=3 r2c4=1`"""
    return " ".join(f"{name(cell, shape)}={digit}" for cell, digit in placements)


def changes(world: World, listed: Sequence[Placement]) -> tuple[list[Placement], list[str]]:
    """(what of `listed` is not written already, the fixed cells: the givens and what `listed` repeats)."""
    fixed, new = list(world.puzzle.givens), list[Placement]()
    for cell, digit in listed:
        if world.cells[cell] == digit:
            fixed[cell] = digit
        else:
            new.append((cell, digit))
    return new, fixed


def play(world: World, listed: Sequence[Placement]) -> tuple[World, list[Placement], Placement | None]:
    """Writes `listed` in order, until one is illegal or the puzzle is solved: (world, what was written, the illegal).

    A digit may go where no given and no other digit of `listed` stands, and must not be in the same row, column or
    box as one of these. What the player wrote earlier gives way to it: in the cell, and where the digits clash. So
    a right digit is legal in every world, and no mistake is beyond mending.
    """
    new, fixed = changes(world, listed)
    cells, peers = list(world.cells), world.puzzle.shape.peers
    for made, (cell, digit) in enumerate(new):
        if fixed[cell] != EMPTY or any(fixed[peer] == digit for peer in peers[cell]):
            return World(puzzle=world.puzzle, cells="".join(cells)), new[:made], (cell, digit)
        for peer in peers[cell]:
            if cells[peer] == digit:
                cells[peer] = EMPTY
        cells[cell] = fixed[cell] = digit
        after = World(puzzle=world.puzzle, cells="".join(cells))
        if after.solved:
            return after, new[: made + 1], None
    return World(puzzle=world.puzzle, cells="".join(cells)), new, None
