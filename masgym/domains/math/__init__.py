"""Math: answers (grammar and judging), families and generator, task files, programs, domain."""

from masgym.domains.math.domain import Math
from masgym.domains.math.generator import LEVELS

__all__ = ["LEVELS", "Math"]
