"""Token by token with a KV cache: the replies to one prompt are branches of ONE sequence that cannot see each other.

    cache of prompt p:  | prompt | c0 c1 c2 | c0 c1 c2 | c0 c2 | ...      (c1 has ended)
                          ALL      first      second     third tokens

A mask lets a branch see the prompt and its own tokens, positions are those of the branch. So a prompt is neither
computed nor stored once per reply, ragged numbers of replies need no special case, and ended replies drop out.
What prompts have in common at their beginning, their stem, is computed once too (one board, many proposals).

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


def stems_of(prompts: Sequence[Sequence[int]]) -> tuple[list[Sequence[int]], list[int]]:
    """(stems, the stem of each prompt): prompts side by side in alphabetical order share a stem as long as that saves
    tokens, and at least half of what joins it. A stem leaves at least the last token of each of its prompts."""
    stems, stem_of, members = list[Sequence[int]](), [0] * len(prompts), 0
    for p in sorted(range(len(prompts)), key=lambda p: tuple(prompts[p])):
        body = prompts[p][:-1]
        common = _common(stems[-1], body) if stems else 0
        saved = common - (members - 1) * (len(stems[-1]) - common) if stems else 0
        if saved > len(body) / 2:
            stems[-1], members = body[:common], members + 1
        else:
            stems.append(body)
            members = 1
        stem_of[p] = len(stems) - 1
    return stems, stem_of


def _common(a: Sequence[int], b: Sequence[int]) -> int:
    """How many tokens are equal at the beginning."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _padded(rows: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """(ids, mask), both (rows, longest), padded on the left."""
    width = max(map(len, rows))
    ids = [[0] * (width - len(row)) + list(row) for row in rows]
    mask = [[0] * (width - len(row)) + [1] * len(row) for row in rows]
    return torch.tensor(ids, device=device), torch.tensor(mask, device=device)


def _positions(mask: Tensor) -> Tensor:
    return (mask.cumsum(1) - 1).clamp(min=0)


class _Tree:
    """The cache of a few prompts and of the replies that branch off them."""

    def __init__(self, model: nn.Module, prompts: Sequence[Sequence[int]]) -> None:
        self._model = model
        device = next(model.parameters()).device
        stems, stem_of = stems_of(prompts)
        shared = len(stems) < len(prompts)
        ids, mask = _padded(stems if shared else prompts, device)
        out: Any = model(
            input_ids=ids, attention_mask=mask, position_ids=_positions(mask), use_cache=True, logits_to_keep=1
        )
        self._cache = out.past_key_values
        if shared:
            rest, own = _padded([ids[len(stems[s]) :] for ids, s in zip(prompts, stem_of, strict=True)], device)
            place = torch.tensor(stem_of, device=device)
            self._cache.batch_select_indices(place)
            mask = torch.cat([mask[place], own], 1)
            out = model(
                input_ids=rest,
                attention_mask=mask,
                position_ids=_positions(mask)[:, -rest.shape[1] :],
                past_key_values=self._cache,
                use_cache=True,
                logits_to_keep=1,
            )
        self.first: Tensor = out.logits[:, -1]  # (P, V): of every reply's first token
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
