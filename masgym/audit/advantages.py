"""Which advantage a trainer computes: known forms are tried on every group; the one that most groups have is its.

What trainers do to advantages afterwards is read off the file. They may be rounded: to the fewest decimals, 1 to 4,
that give every advantage of the file; half a unit of the last one is allowed. They may be clipped: the least or the
greatest advantage of the file stands in several actions, and in less than half of those of its sign; there the true one
may lie beyond. Where no form of a group fits, the baseline may be the mean reward of a batch: the whole file (with or
without division by its standard deviation), or groups that follow each other and share one baseline.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from masgym.types import value

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
BATCH = "reward - mean of a batch of groups"
BATCH_DIVIDED = "reward - mean of all, divided by the standard deviation of all"
UNKNOWN = (
    "of no known form (reward - mean of the group or of a batch, with or without division by the standard deviation; "
    "leave one out)"
)
NONE = "none to look at (in no group do rewards differ)"
FLIPPED = "of the wrong sign: "
ZERO = "all 0, though rewards differ"
LEAST_CLIPPED = 3  # actions that have the least or greatest advantage, where it is taken to be clipped

Pair: TypeAlias = tuple[Sequence[float], Sequence[float]]  # rewards and advantages of a group's actions


@value
class Finish:
    """What was done to all advantages of a file."""

    rounding: float = 0.0  # the most that rounding moved one
    low: float = -math.inf  # what they are clipped at
    high: float = math.inf

    def turned(self) -> "Finish":
        return Finish(rounding=self.rounding, low=-self.high, high=-self.low)


def finish_of(advantages: Sequence[float]) -> Finish:
    low, high = (_clip([sign * a for a in advantages if sign * a > 0]) for sign in (-1, 1))
    return Finish(rounding=_rounding(advantages), low=-low, high=high)


def _clip(sizes: Sequence[float]) -> float:
    count = Counter(sizes)[max(sizes)] if sizes else 0
    return max(sizes) if LEAST_CLIPPED <= count < len(sizes) / 2 else math.inf


def _rounding(advantages: Sequence[float]) -> float:
    for decimals in range(1, 5):
        if all(round(a, decimals) == a for a in advantages):
            return 0.0 if all(a == round(a) for a in advantages) else 0.5 * 10**-decimals
    return 0.0


def forms_of(rewards: Sequence[float], advantages: Sequence[float], finish: Finish) -> frozenset[str]:
    """The forms that a group's advantages have; all (and NONE) where rewards are equal and advantages zero."""
    centred = _centred(rewards)
    if max(map(abs, centred)) <= EQUAL * max(1.0, abs(rewards[0])):
        return frozenset([*FORMS, NONE]) if max(map(abs, advantages)) <= TOLERANCE else frozenset()
    return frozenset(name for name, scale in FORMS.items() if _fits(centred, advantages, finish, *scale(centred)))


def _centred(rewards: Sequence[float]) -> list[float]:
    mean = math.fsum(rewards) / len(rewards)
    return [reward - mean for reward in rewards]


def _fits(centred: Sequence[float], advantages: Sequence[float], finish: Finish, least: float, most: float) -> bool:
    """Whether each advantage may be its centred reward times a number from `least` to `most`, clipped and rounded."""
    for c, a in zip(centred, advantages, strict=True):
        one, other = sorted((c * least, c * most))
        slack = TOLERANCE * (1 + abs(other if c > 0 else one)) + finish.rounding
        low, high = (min(max(x, finish.low), finish.high) for x in (one - slack, other + slack))
        if not low - slack <= a <= high + slack:
            return False
    return True


def form_of(groups: Sequence[frozenset[str]]) -> str:
    """The form that most of the telling groups have: those in which rewards differ."""
    telling = [forms for forms in groups if NONE not in forms]
    counts = Counter(form for forms in telling for form in forms)
    best = max(FORMS, key=lambda name: counts[name])
    return NONE if not telling else best if counts[best] * 2 > len(telling) else UNKNOWN


def form_of_file(pairs: Sequence[Pair], finish: Finish) -> str:
    """The form of all advantages; what they are instead where they have none."""
    form = form_of([forms_of(*pair, finish) for pair in pairs])
    if form != UNKNOWN:
        return form
    if all(abs(a) <= TOLERANCE for _, advantages in pairs for a in advantages):
        return ZERO
    if batch := _batch(pairs, finish):
        return batch
    turned = form_of([forms_of(rewards, [-a for a in given], finish.turned()) for rewards, given in pairs])
    return UNKNOWN if turned == UNKNOWN else f"{FLIPPED}-({turned})"


def _batch(pairs: Sequence[Pair], finish: Finish) -> str:
    """BATCH, BATCH_DIVIDED, or "" where neither fits every group."""
    rewards = [reward for given, _ in pairs for reward in given]
    advantages = [a for _, given in pairs for a in given]
    centred = _centred(rewards)
    if _fits(centred, advantages, finish, 1.0, 1.0) or _shared_baselines(pairs, finish):
        return BATCH
    scales = (_by_deviation(freedom)(centred) for freedom in (0, 1))
    return BATCH_DIVIDED if any(_fits(centred, advantages, finish, *scale) for scale in scales) else ""


def _shared_baselines(pairs: Sequence[Pair], finish: Finish) -> bool:
    """Whether groups that follow each other share what was taken from their rewards, and it is their mean reward."""
    return all(
        len(batch) > 1 and _fits(_centred(_all(batch, 0)), _all(batch, 1), finish, 1.0, 1.0)
        for batch in _batches(pairs, 2 * (finish.rounding + TOLERANCE))
    )


def _batches(pairs: Sequence[Pair], apart: float) -> Iterator[list[Pair]]:
    batch, baseline = list[Pair](), 0.0
    for pair in pairs:
        own = (math.fsum(pair[0]) - math.fsum(pair[1])) / len(pair[0])
        if not batch or abs(own - baseline) > apart:
            yield from [batch] if batch else []
            batch, baseline = [], own
        batch.append(pair)
    yield batch


def _all(batch: Sequence[Pair], of: int) -> list[float]:
    return [x for pair in batch for x in pair[of]]
