"""Rows padded to tensors. Rows of one prompt lie together, and the prompt is stored once.

Legend of shapes: P prompts, L prompt tokens (left-padded), B rows, T completion tokens (right-padded), M members of
the largest set.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import groupby
from typing import TypeAlias

import torch
from torch import Tensor

from masgym.rng import Key
from masgym.types import value
from mastrain.types import Row

LogRatios: TypeAlias = Mapping[tuple[Key, int], Sequence[float]]  # (event, candidate) -> l_j of each of its members
ON_POLICY: LogRatios = {}  # no policy has moved since the sets were sampled: all are 0


@value
class Batch:
    """One policy's rows of one micro-batch."""

    prompt_ids: Tensor  # (P, L) int64
    prompt_mask: Tensor  # (P, L) 1 = token
    prompt_of: Tensor  # (B,) int64, non-decreasing: which prompt a row answers
    completion_ids: Tensor  # (B, T) int64
    completion_mask: Tensor  # (B, T) 1 = token
    old_logps: Tensor  # (B, T) of the behaviour policy, 0 where padded
    advantages: Tensor  # (B,)
    weights: Tensor  # (B,)
    set_tokens: Tensor  # (B, M) float: reply lengths of all members of a row's set, itself among them; 0 where padded
    set_log_ratios: Tensor  # (B, M) their current log-ratios, summed over tokens; 0 where padded

    def __len__(self) -> int:
        return len(self.completion_ids)

    @property
    def token_weights(self) -> Tensor:
        """(B, T) a row's weight divided by its number of tokens, 0 where padded: sums make means over tokens."""
        return self.completion_mask * (self.weights / self.completion_mask.sum(-1))[:, None]

    def to(self, device: torch.device) -> "Batch":
        return Batch(**{field.name: getattr(self, field.name).to(device) for field in fields(self)})


def pad(rows: Sequence[Row], pad_id: int, log_ratios: LogRatios = ON_POLICY) -> Batch:
    """Rows -> Batch, sorted so that rows of a prompt are together (stable otherwise)."""
    prompts = list(dict.fromkeys(row.prompt.ids for row in rows))
    position = {ids: p for p, ids in enumerate(prompts)}
    rows = sorted(rows, key=lambda row: position[row.prompt.ids])
    completions = [row.completion.ids for row in rows]
    return Batch(
        prompt_ids=_left(prompts, pad_id),
        prompt_mask=_left([[1] * len(ids) for ids in prompts], 0),
        prompt_of=torch.tensor([position[row.prompt.ids] for row in rows]),
        completion_ids=_right(completions, pad_id),
        completion_mask=_right([[1] * len(ids) for ids in completions], 0),
        old_logps=_right([row.completion.logps for row in rows], 0.0),
        advantages=torch.tensor([row.advantage for row in rows], dtype=torch.float32),
        weights=torch.tensor([row.weight for row in rows], dtype=torch.float32),
        set_tokens=_right([row.set_tokens for row in rows], 0.0).float(),
        set_log_ratios=_right([log_ratios.get(row.action) or [0.0] * len(row.set_tokens) for row in rows], 0.0),
    )


def micro_batches(rows: Sequence[Row], pad_id: int, max_tokens: int) -> tuple[Batch, ...]:
    """The batches of `cut`."""
    return tuple(pad(some, pad_id) for some in cut(rows, max_tokens))


def cut(rows: Sequence[Row], max_tokens: int) -> list[list[Row]]:
    """One mini-batch cut into parts of at most `max_tokens` padded tokens (prompts once, plus completions), for memory,
    each in the order in which `pad` puts it. Rows of a prompt stay together, so a prompt with more rows than fit has a
    part of its own. Prompts are taken by length: little padding."""
    by_prompt = sorted(rows, key=lambda row: (len(row.prompt.ids), row.prompt.ids))
    done: list[list[Row]] = []
    for _, same in groupby(by_prompt, key=lambda row: row.prompt.ids):
        more = list(same)
        if done and _padded_tokens(done[-1] + more) <= max_tokens:
            done[-1] += more
        else:
            done.append(more)
    return done


def _padded_tokens(rows: Sequence[Row]) -> int:
    prompts = {row.prompt.ids for row in rows}
    widest = max(len(row.completion.ids) for row in rows)
    return len(prompts) * max(map(len, prompts)) + len(rows) * widest


def _left(rows: Sequence[Sequence[int]], fill: int) -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([[fill] * (width - len(row)) + list(row) for row in rows])


def _right(rows: Sequence[Sequence[float]], fill: float) -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([list(row) + [fill] * (width - len(row)) for row in rows])
