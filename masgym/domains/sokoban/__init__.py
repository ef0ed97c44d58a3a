"""Sokoban. board: rules; tables, bounds, solver: distances and solutions; generator; boxoban: level files; domain."""

from masgym.domains.sokoban.domain import LEVELS, Sokoban

__all__ = ["LEVELS", "Sokoban"]
