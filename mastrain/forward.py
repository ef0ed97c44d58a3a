"""Log-probs of completions; each prompt's cost is paid once for all its rows.

Legend of shapes: P prompts, L prompt tokens (left-padded), B rows, T completion tokens (right-padded), V vocabulary.
"""

import torch
from torch import Tensor, nn

from mastrain.batch import Batch


def token_logps(
    model: nn.Module, batch: Batch, temperature: float, *, shared_prefix: bool = True, entropy_grad: bool = False
) -> tuple[Tensor, Tensor]:
    """(B, T) log-probs of the completion tokens and (B, T) entropies in nats, of `softmax(logits / temperature)`;
    both 0 where padded.

    `model` is a causal language model of transformers: `model(input_ids, attention_mask, position_ids,
    past_key_values, use_cache, logits_to_keep)`. Entropies carry a gradient only where asked for: it holds another
    copy of the probabilities in memory.
    """
    pieces = _shared(model, batch) if shared_prefix else _plain(model, batch)
    start, logps, entropies = 0, list[Tensor](), list[Tensor]()
    for logits in pieces:
        ids = batch.completion_ids[:, start : start + logits.shape[1]]
        start += logits.shape[1]
        log_probs = torch.log_softmax(logits.float() / temperature, dim=-1)
        logps.append(log_probs.gather(-1, ids[..., None]).squeeze(-1))
        entropies.append(_entropy(log_probs if entropy_grad else log_probs.detach()))
    padded = batch.completion_mask == 0
    return torch.cat(logps, 1).masked_fill(padded, 0.0), torch.cat(entropies, 1).masked_fill(padded, 0.0)


def _entropy(log_probs: Tensor) -> Tensor:
    return -(log_probs.exp() * log_probs).sum(-1)


def _plain(model: nn.Module, batch: Batch) -> list[Tensor]:
    """[(B, T, V)]: every row is prompt + completion. The last token predicts nothing that is trained on."""
    ids = torch.cat([batch.prompt_ids[batch.prompt_of], batch.completion_ids[:, :-1]], 1)
    mask = torch.cat([batch.prompt_mask[batch.prompt_of], batch.completion_mask[:, :-1]], 1)
    length = batch.completion_ids.shape[1]
    output = model(
        input_ids=ids, attention_mask=mask, position_ids=_positions(mask), use_cache=False, logits_to_keep=length
    )
    return [output.logits]


def _shared(model: nn.Module, batch: Batch) -> list[Tensor]:
    """[(B, 1, V), (B, T - 1, V)]: each prompt is run once, and its last position predicts the first token of all its
    rows; its cache is expanded to the rows, and gradients flow back through it."""
    prompts = model(
        input_ids=batch.prompt_ids,
        attention_mask=batch.prompt_mask,
        position_ids=_positions(batch.prompt_mask),
        use_cache=True,
        logits_to_keep=1,
    )
    first = prompts.logits.index_select(0, batch.prompt_of)
    rest = batch.completion_ids[:, :-1]
    if not rest.shape[1]:
        return [first]
    cache = prompts.past_key_values
    cache.batch_select_indices(batch.prompt_of)
    prompt_mask = batch.prompt_mask[batch.prompt_of]
    output = model(
        input_ids=rest,
        attention_mask=torch.cat([prompt_mask, batch.completion_mask[:, :-1]], 1),
        position_ids=prompt_mask.sum(-1, keepdim=True) + torch.arange(rest.shape[1], device=rest.device),
        past_key_values=cache,
        use_cache=True,
    )
    return [first, output.logits]


def _positions(mask: Tensor) -> Tensor:
    """Positions that begin at the first real token, whatever the left padding."""
    return (mask.cumsum(-1) - 1).clamp(min=0)
