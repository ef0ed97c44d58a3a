"""What a diagnostic says."""

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from masgym.types import value
from mastrain.report.reading import RunFolder

Severity: TypeAlias = Literal["fault", "warning", "note", "good", "unknown"]
ORDER: tuple[Severity, ...] = ("fault", "warning", "note", "good", "unknown")  # unknown: the run did not log it


@value
class Finding:
    """In words and numbers. In `advice` config keys stand between backticks."""

    about: str  # the diagnostic
    severity: Severity
    title: str
    seen: str = ""  # the numbers
    why: str = ""  # why it matters
    advice: tuple[str, ...] = ()  # what to try


Diagnostic: TypeAlias = Callable[[RunFolder], Sequence[Finding]]


def percent(share: float) -> str:
    """A share in whole percent; small ones with a digit more."""
    return f"{100 * share:.1f} %" if 0 < share < 0.0995 else f"{100 * share:.0f} %"


def listed(names: Sequence[str]) -> str:
    """a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""
