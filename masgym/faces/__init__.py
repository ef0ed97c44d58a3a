"""The faces of a Game: PettingZoo's AEC and Parallel, Gymnasium. The only PettingZoo and Gymnasium code."""

from masgym.faces.aec import OrderEnforcing, RawAEC, aec
from masgym.faces.parallel import Parallel
from masgym.faces.single import Single
from masgym.faces.spaces import UnicodeText

__all__ = ["OrderEnforcing", "Parallel", "RawAEC", "Single", "UnicodeText", "aec"]
