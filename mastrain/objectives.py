"""Objectives: pure functions from detached log-probs to coefficients.

Whatever the objective, the updater's loss is `-sum(coefficients * log-probs)`. Its gradient is that of the clipped
objective, its value is not. So only detached numbers need to travel between policies.

Legend of shapes: B rows, T completion tokens (right-padded).
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

import torch
from torch import Tensor

from masgym.errors import BadValue
from mastrain.batch import Batch

Metrics: TypeAlias = Mapping[str, Tensor]  # name -> (B, T) values, to be averaged over the tokens of a step
Objective: TypeAlias = Callable[[Tensor, Batch], tuple[Tensor, Metrics]]  # ((B, T) log-probs) -> ((B, T), metrics)


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


def importance_ratios(logps: Tensor, batch: Batch) -> tuple[Tensor, Metrics]:
    """(B, T) ratios to the behaviour policy, and how far it is: `approx_kl` is the k3 estimator of KL(old || current)
    from samples of the old policy, `rho - 1 - log rho` (never negative)."""
    log_ratios = (logps - batch.old_logps).masked_fill(batch.completion_mask == 0, 0.0)
    ratios = torch.exp(log_ratios)
    return ratios, {"ratio": ratios, "approx_kl": ratios - 1 - log_ratios}
