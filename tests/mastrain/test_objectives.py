import math

import numpy as np
import pytest
import torch
from update_batches import make_row, ragged_rows

from masgym.errors import BadValue
from mastrain.batch import pad
from mastrain.objectives import token_clip


@pytest.mark.parametrize(
    ("advantage", "log_ratio", "coefficient", "clipped"),
    [
        (2.0, 0.0, 2.0, 0.0),
        (2.0, math.log(1.5), 0.0, 1.0),  # a good token already made likelier: no more
        (2.0, math.log(0.5), 1.0, 0.0),  # a good token made less likely: back, at its ratio
        (-2.0, math.log(1.5), -3.0, 0.0),
        (-2.0, math.log(0.5), 0.0, 1.0),
        (0.0, math.log(1.5), 0.0, 0.0),
    ],
)
def test_one_token_by_hand(advantage, log_ratio, coefficient, clipped):
    batch = pad([make_row((2,), (3,), (-1.0,), advantage=advantage, weight=1.0)], 0)
    coefficients, metrics = token_clip(0.2)(torch.tensor([[-1.0 + log_ratio]]), batch)
    assert coefficients.item() == pytest.approx(coefficient, abs=1e-6)
    assert metrics["clip_fraction"].item() == clipped
    assert metrics["ratio"].item() == pytest.approx(math.exp(log_ratio), abs=1e-6)
    assert metrics["approx_kl"].item() == pytest.approx(math.exp(log_ratio) - 1 - log_ratio, abs=1e-6)


def test_the_two_ends_of_the_range_may_differ():
    batch = pad([make_row((2,), (3,), (0.0,), advantage=1.0)], 0)
    logp = torch.tensor([[math.log(1.25)]])
    assert token_clip(0.2)(logp, batch)[0].item() == 0
    assert token_clip(0.2, 0.3)(logp, batch)[0].item() == pytest.approx(1.25)


def test_coefficients_are_the_gradient_of_the_clipped_objective():
    """By a loop over groups, candidates and tokens in float64, with the derivative of min(rho A, clip(rho) A)."""
    shape = ((5, (3, 1, 4)), (9, (2,)), (2, (6, 5)))
    rows = ragged_rows(shape)
    rng = np.random.default_rng(3)
    logps = [np.asarray(row.completion.logps) + 0.3 * rng.standard_normal(len(row.completion.ids)) for row in rows]
    expected, number, clipped = [], 0, 0
    for _, group in shape:
        for _ in group:
            row, advantage = rows[number], rows[number].advantage
            for new, old in zip(logps[number], row.completion.logps, strict=True):
                ratio = math.exp(new - old)
                flat = ratio * advantage > min(max(ratio, 0.8), 1.2) * advantage
                clipped += flat
                slope = 0.0 if flat else ratio * advantage
                expected.append(slope / len(shape) / len(group) / len(row.completion.ids))
            number += 1
    batch = pad(rows, 0)
    now = torch.zeros_like(batch.old_logps)
    now[batch.completion_mask == 1] = torch.tensor(np.concatenate(logps), dtype=torch.float32)
    coefficients, metrics = token_clip(0.2)(now, batch)
    found = coefficients[batch.completion_mask == 1].double().numpy()
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert 0 < clipped < len(expected)
    assert metrics["clip_fraction"].sum().item() == clipped


def test_the_surrogate_has_the_gradient_of_the_objective_by_autograd():
    batch = pad(ragged_rows(seed=5), 0)
    mask = batch.completion_mask
    logps = (batch.old_logps + 0.3 * torch.randn(mask.shape, generator=torch.Generator().manual_seed(0))) * mask
    logps = logps.double().requires_grad_()
    coefficients, _ = token_clip(0.2)(logps.detach(), batch)
    (surrogate,) = torch.autograd.grad(-(coefficients * logps).sum(), logps)
    ratio = torch.exp(logps - batch.old_logps)
    gain = torch.minimum(ratio * batch.advantages[:, None], ratio.clamp(0.8, 1.2) * batch.advantages[:, None])
    rows = (gain * mask).sum(-1) / mask.sum(-1)
    (clipped,) = torch.autograd.grad(-(batch.weights * rows).sum(), logps)
    torch.testing.assert_close(surrogate, clipped, atol=1e-7, rtol=1e-6)
    assert (clipped[mask == 1] == 0).any()


def test_padding_has_no_part():
    batch = pad(ragged_rows(), 0)
    logps = torch.full(batch.old_logps.shape, -50.0)
    coefficients, metrics = token_clip(0.2)(logps, batch)
    padded = batch.completion_mask == 0
    assert padded.any()
    assert (coefficients[padded] == 0).all()
    assert (metrics["approx_kl"][padded] == 0).all()


@pytest.mark.parametrize("range_", [(0.0, 0.2), (1.0, 0.2), (0.2, 0.0), (-0.1, 0.2)])
def test_an_impossible_range_is_refused(range_):
    with pytest.raises(BadValue, match="clip range"):
        token_clip(*range_)
