"""One ratio and one clip per set (SRPO, arXiv 2609.08452), with numbers worked by hand."""

import itertools
import math
from dataclasses import replace

import pytest
import torch
from update_batches import make_row, ragged_rows

from masgym.errors import BadValue
from mastrain.batch import pad
from mastrain.objectives import setwise

ROOT = 1 / math.sqrt(2)


def member(tokens, place, lengths, advantage, weight=1.0, event=0):
    row = make_row((2, 3), (4,) * tokens, (-1.0,) * tokens, advantage=advantage, weight=weight)
    return replace(row, event=(event,), place=place, set_tokens=lengths, cardinality=len(lengths))


def coefficients(objective, row, log_ratios):
    batch = pad([row], 0, {row.action: log_ratios})
    found, metrics = objective(batch.old_logps, batch)
    return found[0].tolist(), {name: x[0, 0].item() for name, x in metrics.items()}


@pytest.mark.parametrize(
    ("a", "b", "advantage", "log_ratios", "ratio", "coefficient"),
    [
        (0.5, 0, 2.0, (0.3, 0.1), math.exp(0.4 * ROOT), 0.0),  # 1.33: clipped
        (0.5, 0, -2.0, (0.3, 0.1), math.exp(0.4 * ROOT), -2 * math.exp(0.4 * ROOT) * ROOT),  # bad and likelier: back
        (0.5, 0, 2.0, (0.1, 0.1), math.exp(0.2 * ROOT), 2 * math.exp(0.2 * ROOT) * ROOT),
        (0.5, 0, -2.0, (-0.5, 0.1), math.exp(-0.4 * ROOT), 0.0),  # 0.75: clipped
        (0.5, 0, 2.0, (-0.5, 0.1), math.exp(-0.4 * ROOT), 2 * math.exp(-0.4 * ROOT) * ROOT),
        (0, 0, 2.0, (0.1, 0.05), math.exp(0.15), 2 * math.exp(0.15)),  # joint sum
        (1, 0, 2.0, (0.3, 0.05), math.exp(0.175), math.exp(0.175)),  # mean over members
        (0.5, 1, 2.0, (0.3, 0.1), math.exp(0.175 * ROOT), math.exp(0.175 * ROOT) * ROOT),  # T = 2, 4: .15 + .025
    ],
)
def test_one_set_by_hand(a, b, advantage, log_ratios, ratio, coefficient):
    row = member(2, 0, (2, 4), advantage)
    found, metrics = coefficients(setwise(a, b), row, log_ratios)
    assert found == pytest.approx([coefficient] * 2, abs=1e-6)
    assert metrics["ratio"] == pytest.approx(ratio, rel=1e-6)
    assert metrics["clip_fraction"] == (coefficient == 0)


def test_one_member_at_b_0_is_sequence_level_ppo():
    """K_e = 1: the ratio is that of the whole reply, exp of the summed log-ratio."""
    rows = [replace(row, event=(n,)) for n, row in enumerate(ragged_rows(seed=2))]
    batch = pad(rows, 0)
    draws = torch.randn(batch.old_logps.shape, generator=torch.Generator().manual_seed(1))
    logps = ((batch.old_logps + 0.2 * draws) * batch.completion_mask).double().requires_grad_()
    sums = ((logps - batch.old_logps) * batch.completion_mask).sum(-1)
    ratio, advantages = sums.exp(), batch.advantages.double()
    gain = torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
    (expected,) = torch.autograd.grad((batch.weights * gain).sum(), logps)
    moved = replace(batch, set_log_ratios=sums.detach()[:, None].float())
    found, metrics = setwise(0.5, 0)(logps.detach(), moved)
    torch.testing.assert_close(found.double(), expected, atol=1e-6, rtol=1e-5)
    assert 0 < metrics["clip_fraction"][:, 0].mean() < 1


def test_permutation_of_members_changes_nothing():
    lengths, ratios, objective = (3, 1, 2), (0.2, -0.3, 0.15), setwise(0.5, 1)
    whole = [coefficients(objective, member(lengths[j], j, lengths, 1.5), ratios)[0] for j in range(3)]
    for order in itertools.permutations(range(3)):
        shuffled, moved = tuple(lengths[j] for j in order), tuple(ratios[j] for j in order)
        for place, j in enumerate(order):
            found, _ = coefficients(objective, member(lengths[j], place, shuffled, 1.5), moved)
            assert found == pytest.approx(whole[j], rel=1e-6)


@pytest.mark.parametrize(("a", "growth"), [(0.5, 0), (0, 1), (1, -1)])
def test_variance_of_the_log_ratio_of_independent_members(a, growth):
    """Eq. 5: constant in K_e at a = 1/2; at 0 it grows as K_e, at 1 it shrinks as 1 / K_e."""
    draws = torch.Generator().manual_seed(0)
    for size in (1, 2, 5, 7):
        log_ratios = 0.3 * torch.randn(40_000, size, generator=draws)
        found = setwise(a, 0).of_sets(log_ratios, torch.ones_like(log_ratios), torch.ones(len(log_ratios)))
        assert found["log_ratio"].var().item() == pytest.approx(0.09 * size**growth, rel=0.05)


def test_padding_of_smaller_sets_has_no_part():
    alone, pair = member(2, 0, (2,), 1.0, event=0), member(2, 0, (2, 3), 1.0, event=1)
    ratios = {alone.action: (0.1,), pair.action: (0.1, 0.0)}
    both = pad([alone, pair], 0, ratios)
    assert both.set_tokens.tolist() == [[2, 0], [2, 3]]
    found, _ = setwise(0.5, 1)(both.old_logps, both)
    for n, row in enumerate((alone, pair)):
        assert found[n].tolist() == pytest.approx(coefficients(setwise(0.5, 1), row, ratios[row.action])[0])


def test_no_advantage_no_gradient_and_no_nan():
    found, metrics = coefficients(setwise(), member(3, 0, (3, 1), 0.0), (0.5, 0.4))
    assert found == [0.0] * 3
    assert not any(math.isnan(x) for x in metrics.values())
    assert metrics["clip_fraction"] == 0


@pytest.mark.parametrize("eps", [0.0, 1.0, -0.1])
def test_an_impossible_range_is_refused(eps):
    with pytest.raises(BadValue, match="clip range"):
        setwise(0.5, 0, eps)
