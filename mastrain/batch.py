"""Rows padded to tensors. Rows of one prompt lie together, and the prompt is stored once.

Legend of shapes: P prompts, L prompt tokens (left-padded), B rows, T completion tokens (right-padded).
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from masgym.types import value
from mastrain.types import Row


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

    def __len__(self) -> int:
        return len(self.completion_ids)


def pad(rows: Sequence[Row], pad_id: int) -> Batch:
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
    )


def _left(rows: Sequence[Sequence[int]], fill: int) -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([[fill] * (width - len(row)) + list(row) for row in rows])


def _right(rows: Sequence[Sequence[float]], fill: float) -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([list(row) + [fill] * (width - len(row)) for row in rows])
