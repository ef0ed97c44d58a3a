"""Sokoban: board (rules), solver (distances, oracle), generator, boxoban (level files), domain."""

from masgym.domains.sokoban.domain import LEVELS, Sokoban

__all__ = ["LEVELS", "Sokoban"]
