"""Estimates with 95 % intervals from samples that are clustered by task. Pure functions of outcomes by task."""

import math
from collections.abc import Sequence
from statistics import fmean

from masgym.types import value

Z95 = 1.959964


@value
class Estimate:
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.mean:.1f} [{100 * self.low:.1f}, {100 * self.high:.1f}]"


def success_interval(by_task: Sequence[Sequence[bool]]) -> Estimate:
    """Wilson's interval with the effective sample size of task-clustered samples.

    by_task: one sequence of outcomes per task. With one sample a task it is Wilson's interval exactly.
    """
    return share_interval([fmean(outcomes) for outcomes in by_task], sum(map(len, by_task)))


def share_interval(means: Sequence[float], samples: float) -> Estimate:
    """As `success_interval`, from one estimate in [0, 1] per task. `samples`: the most independent outcomes that all
    estimates together can stand for."""
    p, n = fmean(means), len(means)
    variance = sum((m - p) ** 2 for m in means) / n
    effective = n if p in (0, 1) else min(samples, p * (1 - p) / variance * n) if variance else samples
    centre = (p + Z95**2 / (2 * effective)) / (1 + Z95**2 / effective)
    half = Z95 / (1 + Z95**2 / effective) * math.sqrt(p * (1 - p) / effective + Z95**2 / (4 * effective**2))
    low, high = max(0.0, min(p, centre - half)), min(1.0, max(p, centre + half))  # rounding may pass the mean by
    return Estimate(mean=p, low=low, high=high)


def pass_at_k(n: int, solved: int, k: int) -> float:
    """The chance that of `k` of `n` samples, drawn without replacement, one is among the `solved`: unbiased for the
    chance that one of k fresh samples solves the task (Chen et al., arXiv 2107.03374, Eq. 1)."""
    return 1 - math.comb(n - solved, k) / math.comb(n, k)


def pass_interval(by_task: Sequence[Sequence[bool]], k: int) -> Estimate:
    """pass@k over tasks that have at least `k` samples each. For k = 1 it is `success_interval` where all tasks have
    the same number of samples: `n` samples of a task hold at most `n / k` independent sets of k."""
    estimates = [pass_at_k(len(outcomes), sum(outcomes), k) for outcomes in by_task]
    return share_interval(estimates, sum(map(len, by_task)) / k)


def mean_of(parts: Sequence[Estimate]) -> Estimate:
    """The mean of independent estimates, all with equal weight: arms are squared and added (Zou and Donner, Statistics
    in Medicine 27, 2008), so it has a width where all of them are 0 or 1."""
    mean, n = fmean(part.mean for part in parts), len(parts)
    low = math.sqrt(sum((part.mean - part.low) ** 2 for part in parts)) / n
    high = math.sqrt(sum((part.high - part.mean) ** 2 for part in parts)) / n
    return Estimate(mean=mean, low=max(0.0, mean - low), high=min(1.0, mean + high))


def paired_difference(one: Sequence[Sequence[bool]], other: Sequence[Sequence[bool]]) -> Estimate:
    """Success of `one` minus that of `other` on the same tasks, in the same order.

    The limits of the two are squared and added, less what their correlation over tasks takes off: Newcombe's interval
    for paired shares (Statistics in Medicine 17, 1998, method 10), with limits clustered by task in place of Wilson's
    (ours). It has a width even where all differences are equal.
    """
    a, b = success_interval(one), success_interval(other)
    phi = _correlation([fmean(outcomes) for outcomes in one], [fmean(outcomes) for outcomes in other])
    below, above = (a.mean - a.low, b.high - b.mean), (a.high - a.mean, b.mean - b.low)
    difference = a.mean - b.mean
    return Estimate(mean=difference, low=difference - _joint(below, phi), high=difference + _joint(above, phi))


def _correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Over tasks; a positive one with the method's correction for continuity, 0 where one of the two never varies."""
    n, a, b = len(one), fmean(one), fmean(other)
    covariance = sum((x - a) * (y - b) for x, y in zip(one, other, strict=True)) / n
    spread = math.sqrt(sum((x - a) ** 2 for x in one) * sum((y - b) ** 2 for y in other)) / n
    corrected = max(0.0, covariance - 1 / (2 * n)) if covariance > 0 else covariance
    return corrected / spread if spread else 0.0


def _joint(arms: tuple[float, float], phi: float) -> float:
    one, other = arms
    return math.sqrt(max(0.0, one**2 - 2 * phi * one * other + other**2))
