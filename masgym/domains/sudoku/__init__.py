"""Sudoku: grid (rules), solver (search, techniques), generator, grammar (replies), domain."""

from masgym.domains.sudoku.domain import Sudoku
from masgym.domains.sudoku.generator import LEVELS

__all__ = ["LEVELS", "Sudoku"]
