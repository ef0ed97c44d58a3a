"""One policy's update worker: TRL's GRPOTrainer without its sampling. The only file that imports trl.

    mini-batch -> micro-batches -> log-probs -> objective's coefficients -> -sum(coefficients * log-probs) -> gradients
    (added up over the micro-batches) -> clipped by norm -> AdamW at the schedule's rate

TRL's constructor sets model and optimiser up, its losses stay selectable, its `training_step` drives each micro-batch.
The optimiser step is ours: accelerate's state is global to the process, which a worker shares with others.
"""

import copy
import math
import random
from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from masgym.errors import BadValue
from mastrain.batch import Batch
from mastrain.forward import token_logps
from mastrain.objectives import Metrics, Objective
from mastrain.update_settings import UpdateSettings


class Updater(GRPOTrainer):
    """Updates `model`, the very object that the engine samples from.

    `log q_old` is what a batch carries, sampled before any policy moved; it is never computed again here.
    Two workers of two models may step in two threads at once.
    """

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, settings: UpdateSettings, output_dir: Path
    ) -> None:
        self.settings = settings
        self.steps = 0  # optimiser steps taken: the policy's version
        self.spent = 0.0  # share of the run's budget, where it has one: the schedule ends with it
        self._policy = model
        self._micro: Batch | None = None  # the micro-batch in hand
        self._objective: Objective | None = None  # of the step in hand
        self._tokens = 0.0  # of the step in hand
        self._bonus = settings.entropy_coefficient  # of the next step
        self._sums: dict[str, float] = {}  # metric -> sum over the tokens of the step in hand
        reference = copy.deepcopy(model).requires_grad_(False).eval() if settings.kl_beta else None
        self._arguments = _arguments(settings, output_dir, use_cpu=model.device.type == "cpu")
        with _global_random_state_kept(), _forwards_kept(model):
            super().__init__(
                model=model,
                reward_funcs=_no_reward,
                args=self._arguments,
                train_dataset=Dataset.from_dict({"prompt": ["-"]}),
                processing_class=tokenizer,
            )
        self.beta, self.ref_model = settings.kl_beta, reference  # TRL itself would read a reference from a folder
        _without_attention_dropout(model)
        self._adam: torch.optim.Optimizer = self.create_optimizer()
        model.eval()

    def logps(self, batch: Batch) -> Tensor:
        """(B, T) log-probs of the current weights, detached, 0 where padded."""
        return self._logps_of(self._policy, batch.to(self._policy.device))

    def step(self, micro_batches: Sequence[Batch], objective: Objective) -> dict[str, float]:
        """One optimiser step on one mini-batch. Under `loss="group"` it does not matter how rows fall into
        micro-batches. Metrics are means over the mini-batch's tokens, except for loss, grad_norm, learning_rate
        and entropy_coefficient.

        Raises BadValue without rows, FloatingPointError before weights are touched by a gradient that is not finite.
        """
        loss = self._backward(micro_batches, objective)
        rate = self.settings.learning_rate_at(self.steps, self.spent)
        norm = self._finish(rate)
        means = {name: total / self._tokens for name, total in self._sums.items()}
        bonus = self._bonus
        self._bonus = self.settings.next_entropy_coefficient(bonus, means["entropy"])
        return {"loss": loss, "grad_norm": norm, "learning_rate": rate, "entropy_coefficient": bonus, **means}

    def gradient(self, micro_batches: Sequence[Batch], objective: Objective) -> Tensor:
        """(parameters,) that of one mini-batch's loss, as `step` has it before it clips by norm. Nothing moves."""
        self._backward(micro_batches, objective)
        parameters = [x for x in self._policy.parameters() if x.requires_grad]
        flat = [(torch.zeros_like(x) if x.grad is None else x.grad).flatten() for x in parameters]
        self._adam.zero_grad(set_to_none=True)
        self._metrics["train"].clear()
        return torch.cat(flat)

    def state_dict(self) -> dict[str, Any]:
        """All that the next step depends on but the policy's weights; `torch.load(weights_only=True)` reads it."""
        reference = self.ref_model.state_dict() if self.ref_model else {}
        own = {"steps": self.steps, "entropy_coefficient": self._bonus}
        return {**own, "optimizer": self._adam.state_dict(), "reference": reference}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Raises BadValue for a state of another model, or written with KL and read without (or the reverse)."""
        if bool(state["reference"]) != bool(self.ref_model):
            raise BadValue(
                f"a checkpoint {'with' if state['reference'] else 'without'} reference weights, read with kl_beta = "
                f"{self.settings.kl_beta}: resume with the settings it was written with."
            )
        try:
            if self.ref_model:
                self.ref_model.load_state_dict(state["reference"])
            self._adam.load_state_dict(copy.deepcopy(state["optimizer"]))
        except (RuntimeError, ValueError) as error:
            raise BadValue(f"a checkpoint of another model: {error}") from error
        self.steps, self._bonus = state["steps"], state["entropy_coefficient"]

    def _backward(self, micro_batches: Sequence[Batch], objective: Objective) -> float:
        """Add the gradients up. -> the loss."""
        if not micro_batches:
            raise BadValue("an update of 0 micro-batches; expected at least 1: skip a policy that has no rows.")
        self._begin(micro_batches, objective)
        self._policy.train()  # TRL's losses look at it; there is no dropout
        loss = sum(self.training_step(self._policy, {"batch": micro}, None).item() for micro in micro_batches)
        self._policy.eval()
        return loss

    def _begin(self, micro_batches: Sequence[Batch], objective: Objective) -> None:
        self._objective, self._sums = objective, defaultdict(float)
        self._tokens = float(sum(micro.completion_mask.sum().item() for micro in micro_batches))
        # TRL's losses divide by the number of micro-batches, Trainer would once more were it not for TRL. Ours divides
        # by nothing: row weights make the mean. Both hold only while these say the truth.
        self.current_gradient_accumulation_steps = self._arguments.steps_per_generation = len(micro_batches)
        self._adam.zero_grad(set_to_none=True)

    def _finish(self, rate: float) -> float:
        """The optimiser step. Returns the gradient's norm before clipping."""
        norm = torch.nn.utils.clip_grad_norm_(self._policy.parameters(), self.settings.max_grad_norm).item()
        if not math.isfinite(norm):
            raise FloatingPointError(f"gradient norm {norm} at step {self.steps}: the weights were left as they were.")
        for group in self._adam.param_groups:
            group["lr"] = rate
        self._adam.step()
        self._metrics["train"].clear()  # TRL keeps them until it logs
        self.steps += 1
        return norm

    def _logps_of(self, model: Any, batch: Batch) -> Tensor:
        with torch.no_grad():
            settings = self.settings
            return token_logps(model, batch, settings.temperature, shared_prefix=settings.shared_prefix)[0]

    def _loss(self, logps: Tensor, entropies: Tensor, coefficients: Tensor, reference: Tensor | None) -> Tensor:
        """-sum(coefficients * logps) + sum over rows of weight * mean over tokens of (beta * KL - coefficient * H)."""
        assert self._micro is not None
        loss = -(coefficients * logps).sum()
        if reference is not None:
            loss = loss + self.settings.kl_beta * (self._micro.token_weights * _kl(logps, reference)).sum()
        if self._bonus:
            loss = loss - self._bonus * (self._micro.token_weights * entropies).sum()
        return loss

    def _record(self, metrics: Metrics) -> None:
        assert self._micro is not None
        for name, values in metrics.items():
            self._sums[name] += (values * self._micro.completion_mask).sum().item()

    # What is replaced in TRL. `training_step` gets one Batch, and everything below works on it.

    def get_train_dataloader(self) -> Any:
        raise NotImplementedError("`train` is not used: batches are handed to `step`.")

    def _send_telemetry(self) -> None:
        """Nothing leaves this machine."""

    def _prepare_inputs(self, generation_batch: dict[str, Any]) -> dict[str, Any]:
        """The batch, per row, under TRL's names."""
        micro: Batch = generation_batch["batch"].to(self._policy.device)
        self._micro = micro
        return {
            "prompt_ids": micro.prompt_ids[micro.prompt_of],
            "prompt_mask": micro.prompt_mask[micro.prompt_of],
            "completion_ids": micro.completion_ids,
            "completion_mask": micro.completion_mask,
            "advantages": micro.advantages,
            "old_per_token_logps": micro.old_logps,
            "ref_per_token_logps": self._logps_of(self.ref_model, micro) if self.ref_model else None,
            "num_items_in_batch": torch.tensor(self._tokens, device=micro.weights.device),
        }

    def _get_per_token_logps_and_entropies(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, model: Any, *_: Any, **__: Any
    ) -> tuple[Tensor, Tensor, None]:
        """Of the batch in hand: each prompt is run once, whatever TRL joined together."""
        assert self._micro is not None
        logps, entropies = token_logps(
            model,
            self._micro,
            self.settings.temperature,
            shared_prefix=self.settings.shared_prefix,
            entropy_grad=self.settings.entropy_coefficient != 0,
        )
        self._measured = logps.detach(), entropies.detach()
        return logps, entropies, None

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Tensor:
        assert self._micro is not None
        assert self._objective is not None
        reference = inputs["ref_per_token_logps"]
        if self.settings.loss == "group":
            logps, entropies, _ = self._get_per_token_logps_and_entropies(model)
            coefficients, metrics = self._objective(logps.detach(), self._micro)
            loss = self._loss(logps, entropies, coefficients, reference)
        else:
            loss = super()._compute_loss(model, inputs)
            logps, entropies = self._measured
            _, metrics = self._objective(logps, self._micro)
        kl = {} if reference is None else {"kl": _kl(logps.detach(), reference)}
        self._record({**metrics, **kl, "entropy": entropies.detach()})
        return loss


def _kl(logps: Tensor, reference: Tensor) -> Tensor:
    """(B, T) k3 estimator of KL(current || reference) from samples of the current policy (GRPO, arXiv 2402.03300,
    Eq. 4): never negative. No importance ratio; its mean gradient is that of KL(reference || current)."""
    difference = reference - logps
    return torch.exp(difference) - difference - 1


def _arguments(settings: UpdateSettings, output_dir: Path, *, use_cpu: bool) -> GRPOConfig:
    return GRPOConfig(
        output_dir=str(output_dir),
        use_cpu=use_cpu,
        bf16=False,
        gradient_checkpointing=False,
        disable_dropout=True,
        report_to="none",
        disable_tqdm=True,
        per_device_train_batch_size=2,  # with num_generations: only what the constructor checks
        num_generations=2,
        gradient_accumulation_steps=1,  # accelerate's own divisor
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
        adam_beta1=settings.betas[0],
        adam_beta2=settings.betas[1],
        adam_epsilon=settings.adam_epsilon,
        temperature=settings.temperature,
        loss_type="dapo" if settings.loss == "group" else settings.loss,
        epsilon=settings.clip_low,
        epsilon_high=settings.clip_high,
        entropy_coef=settings.entropy_coefficient,
        max_completion_length=settings.max_completion_tokens,
        beta=0.0,
        use_bias_correction_kl=False,  # the KL term as in `_kl`
    )


def _no_reward(completions: Sequence[Any], **_: Any) -> list[float | None]:
    """TRL demands a reward function; rewards come with the rows."""
    return [0.0] * len(completions)


def _without_attention_dropout(model: PreTrainedModel) -> None:
    """TRL switches Dropout modules off; attention reads its own rate, and log-probs must be those sampled from."""
    for module in model.modules():
        if hasattr(module, "attention_dropout"):
            module.attention_dropout = 0.0  # pyright: ignore[reportArgumentType]


@contextmanager
def _forwards_kept(model: PreTrainedModel) -> Generator[None]:
    """TRL patches `forward` with a bound method: unused here, and a copy of the model would run the original's
    weights."""
    before = {module: vars(module).get("forward") for module in model.modules()}
    yield
    for module, forward in before.items():
        vars(module).pop("forward", None)
        if forward is not None:
            vars(module)["forward"] = forward


@contextmanager
def _global_random_state_kept() -> Generator[None]:
    """TRL seeds every global generator."""
    python, numpy = random.getstate(), np.random.get_state()
    with torch.random.fork_rng():
        yield
    random.setstate(python)
    np.random.set_state(numpy)
