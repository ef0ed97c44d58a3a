"""How a policy is updated: a value without torch, so that a configuration can be read before anything heavy loads."""

import math
from typing import Literal

from masgym.errors import BadValue
from masgym.types import value


@value
class UpdateSettings:
    """Paper (STRONGER-MAS, arXiv 2510.11062): no KL, no entropy term, clip 0.2, gradient clip 1."""

    learning_rate: float = 1e-4
    schedule: Literal["constant", "cosine", "linear"] = "constant"
    warmup_steps: int = 0  # optimiser steps of linear rise
    total_steps: int = 0  # optimiser steps until cosine and linear reach 0; constant does not read it
    temperature: float = 1.0  # that of sampling: log-probs are of softmax(logits / temperature)
    kl_beta: float = 0.0  # of the k3 estimator of KL(current || initial weights)
    entropy_coefficient: float = 0.0  # of a bonus on the mean entropy, in nats
    # > 0: the coefficient follows it: it grows while the mean entropy (nats a token) is lower
    entropy_target: float = 0.0
    # "group" adds rows up by their weights. TRL's losses ignore weights and objective: they clip per token by clip_low
    # and clip_high; all but dapo average within a micro-batch first, so they depend on how rows fall into them.
    loss: Literal["group", "grpo", "dapo", "bnpo", "dr_grpo"] = "group"
    clip_low: float = 0.2
    clip_high: float = 0.2
    max_completion_tokens: int = 8  # what dr_grpo divides by
    max_grad_norm: float = 1.0
    weight_decay: float = 0.0
    betas: tuple[float, float] = (0.9, 0.999)
    adam_epsilon: float = 1e-8
    shared_prefix: bool = True  # False: every row pays for its prompt

    def __post_init__(self) -> None:
        if not self.temperature > 0:
            raise BadValue(
                f"temperature {self.temperature}; expected > 0: log-probs are of softmax(logits / temperature)."
            )
        if self.entropy_target and not self.entropy_coefficient:
            raise BadValue(
                f"entropy target {self.entropy_target} with coefficient 0; expected a coefficient to start from, such "
                "as 0.01."
            )
        if self.entropy_target and self.loss != "group":
            raise BadValue(f"entropy target {self.entropy_target} with loss {self.loss!r}; only `group` follows one.")
        if self.schedule != "constant" and self.total_steps <= self.warmup_steps:
            raise BadValue(
                f"schedule {self.schedule!r} over {self.total_steps} steps, {self.warmup_steps} of them warm-up; "
                "expected total_steps > warmup_steps."
            )

    def next_entropy_coefficient(self, coefficient: float, entropy: float) -> float:
        """After a step with `coefficient` that met `entropy`: coefficient * exp(0.2 (1 - entropy / target)), from where
        it started to 50 times that."""
        if not self.entropy_target:
            return coefficient
        wanted = coefficient * math.exp(0.2 * (1 - entropy / self.entropy_target))
        return min(max(wanted, self.entropy_coefficient), 50 * self.entropy_coefficient)

    def learning_rate_at(self, step: int, spent: float = 0.0) -> float:
        """Rate of optimiser step `step`, counted from 0, of a run that has spent that share of its budget: it has
        fallen to 0 where the run ends, whichever of the two ends it."""
        if step < self.warmup_steps:
            return self.learning_rate * (step + 1) / (self.warmup_steps + 1)
        if self.schedule == "constant":
            return self.learning_rate
        progress = min(1.0, max(spent, (step - self.warmup_steps) / (self.total_steps - self.warmup_steps)))
        left = 1 - progress if self.schedule == "linear" else (1 + math.cos(math.pi * progress)) / 2
        return self.learning_rate * left
