"""What others made, played by our agents: PettingZoo environments, TextArena's games, reasoning-gym's data sets."""

from masgym.foreign.game import ForeignGame, foreign_game
from masgym.foreign.resolve import resolve

__all__ = ["ForeignGame", "foreign_game", "resolve"]
