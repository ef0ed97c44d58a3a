"""Puzzles with one solution: a full grid is drawn, then cells are emptied while the solution stays the only one."""

from collections.abc import Mapping

import numpy as np

from masgym.domains.sudoku.grid import EMPTY, rows_of, shape_of
from masgym.domains.sudoku.solver import TECHNIQUES, hardest_technique, solutions
from masgym.tasks import Instance
from masgym.types import JSON

# Presets: fields of Sudoku. The published setting is 4x4. Naked singles solve every 4x4 puzzle with one solution
# (checked on all that can lose no given), so only the number of givens makes one harder.
LEVELS: Mapping[str, Mapping[str, JSON]] = {
    "easy": {"size": 4, "givens": 6},
    "medium": {"size": 4, "givens": 4},
    "hard": {"size": 9, "givens": 34, "max_technique": "hidden_single"},
    "expert": {"size": 9, "givens": 28, "min_technique": "pair"},
}


def draw(
    rng: np.random.Generator, *, size: int, givens: int, min_technique: str, max_technique: str
) -> Instance | None:
    """A puzzle with `givens` digits; None when that many cannot be reached, or its hardest technique is another.

    content = {"givens": rows}; optimum = the number of empty cells.
    """
    cells = _dig(rng, _full(rng, size), givens)
    if cells is None:
        return None
    needed = hardest_technique(cells)
    if not TECHNIQUES.index(min_technique) <= TECHNIQUES.index(needed) <= TECHNIQUES.index(max_technique):
        return None
    level = level_name(size, givens, needed)
    return Instance(content={"givens": rows_of(cells)}, level=level, optimum=cells.count(EMPTY))


def level_name(size: int, givens: int, technique: str) -> str:
    """A task's difficulty: 4x4 easy from 6 givens on, else medium; 9x9 hard with singles alone, else expert."""
    if size == 4:
        return "easy" if givens >= 6 else "medium"
    return "hard" if technique in ("naked_single", "hidden_single") else "expert"


def _full(rng: np.random.Generator, size: int) -> str:
    order = rng.permuted(np.tile(np.arange(size), (size * size, 1)), axis=1).tolist()
    return next(solutions(EMPTY * (size * size), order))


def _dig(rng: np.random.Generator, cells: str, givens: int) -> str | None:
    """Empties cells in random order until `givens` are left."""
    left = len(cells)
    for cell in rng.permutation(len(cells)).tolist():
        if left == givens:
            break
        emptied = f"{cells[:cell]}{EMPTY}{cells[cell + 1 :]}"
        if _determined(emptied, cell, cells[cell]):
            cells, left = emptied, left - 1
    return cells if left == givens else None


def _determined(cells: str, cell: int, digit: str) -> bool:
    """Whether no solution of `cells` has another digit in `cell`: then, with `digit` there, it is still unique."""
    shape = shape_of(cells)
    others = set(shape.digits) - {digit, *(cells[peer] for peer in shape.peers[cell])}
    return not any(next(solutions(f"{cells[:cell]}{other}{cells[cell + 1 :]}"), None) for other in sorted(others))
