"""Steps of the updater: what moves, how far, and what leaves the weights alone."""

import copy
import math

import pytest
import torch
from update_batches import make_row, near, ragged_rows, tiny_model
from update_steps import CLIP, close, cut, gradients, move

from masgym.errors import BadValue
from mastrain.batch import pad


@pytest.mark.parametrize("shared", [True, False])
def test_one_and_three_ragged_micro_batches_give_equal_gradients(updater, rows, shared):
    settings = {"learning_rate": 0.0, "kl_beta": 0.1, "entropy_coefficient": 0.05, "shared_prefix": shared}
    one, of_one = gradients(updater(**settings), cut(rows))
    three, of_three = gradients(updater(**settings), cut(rows, 3, 4))
    close(one, three)
    assert max(g.abs().max() for g in one) > 1e-3
    for name, x in of_one.items():
        assert of_three[name] == pytest.approx(x, rel=1e-4, abs=1e-6), name


def test_shared_and_plain_forward_give_equal_steps(updater, rows):
    models = []
    for shared in (True, False):
        worker = updater(shared_prefix=shared, learning_rate=1e-3)
        worker.step(cut(rows, 5), CLIP)
        models.append(list(worker.model.parameters()))
    close(*models, atol=1e-5)


@pytest.mark.parametrize("target", [0.0, 1e-9, 99.0])
def test_the_entropy_bonus_follows_its_target(updater, rows, target):
    worker = updater(entropy_coefficient=0.01, entropy_target=target)
    used, wanted = [], 0.01
    for _ in range(3):
        metrics = worker.step(cut(rows), CLIP)
        used.append(metrics["entropy_coefficient"])
        assert used[-1] == pytest.approx(wanted)
        if target == 99.0:
            wanted *= math.exp(0.2 * (1 - metrics["entropy"] / target))
    assert (len(set(used)) == 1) is (target < 99)
    again = updater(entropy_coefficient=0.01, entropy_target=target)
    again.load_state_dict(worker.state_dict())
    assert again.step(cut(rows), CLIP)["entropy_coefficient"] == pytest.approx(wanted)


def test_a_good_reply_becomes_likelier_and_a_bad_one_less(updater):
    worker = updater(learning_rate=3e-3)
    plain = [make_row((4, 5), (6, 7), (0, 0), advantage=1.0), make_row((4, 5), (8, 9), (0, 0), advantage=-1.0)]
    batch = pad(near(worker.model, plain, spread=0.0), 0)
    before = worker.logps(batch).sum(-1)
    worker.step([batch], CLIP)
    after = worker.logps(batch).sum(-1)
    assert after[0] > before[0]
    assert after[1] < before[1]


def test_kl_pulls_back_to_the_initial_weights(updater, rows):
    still = [make_row(r.prompt.ids, r.completion.ids, r.completion.logps, advantage=0.0, weight=r.weight) for r in rows]
    worker = updater(kl_beta=1.0, learning_rate=1e-3)
    for _ in range(4):
        move(worker)
    kl = [worker.step(cut(still), CLIP)["kl"] for _ in range(15)]
    assert kl[-1] < kl[0] / 2


def test_the_entropy_bonus_raises_entropy(updater, rows):
    still = [make_row(r.prompt.ids, r.completion.ids, r.completion.logps, advantage=0.0, weight=r.weight) for r in rows]
    worker = updater(entropy_coefficient=1.0, learning_rate=3e-3)
    entropy = [worker.step(cut(still), CLIP)["entropy"] for _ in range(6)]
    assert entropy[-1] > entropy[0] + 0.05


def test_there_is_no_dropout_while_training(updater, rows):
    worker = updater(model=tiny_model(dropout=0.5), learning_rate=0.0)
    plain = updater(learning_rate=0.0)
    close(*(gradients(w, cut(rows))[0] for w in (worker, plain)))
    assert not worker.model.training


def test_a_gradient_that_is_not_finite_leaves_the_weights(updater, rows):
    worker = updater()
    before = copy.deepcopy(worker.model)
    bad = [make_row(r.prompt.ids, r.completion.ids, r.completion.logps, advantage=math.inf) for r in rows]
    with pytest.raises(FloatingPointError, match="gradient norm"):
        worker.step(cut(bad), CLIP)
    assert worker.steps == 0
    for a, b in zip(worker.model.parameters(), before.parameters(), strict=True):
        assert torch.equal(a, b)
    assert not worker.model.training


def test_an_update_without_rows_is_refused(updater):
    with pytest.raises(BadValue, match="0 micro-batches"):
        updater().step([], CLIP)


def test_equal_steps_give_equal_bits(updater, rows):
    runs = []
    for _ in range(2):
        worker = updater()
        runs.append(([worker.step(cut(rows, 4), CLIP) for _ in range(3)], list(worker.model.parameters())))
    assert runs[0][0] == runs[1][0]
    assert all(torch.equal(a, b) for a, b in zip(runs[0][1], runs[1][1], strict=True))


def test_fault_12_behaviour_log_probs_are_frozen_before_any_policy_moves(updater):
    """Two roles on one shared model, updated in several steps one after another: every ratio is to what was sampled,
    never to weights that another role's update has moved."""
    worker = updater(learning_rate=3e-2)
    shape = ((5, (3, 1)), (4, (2, 2)))
    roles = {role: near(worker.model, ragged_rows(shape, seed=n), 0.0) for n, role in enumerate(("tool", "actor"))}
    batches = {role: pad(rows, 0) for role, rows in roles.items()}
    sampled = {role: batch.old_logps.clone() for role, batch in batches.items()}
    seen = []

    def spy(logps, batch):
        seen.append((logps, batch.old_logps))
        return CLIP(logps, batch)

    for role in ("tool", "actor", "tool", "actor"):
        now = worker.logps(batches[role])
        mask = batches[role].completion_mask == 1
        metrics = worker.step([batches[role]], spy)
        assert torch.equal(seen[-1][1], sampled[role])
        torch.testing.assert_close(seen[-1][0], now)
        expected = torch.exp(now - sampled[role])[mask].mean().item()
        assert metrics["ratio"] == pytest.approx(expected, rel=1e-5)
        if len(seen) > 1:  # the first step moved the weights of both
            assert metrics["approx_kl"] > 1e-4
    assert all(torch.equal(batches[role].old_logps, sampled[role]) for role in roles)


def test_the_schedule_is_what_the_optimiser_uses(updater, rows):
    worker = updater(schedule="linear", total_steps=2, learning_rate=1e-2)
    assert [worker.step(cut(rows), CLIP)["learning_rate"] for _ in range(2)] == [1e-2, 5e-3]
    before = copy.deepcopy(worker.model)
    assert worker.step(cut(rows), CLIP)["learning_rate"] == 0
    close(worker.model.parameters(), before.parameters(), atol=0)
