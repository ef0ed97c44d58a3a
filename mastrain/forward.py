"""Log-probs of completions; each prompt's cost is paid once for all its rows.

    prompts        (P, L)       one pass, keeps a cache; its last position predicts every first token
    completions    (M, W * U)   W rows side by side in a lane, each seeing the prompt and itself; M lanes

A lane reads its prompt's cache, and gradients flow back through it. Short replies share a lane (one copy of the cache
per prompt); a reply as long as its prompt has a lane of its own (no attention wasted on what it may not see).

Legend of shapes: P prompts, L prompt tokens (left-padded), B rows, T completion tokens (right-padded), U = T - 1
tokens that predict another one, M lanes, W rows a lane at most, V vocabulary.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from masgym.types import value
from mastrain.batch import Batch

Distribution: TypeAlias = Callable[[Tensor], tuple[Tensor, Tensor]]  # logits (..., V) -> log-probs (..., V), entropies


def token_logps(
    model: nn.Module, batch: Batch, temperature: float, *, shared_prefix: bool = True, entropy_grad: bool = False
) -> tuple[Tensor, Tensor]:
    """(B, T) log-probs of the completion tokens and (B, T) entropies in nats, both of `softmax(logits / temperature)`
    and 0 where padded.

    `model` is a causal language model of transformers with full attention (eager or SDPA where rows share lanes).
    Entropies carry a gradient only where asked for: it keeps another copy of the probabilities in memory.
    """
    distribution = partial(_distribution, temperature=temperature, entropy_grad=entropy_grad)
    logps, entropies = (_shared if shared_prefix else _plain)(model, batch, distribution)
    padded = batch.completion_mask == 0
    return logps.masked_fill(padded, 0.0), entropies.masked_fill(padded, 0.0)


def _distribution(logits: Tensor, temperature: float, entropy_grad: bool) -> tuple[Tensor, Tensor]:
    log_probs = torch.log_softmax(logits.float() / temperature, dim=-1)
    of = log_probs if entropy_grad else log_probs.detach()
    return log_probs, -(of.exp() * of).sum(-1)


def _plain(model: nn.Module, batch: Batch, distribution: Distribution) -> tuple[Tensor, Tensor]:
    """Every row is prompt + completion."""
    ids = torch.cat([batch.prompt_ids[batch.prompt_of], batch.completion_ids[:, :-1]], 1)
    mask = torch.cat([batch.prompt_mask[batch.prompt_of], batch.completion_mask[:, :-1]], 1)
    length = batch.completion_ids.shape[1]
    output = model(
        input_ids=ids, attention_mask=mask, position_ids=_positions(mask), use_cache=False, logits_to_keep=length
    )
    log_probs, entropies = distribution(output.logits)
    return _at(log_probs, batch.completion_ids), entropies


def _shared(model: nn.Module, batch: Batch, distribution: Distribution) -> tuple[Tensor, Tensor]:
    prompts = model(
        input_ids=batch.prompt_ids,
        attention_mask=batch.prompt_mask,
        position_ids=_positions(batch.prompt_mask),
        use_cache=True,
        logits_to_keep=1,
    )
    log_probs, entropies = distribution(prompts.logits[:, -1])  # (P, V), (P,)
    first = log_probs[batch.prompt_of, batch.completion_ids[:, 0]][:, None], entropies[batch.prompt_of][:, None]
    if batch.completion_ids.shape[1] == 1:
        return first
    rest = _continued(model, batch, prompts.past_key_values, prompts.logits.dtype, distribution)
    return torch.cat([first[0], rest[0]], 1), torch.cat([first[1], rest[1]], 1)


def _continued(
    model: nn.Module, batch: Batch, cache: Any, dtype: torch.dtype, distribution: Distribution
) -> tuple[Tensor, Tensor]:
    """(B, U) log-probs and entropies of all tokens but the first, from the cache of the prompts."""
    lanes = _lanes(batch)
    if len(lanes.prompt_of) != len(batch.prompt_ids):
        cache.batch_select_indices(lanes.prompt_of)
    lengths = batch.prompt_mask.sum(-1)[lanes.prompt_of]
    ids = lanes.fill(batch.completion_ids[:, :-1])
    output = model(
        input_ids=ids.flatten(1),
        attention_mask=_lane_mask(batch, lanes, dtype),
        position_ids=(lengths[:, None, None] + torch.arange(ids.shape[2], device=ids.device)).expand_as(ids).flatten(1),
        past_key_values=cache,
        use_cache=True,
    )
    log_probs, entropies = distribution(output.logits)
    logps = _at(log_probs, lanes.fill(batch.completion_ids[:, 1:]).flatten(1))
    return lanes.take(logps.view_as(ids)), lanes.take(entropies.view_as(ids))


@value
class _Lanes:
    """Where each row lies."""

    prompt_of: Tensor  # (M,)
    lane_of: Tensor  # (B,)
    place_of: Tensor  # (B,) in [0, W)
    width: int  # W

    def fill(self, rows: Tensor) -> Tensor:
        """(B, U) -> (M, W, U), 0 where no row lies."""
        lanes = rows.new_zeros(len(self.prompt_of), self.width, rows.shape[1])
        lanes[self.lane_of, self.place_of] = rows
        return lanes

    def take(self, lanes: Tensor) -> Tensor:
        """(M, W, U) -> (B, U)."""
        return lanes[self.lane_of, self.place_of]


def _lanes(batch: Batch) -> _Lanes:
    """As many rows of a prompt to a lane as are together no longer than the prompts, but at least one."""
    counts = torch.bincount(batch.prompt_of, minlength=len(batch.prompt_ids))
    fit = max(1, batch.prompt_ids.shape[1] // (batch.completion_ids.shape[1] - 1))
    most = int(counts.max())
    width = math.ceil(most / math.ceil(most / fit))  # lanes of about equal width
    nth = torch.arange(len(batch), device=counts.device) - (counts.cumsum(0) - counts)[batch.prompt_of]
    per_prompt = (counts + width - 1) // width
    before = per_prompt.cumsum(0) - per_prompt
    return _Lanes(
        prompt_of=torch.repeat_interleave(per_prompt),
        lane_of=before[batch.prompt_of] + nth // width,
        place_of=nth % width,
        width=width,
    )


def _lane_mask(batch: Batch, lanes: _Lanes, dtype: torch.dtype) -> Tensor:
    """What a lane's tokens see: the prompt, and the tokens up to themselves of their own row. (M, L + U) of tokens
    where every lane has one row (the model adds causality), else (M, 1, W * U, L + W * U), added to scores."""
    prompt, own = batch.prompt_mask[lanes.prompt_of], lanes.fill(batch.completion_mask[:, :-1]).flatten(1)
    tokens = torch.cat([prompt, own], 1)
    if lanes.width == 1:
        return tokens
    size, place = own.shape[1], torch.arange(own.shape[1], device=own.device)
    row = place // (size // lanes.width)
    causal = (row[:, None] == row) & (place[:, None] >= place)
    sees = torch.cat([causal.new_ones(size, prompt.shape[1]), causal], 1) & (tokens[:, None, :] == 1)
    return torch.zeros(sees.shape, dtype=dtype, device=own.device).masked_fill_(~sees, torch.finfo(dtype).min)[:, None]


def _at(log_probs: Tensor, ids: Tensor) -> Tensor:
    return log_probs.gather(-1, ids[..., None]).squeeze(-1)


def _positions(mask: Tensor) -> Tensor:
    """Positions that begin at the first real token, whatever the left padding."""
    return (mask.cumsum(-1) - 1).clamp(min=0)
