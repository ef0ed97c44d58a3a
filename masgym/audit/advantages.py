"""Which advantage a trainer computes: known forms are tried on every group; the one that most groups have is its."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

Scale: TypeAlias = Callable[[Sequence[float]], tuple[float, float]]
"""Centred rewards -> least and most of what they are multiplied by: trainers add up to EPSILON to a deviation."""

EPSILON = 1e-3
TOLERANCE = 1e-4  # of an advantage, and as a share of it: rounding to float32 and to some digits
EQUAL = 1e-6  # rewards that differ by rounding are equal


def _by_deviation(freedom: int) -> Scale:
    def scale(centred: Sequence[float]) -> tuple[float, float]:
        deviation = math.sqrt(math.fsum(c * c for c in centred) / (len(centred) - freedom))
        return 1 / (deviation + EPSILON), 1 / deviation

    return scale


FORMS: Mapping[str, Scale] = {
    "reward - mean, divided by the group's standard deviation": _by_deviation(0),
    "reward - mean, divided by the group's standard deviation (of n - 1)": _by_deviation(1),
    "reward - mean": lambda c: (1.0, 1.0),
    "reward - mean of the others": lambda c: (len(c) / (len(c) - 1), len(c) / (len(c) - 1)),
}
UNKNOWN = "of no known form (reward - mean, with or without division by the standard deviation; leave one out)"
NONE = "none to look at (in no group do rewards differ)"


def forms_of(rewards: Sequence[float], advantages: Sequence[float]) -> frozenset[str]:
    """The forms that a group's advantages have; all (and NONE) where rewards are equal and advantages zero."""
    mean = math.fsum(rewards) / len(rewards)
    centred = [reward - mean for reward in rewards]
    if max(map(abs, centred)) <= EQUAL * max(1.0, abs(mean)):
        return frozenset([*FORMS, NONE]) if max(map(abs, advantages)) <= TOLERANCE else frozenset()
    return frozenset(name for name, scale in FORMS.items() if _fits(centred, advantages, *scale(centred)))


def _fits(centred: Sequence[float], advantages: Sequence[float], least: float, most: float) -> bool:
    return all(
        abs(c) * least * (1 - TOLERANCE) - TOLERANCE
        <= math.copysign(1, c) * a
        <= abs(c) * most * (1 + TOLERANCE) + TOLERANCE
        for c, a in zip(centred, advantages, strict=True)
    )


def form_of(groups: Sequence[frozenset[str]]) -> str:
    """The form that most of the telling groups have: those in which rewards differ."""
    telling = [forms for forms in groups if NONE not in forms]
    counts = Counter(form for forms in telling for form in forms)
    best = max(FORMS, key=lambda name: counts[name])
    return NONE if not telling else best if counts[best] * 2 > len(telling) else UNKNOWN
