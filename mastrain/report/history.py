"""metrics.jsonl as series."""

import math
import re
from collections.abc import Callable, Mapping
from statistics import fmean

from masgym.types import value

Series = list[tuple[int, float]]  # (training step, value)
WINDOW = 0.1  # of a series' points, at either end ...
LEAST = 3  # ... but so many: one step is noise


def history_of(rows: Mapping[int, Mapping[str, float]]) -> "History":
    """Step -> its metrics, in the order of the steps."""
    return History(rows=rows, known=tuple(dict.fromkeys(name for row in rows.values() for name in row)))


@value
class History:
    """The metrics of a run's steps, in order."""

    rows: Mapping[int, Mapping[str, float]]  # step -> name -> a finite number
    known: tuple[str, ...]  # every name, in the order in which they first come

    @property
    def steps(self) -> int:
        """The last step."""
        return max(self.rows, default=0)

    def series(self, name: str) -> Series:
        """The steps that have it."""
        return [(step, row[name]) for step, row in self.rows.items() if name in row]

    def names(self, pattern: str) -> dict[str, str]:
        """What the group of `pattern` matches in a name -> that name, for each metric."""
        found = (re.fullmatch(pattern, name) for name in self.known)
        return {match[1]: match[0] for match in found if match}

    def late(self, name: str) -> float | None:
        """The mean over the last window; None where it was never measured."""
        return _mean(self.series(name)[-self.window(name) :])

    def early(self, name: str) -> float | None:
        """The mean over the first window."""
        return _mean(self.series(name)[: self.window(name)])

    def window(self, name: str) -> int:
        """Points of a window."""
        return max(LEAST, math.ceil(WINDOW * len(self.series(name))))

    def told(self, name: str, text: Callable[[float], str]) -> str:
        """Both windows in words; their mean where they share points."""
        if not self.parted(name):
            return text(_mean(self.series(name)) or 0.0)
        return f"{text(self.early(name) or 0.0)} at the start, {text(self.late(name) or 0.0)} at the end"

    def parted(self, name: str) -> bool:
        """Whether the two windows share no point, so that they can be compared."""
        return len(self.series(name)) >= 2 * self.window(name)


def _mean(points: Series) -> float | None:
    return fmean(number for _, number in points) if points else None
