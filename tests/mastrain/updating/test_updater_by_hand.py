"""The updater's losses and metrics, against formulas worked row by row and token by token."""

import copy
import math

import numpy as np
import pytest
import torch
from update_batches import one_by_one
from update_steps import CLIP, close, cut, gradients, move

from mastrain.batch import pad


def by_hand(model, rows, number_of_rows, loss, beta=0.0, bonus=0.0, reference=None):
    """One micro-batch's loss, row by row and token by token. `number_of_rows`: (micro-batches, tokens) of the step."""
    micro_batches, tokens = number_of_rows
    sums, lengths, entropies = [], [], []
    for row in rows:
        logps, entropy = one_by_one(model, row)
        kl = torch.zeros(())
        total = torch.zeros(())
        for t, old in enumerate(row.completion.logps):
            ratio = torch.exp(logps[t] - old)
            total = total - torch.minimum(ratio * row.advantage, ratio.clamp(0.8, 1.2) * row.advantage)
            if beta:
                apart = one_by_one(reference, row)[0][t].detach() - logps[t]
                kl = kl + torch.exp(apart) - apart - 1
        sums.append(total + beta * kl)
        lengths.append(len(logps))
        entropies.append(entropy.sum())
    if loss == "group":
        per_row = [(s - bonus * h) / n for s, h, n in zip(sums, entropies, lengths, strict=True)]
        return sum(row.weight * x for row, x in zip(rows, per_row, strict=True))
    policy = {
        "grpo": sum(s / n for s, n in zip(sums, lengths, strict=True)) / len(rows) / micro_batches,
        "bnpo": sum(sums) / sum(lengths) / micro_batches,
        "dr_grpo": sum(sums) / (len(rows) * 7) / micro_batches,
        "dapo": sum(sums) / tokens,
    }[loss]
    return policy - bonus * sum(entropies) / sum(lengths) / micro_batches


@pytest.mark.parametrize("regularised", [False, True], ids=["plain", "kl and entropy"])
@pytest.mark.parametrize("loss", ["group", "grpo", "dapo", "bnpo", "dr_grpo"])
def test_losses_by_hand_on_ragged_micro_batches(updater, rows, loss, regularised):
    beta, bonus = (0.3, 0.2) if regularised else (0.0, 0.0)
    settings = {"kl_beta": beta, "entropy_coefficient": bonus, "loss": loss, "max_completion_tokens": 7}
    worker = updater(learning_rate=0.0, **settings)
    move(worker)
    model = copy.deepcopy(worker.model)
    micro = [rows[:3], rows[3:5], rows[5:]]
    step = (len(micro), sum(len(row.completion.ids) for row in rows))
    expected = sum(by_hand(model, part, step, loss, beta, bonus, worker.ref_model) for part in micro)
    expected.backward()
    found, metrics = gradients(worker, [pad(part, 0) for part in micro])
    close(found, [p.grad for p in model.parameters()], atol=2e-6)
    assert 0 < metrics["clip_fraction"] < 1
    if loss != "group":  # the group loss is a surrogate: its value is not the objective's
        assert metrics["loss"] == pytest.approx(expected.item(), abs=1e-5)


def test_metrics_by_hand(updater, rows):
    worker = updater(kl_beta=0.1)
    move(worker)
    entropies, kls, ratios, approx, clipped = [], [], [], [], []
    for row in rows:
        logps, entropy = (x.detach().double() for x in one_by_one(worker.model, row))
        entropies += entropy.tolist()
        apart = (one_by_one(worker.ref_model, row)[0].double() - logps).tolist()
        kls += [math.exp(x) - x - 1 for x in apart]
        for new, old in zip(logps.tolist(), row.completion.logps, strict=True):
            ratio = math.exp(new - old)
            ratios.append(ratio)
            approx.append(ratio - 1 - (new - old))
            clipped.append(ratio > 1.2 if row.advantage > 0 else ratio < 0.8)
    metrics = worker.step(cut(rows, 4), CLIP)
    expected = {"entropy": entropies, "kl": kls, "ratio": ratios, "approx_kl": approx, "clip_fraction": clipped}
    for name, values in expected.items():
        assert metrics[name] == pytest.approx(np.mean(values), rel=1e-4), name
    assert set(metrics) == {*expected, "loss", "grad_norm", "learning_rate", "entropy_coefficient"}


def test_logps_are_of_the_tempered_distribution(updater, rows):
    worker = updater(temperature=1.5)
    found = worker.logps(pad(rows, 0))
    assert not found.requires_grad
    for r, row in enumerate(rows):
        logps, _ = one_by_one(worker.model, row, 1.5)
        torch.testing.assert_close(found[r, : len(logps)], logps.detach(), atol=1e-5, rtol=1e-5)


def test_a_step_follows_the_gradient_and_is_adamw(updater, rows):
    worker = updater(learning_rate=1e-3, weight_decay=0.1, betas=(0.8, 0.9))
    twin = copy.deepcopy(worker.model)
    found, _ = gradients(worker, cut(rows))
    decayed = [p for p in twin.parameters() if p.dim() > 1]
    rest = [p for p in twin.parameters() if p.dim() == 1]
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]
    adam = torch.optim.AdamW(groups, lr=1e-3, betas=(0.8, 0.9))
    for parameter, gradient in zip(twin.parameters(), found, strict=True):
        parameter.grad = gradient
    adam.step()
    close(worker.model.parameters(), twin.parameters())


def test_gradients_are_clipped_by_their_norm(updater, rows):
    free, metrics = gradients(updater(learning_rate=0.0), cut(rows))
    norm = math.sqrt(sum((g.double() ** 2).sum().item() for g in free))
    assert metrics["grad_norm"] == pytest.approx(norm, rel=1e-5)
    held, metrics = gradients(updater(learning_rate=0.0, max_grad_norm=norm / 4), cut(rows))
    assert metrics["grad_norm"] == pytest.approx(norm, rel=1e-5)
    close([g / 4 for g in free], held, atol=1e-5)
