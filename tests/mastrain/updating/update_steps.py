"""What the tests of the updater share: steps, and how near gradients are."""

import torch

from mastrain.batch import pad
from mastrain.objectives import token_clip

FREE = 1e9  # a gradient clip that does nothing
CLIP = token_clip(0.2)


def gradients(updater, micro_batches):
    """Of one step that leaves the weights where they are, and its metrics."""
    metrics = updater.step(micro_batches, CLIP)
    return [p.grad.clone() for p in updater.model.parameters()], metrics


def cut(rows, *ends):
    return [pad(rows[a:b], 0) for a, b in zip((0, *ends), (*ends, len(rows)), strict=True)]


def close(ours, theirs, atol=1e-6):
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, atol=atol, rtol=1e-5)


def move(worker):
    """Away from the initial weights, which are the reference."""
    draws = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in worker.model.parameters():
            parameter.mul_(1 + 0.04 * torch.randn(parameter.shape, generator=draws))
