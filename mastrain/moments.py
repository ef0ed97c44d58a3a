"""Mean and variance of gradients from their inner products, with bootstrap intervals over batches.

All that is told follows from the Gram matrix of the batches' gradients, so that vectors of a model's size are touched
once. Squared norms of means are those of pairs of different batches: what one batch has in common with itself is noise.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from masgym.estimates import Estimate
from masgym.rng import keyed
from masgym.types import value

Array: TypeAlias = NDArray[np.float64]
RESAMPLES = 2000


@value
class Moments:
    """Of the gradient of a batch, over independent batches. Means have 95 % intervals of the percentile bootstrap."""

    norm: Estimate  # of the mean gradient
    variance: Estimate  # the trace of a batch's covariance
    snr: Estimate  # squared norm of the mean / variance


@value
class Comparison:
    """Two kinds of batches."""

    one: Moments
    other: Moments
    # of the two mean gradients; NaN where one of them cannot be told from 0. Norms are estimates too: noise exceeds 1
    cosine: Estimate
    snr_ratio: Estimate  # one / other


def compare(gram: Array, n: int, seed: int) -> Comparison:
    """`gram`: (n + m, n + m) inner products of the gradients of n batches of one kind and m of the other, n, m >= 2.

    The first row of weights is the sample itself, the others are resamples.
    """
    m = len(gram) - n
    of_one, of_other = _weights(n, (seed, "one")), _weights(m, (seed, "other"))
    one, other = _moments(gram[:n, :n], of_one), _moments(gram[n:, n:], of_other)
    product = ((of_one @ gram[:n, n:]) * of_other).sum(1) / (n * m)
    with np.errstate(divide="ignore", invalid="ignore"):
        cosine = np.where(one[0] * other[0] > 0, product / (one[0] * other[0]), np.nan)
        ratio = np.where(other[2] > 0, one[2] / other[2], np.nan)
    return Comparison(
        one=Moments(norm=_estimate(one[0]), variance=_estimate(one[1]), snr=_estimate(one[2])),
        other=Moments(norm=_estimate(other[0]), variance=_estimate(other[1]), snr=_estimate(other[2])),
        cosine=_estimate(cosine),
        snr_ratio=_estimate(ratio),
    )


def _weights(n: int, key: tuple[int, str]) -> Array:
    """(1 + RESAMPLES, n) how often each batch is drawn."""
    drawn = keyed(*key, "bootstrap").multinomial(n, np.full(n, 1 / n), size=RESAMPLES)
    return np.concatenate([np.ones((1, n)), drawn.astype(np.float64)])


def _moments(gram: Array, weights: Array) -> tuple[Array, Array, Array]:
    """(R,) norm of the mean, trace of the covariance, and signal-to-noise ratio, for each row of weights."""
    n, squares = len(gram), np.diag(gram)
    each = weights @ squares / n
    same = weights**2
    pairs = ((weights @ gram) * weights).sum(1) - same @ squares
    mean = np.maximum(pairs / np.maximum(n**2 - same.sum(1), 1), 0.0)  # all draws may be of one batch
    variance = each - mean
    return np.sqrt(mean), variance, np.divide(mean, variance, out=np.full_like(mean, np.inf), where=variance > 0)


def _estimate(found: Array) -> Estimate:
    kept = found[1:][~np.isnan(found[1:])]
    low, high = np.percentile(kept, [2.5, 97.5], method="inverted_cdf") if len(kept) else (np.nan, np.nan)
    return Estimate(mean=float(found[0]), low=float(low), high=float(high))
