"""Token by token with a KV cache: the replies to one prompt are branches of ONE sequence that cannot see each other.

    cache of prompt p:  | prompt | c0 c1 c2 | c0 c1 c2 | c0 c2 | ...      (c1 has ended)
                          ALL      first      second     third tokens

A mask lets a branch see the prompt and its own tokens, positions are those of the branch. So a prompt is neither
computed nor stored once per reply, ragged numbers of replies need no special case, and ended replies drop out.

Legend of shapes: P prompts, L prompt tokens (left-padded), R replies of all prompts, W live replies of the prompt with
the most (padded on the right), C columns of the cache, T new tokens at most, V vocabulary.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from masgym.types import value
from mastrain.types import Sampling

_ALL, _NOBODY = -1, -2  # owners of a cache column: the prompt's tokens and the padding


@value
class Decoded:
    """What was sampled."""

    ids: Tensor  # (R, T) int64, with the end token
    logps: Tensor  # (R, T) float32
    lengths: Tensor  # (R,) int64, how many of the T are tokens
    stopped: Tensor  # (R,) bool: an end token came within T


@torch.inference_mode()
def decode(
    model: nn.Module,
    prompts: Sequence[Sequence[int]],
    replies: Sequence[int],
    uniforms: Tensor,
    sampling: Sampling,
    ends: Tensor,
) -> Decoded:
    """Samples `replies[p]` >= 1 replies to each prompt; those of a prompt lie together in R. Row r draws its t-th token
    with `uniforms[r, t]` (R, T), in [0, 1); a reply ends with any of the ids `ends`."""
    device = next(model.parameters()).device
    prompt_of = torch.repeat_interleave(torch.tensor(replies)).to(device)  # (R,)
    uniforms, ends = uniforms.to(device), ends.to(device)
    ids = torch.zeros(uniforms.shape, dtype=torch.int64, device=device)
    logps = torch.zeros(uniforms.shape, dtype=torch.float32, device=device)
    lengths = torch.zeros_like(prompt_of)
    live = torch.arange(len(prompt_of), device=device)  # the replies that have not ended
    tree = _Tree(model, prompts)
    logits = tree.first[prompt_of]
    for t in range(uniforms.shape[1]):
        ids[live, t], logps[live, t] = _draw(logits, uniforms[live, t], sampling)
        lengths[live] = t + 1
        live = live[~torch.isin(ids[live, t], ends)]
        if not len(live) or t + 1 == uniforms.shape[1]:
            break
        logits = tree.grow(live, prompt_of[live], ids[live, t], t)
    stopped = torch.ones_like(lengths, dtype=torch.bool).index_fill(0, live, False)
    return Decoded(ids=ids.cpu(), logps=logps.cpu(), lengths=lengths.cpu(), stopped=stopped.cpu())


def _draw(logits: Tensor, uniforms: Tensor, sampling: Sampling) -> tuple[Tensor, Tensor]:
    """Tokens (R,) and their log-probs (R,) from (R, V), by the inverse of the cumulative distribution."""
    logps = torch.log_softmax(logits.float() / (1.0 if sampling.greedy else sampling.temperature), -1)
    if sampling.greedy:
        tokens = logps.argmax(-1)
    else:
        cumulative = logps.double().exp().cumsum(-1)
        total = cumulative[:, -1]
        below = torch.nextafter(total, torch.zeros_like(total))  # so that a token of probability 0 never comes
        tokens = torch.searchsorted(cumulative, torch.minimum(uniforms * total, below)[:, None], right=True)[:, 0]
    return tokens, logps.gather(-1, tokens[:, None])[:, 0]


class _Tree:
    """The cache of a few prompts and of the replies that branch off them."""

    def __init__(self, model: nn.Module, prompts: Sequence[Sequence[int]]) -> None:
        self._model = model
        device = next(model.parameters()).device
        width = max(map(len, prompts))
        ids = torch.tensor([[0] * (width - len(row)) + list(row) for row in prompts], device=device)  # (P, L)
        mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in prompts], device=device)
        out: Any = model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=(mask.cumsum(1) - 1).clamp(min=0),
            use_cache=True,
            logits_to_keep=1,
        )
        self.first: Tensor = out.logits[:, -1]  # (P, V): of every reply's first token
        self._cache = out.past_key_values
        self._owner = torch.where(mask == 1, _ALL, _NOBODY)  # (P, C): which reply a column belongs to
        self._lengths = mask.sum(1)  # (P,)
        self._place = torch.arange(len(prompts), device=device)  # prompt -> its row of the cache

    def grow(self, live: Tensor, prompt_of: Tensor, tokens: Tensor, t: int) -> Tensor:
        """Appends the t-th token of the `live` replies (R,) to `prompt_of` (R,): logits (R, V) of the next one."""
        self._drop_ended(prompt_of)
        row = self._place[prompt_of]
        per_row = torch.bincount(row, minlength=len(self._owner))
        column = torch.arange(len(row), device=row.device) - (per_row.cumsum(0) - per_row)[row]
        who = row.new_full((len(per_row), int(per_row.max())), _NOBODY)  # (P, W)
        ids = torch.zeros_like(who)
        who[row, column], ids[row, column] = live, tokens
        self._owner = torch.cat([self._owner, who], 1)
        out: Any = self._model(
            input_ids=ids,
            attention_mask=self._mask(who),
            position_ids=(self._lengths[:, None] + t).expand(who.shape),
            past_key_values=self._cache,
            use_cache=True,
        )
        return out.logits[row, column]

    def _mask(self, who: Tensor) -> Tensor:
        """(P, 1, W, C), to be added to attention scores. Padding looks at something too, or its softmax were NaN."""
        owner = self._owner[:, None, :]
        visible = (owner == _ALL) | (owner == who[:, :, None])
        dtype = self.first.dtype
        return torch.zeros(visible.shape, dtype=dtype, device=who.device).masked_fill_(
            ~visible, torch.finfo(dtype).min
        )[:, None]

    def _drop_ended(self, prompt_of: Tensor) -> None:
        """Forgets prompts without live replies, once they are half of all: then the copy pays for itself."""
        rows = torch.unique(self._place[prompt_of])
        if 2 * len(rows) > len(self._owner):
            return
        self._cache.batch_select_indices(rows)
        self._owner, self._lengths = self._owner[rows], self._lengths[rows]
        self._place = torch.searchsorted(rows, self._place)  # right for the prompts that are left
