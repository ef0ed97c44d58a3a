"""Objectives: pure functions from detached log-probs to coefficients.

Whatever the objective, the updater's loss is `-sum(coefficients * log-probs)`. Its gradient is that of the clipped
objective, its value is not. So only detached numbers need to travel between policies.

Legend of shapes: B rows, T completion tokens (right-padded), S sets (actions), M members of the largest set.
"""

from collections.abc import Mapping
from typing import Protocol, TypeAlias

import torch
from torch import Tensor

from masgym.errors import BadValue
from masgym.types import value
from mastrain.batch import Batch

Metrics: TypeAlias = Mapping[str, Tensor]  # name -> (B, T) values, to be averaged over the tokens of a step


class Objective(Protocol):
    """What multiplies each token's log-prob."""

    def __call__(self, logps: Tensor, batch: Batch, /) -> tuple[Tensor, Metrics]:
        """(B, T) current log-probs, detached -> (B, T) coefficients, metrics."""
        ...


class SetObjective(Objective, Protocol):
    """One that reads what the other members of a row's set have, wherever they are: `Batch.set_log_ratios`."""

    def of_sets(self, log_ratios: Tensor, tokens: Tensor, advantages: Tensor) -> Mapping[str, Tensor]:
        """What is logged by set size: (S, M), (S, M), (S,) -> name -> (S,)."""
        ...


def token_clip(eps_low: float, eps_high: float | None = None) -> Objective:
    """Token-level clipping of AT-GRPO (STRONGER-MAS, arXiv 2510.11062, section 3).

        J = mean_groups mean_candidates mean_tokens min(rho A, clip(rho, 1 - eps_low, 1 + eps_high) A)
        rho = exp(log q_cur - log q_old)                                                    one ratio per token

    Row weights hold `1 / (groups * |group|)`, so the coefficient of a token's log-prob is

        weight * 1[not clipped] * rho * A / |tokens of the row|
        clipped   iff (A > 0 and rho > 1 + eps_high) or (A < 0 and rho < 1 - eps_low)

    Departures:
    1. The value of `-sum(coefficient * log q_cur)` is not -J; the gradient is (module docstring).
    2. `eps_high` may differ from `eps_low` (default: equal, the paper's choice).

    Raises BadValue for a range that is empty or reaches a ratio of 0.
    """
    high = eps_low if eps_high is None else eps_high
    if not (0 < eps_low < 1 and high > 0):
        raise BadValue(f"clip range [1 - {eps_low}, 1 + {high}]: expected 0 < eps_low < 1 and eps_high > 0.")

    def coefficients(logps: Tensor, batch: Batch) -> tuple[Tensor, Metrics]:
        ratios, ratio_metrics = importance_ratios(logps, batch)
        advantages = batch.advantages[:, None]
        clipped = ((advantages > 0) & (ratios > 1 + high)) | ((advantages < 0) & (ratios < 1 - eps_low))
        coefficients = batch.token_weights * ratios * advantages * ~clipped
        return coefficients, {"clip_fraction": clipped.to(ratios.dtype), **ratio_metrics}

    return coefficients


@value
class Setwise:
    """One ratio and one clip per set of replies: SRPO (arXiv 2609.08452, Eq. 1 to 7) and its relatives.

        l_j   = sum_u m_u (log q_cur - log q_old)        masked sum over tokens, no length normalisation   (Eq. 3)
        L     = K^(-a) sum_j T_j^(-b) l_j ;  rho = exp(L)                         SRPO: a = 1/2, b = 0     (Eq. 4)
        J     = sum weight * min(rho A, clip(rho, 1 - eps, 1 + eps) A)            one term per set         (Eq. 7)

    The coefficient of a token's log-prob in row j is

        weight * 1[not clipped] * rho * A * K^(-a) T_j^(-b)
        clipped   iff (A > 0 and rho > 1 + eps) or (A < 0 and rho < 1 - eps)

    so that members may lie in different micro-batches, or belong to different policies: only their detached l_j travel.

    Departures: 1. the family (a, b); joint sum (0, 0), mean over members (1, 0), length-free (1/2, 1). The clip range
    belongs to it: with b = 1 use about 1e-3. 2. As in `token_clip` the gradient is J's, the value is not.
    """

    a: float
    b: float
    eps: float

    def __post_init__(self) -> None:
        if not 0 < self.eps < 1:
            raise BadValue(f"clip range [1 - {self.eps}, 1 + {self.eps}]: expected 0 < eps < 1.")

    def __call__(self, logps: Tensor, batch: Batch) -> tuple[Tensor, Metrics]:
        sets = self.of_sets(batch.set_log_ratios, batch.set_tokens, batch.advantages)
        own = batch.completion_mask.sum(-1).to(batch.weights.dtype)
        share = self._size(batch.set_tokens) ** -self.a * own**-self.b
        rows = batch.weights * sets["ratio"] * batch.advantages * (1 - sets["clip_fraction"]) * share
        _, token_metrics = importance_ratios(logps, batch)
        spread = {name: sets[name][:, None].expand_as(logps) for name in ("ratio", "clip_fraction")}
        return rows[:, None] * batch.completion_mask, {**spread, "approx_kl": token_metrics["approx_kl"]}

    def of_sets(self, log_ratios: Tensor, tokens: Tensor, advantages: Tensor) -> dict[str, Tensor]:
        """(S, M) l_j, (S, M) T_j (both 0 where a set has no such member), (S,) -> L, rho and 1[clipped], each (S,)."""
        scaled = log_ratios * tokens.clamp(min=1) ** -self.b
        log_ratio = self._size(tokens) ** -self.a * scaled.sum(-1)
        ratio = torch.exp(log_ratio)
        clipped = ((advantages > 0) & (ratio > 1 + self.eps)) | ((advantages < 0) & (ratio < 1 - self.eps))
        return {"log_ratio": log_ratio, "ratio": ratio, "clip_fraction": clipped.to(ratio.dtype)}

    def _size(self, tokens: Tensor) -> Tensor:
        """(S,) K."""
        return (tokens > 0).sum(-1).to(tokens.dtype)


def setwise(a: float = 0.5, b: float = 0.0, eps: float = 0.2) -> Setwise:
    """The objective of sets; SRPO's by default. Raises BadValue for a range that is empty or reaches a ratio of 0."""
    return Setwise(a=a, b=b, eps=eps)


def importance_ratios(logps: Tensor, batch: Batch) -> tuple[Tensor, Metrics]:
    """(B, T) ratios to the behaviour policy, and how far it is: `approx_kl` is the k3 estimator of KL(old || current)
    from samples of the old policy, `rho - 1 - log rho` (never negative)."""
    log_ratios = (logps - batch.old_logps).masked_fill(batch.completion_mask == 0, 0.0)
    ratios = torch.exp(log_ratios)
    return ratios, {"ratio": ratios, "approx_kl": ratios - 1 - log_ratios}
