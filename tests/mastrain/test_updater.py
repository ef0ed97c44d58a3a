import copy
import inspect
import math
import random
import socket
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
import trl
from trl.trainer.grpo_trainer import GRPOTrainer
from update_batches import make_row, near, one_by_one, ragged_rows, tiny_model

from masgym.errors import BadValue
from mastrain.batch import pad
from mastrain.nano import nano_tokenizer
from mastrain.objectives import token_clip
from mastrain.update_settings import UpdateSettings
from mastrain.updater import Updater

FREE = 1e9  # a gradient clip that does nothing
CLIP = token_clip(0.2)


@pytest.fixture
def updater(tmp_path):
    def make(model=None, **settings):
        settings = {"max_grad_norm": FREE, "learning_rate": 1e-2, **settings}
        return Updater(model or tiny_model(), nano_tokenizer(), UpdateSettings(**settings), tmp_path)

    return make


@pytest.fixture(scope="module")
def rows():
    shape = ((5, (3, 1, 4)), (9, (2, 5)), (2, (6, 5)), (12, (1, 1, 2)))
    return near(tiny_model(), ragged_rows(shape))


def gradients(updater, micro_batches):
    """Of one step that leaves the weights where they are, and its metrics."""
    metrics = updater.step(micro_batches, CLIP)
    return [p.grad.clone() for p in updater.model.parameters()], metrics


def cut(rows, *ends):
    return [pad(rows[a:b], 0) for a, b in zip((0, *ends), (*ends, len(rows)), strict=True)]


def close(ours, theirs, atol=1e-6):
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, atol=atol, rtol=1e-5)


# --- hand formulas ----------------------------------------------------------------------------------------------


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


def move(worker):
    """Away from the initial weights, which are the reference."""
    draws = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in worker.model.parameters():
            parameter.mul_(1 + 0.04 * torch.randn(parameter.shape, generator=draws))


# --- one step ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [True, False])
def test_one_and_three_ragged_micro_batches_give_equal_gradients(updater, rows, shared):
    settings = {"learning_rate": 0.0, "kl_beta": 0.1, "entropy_coefficient": 0.05, "shared_prefix": shared}
    one, of_one = gradients(updater(**settings), cut(rows))
    three, of_three = gradients(updater(**settings), cut(rows, 3, 4))
    close(one, three)
    assert max(g.abs().max() for g in one) > 1e-3
    for name, x in of_one.items():
        assert of_three[name] == pytest.approx(x, rel=1e-4, abs=1e-6), name


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


def test_the_entropy_bonus_has_bounds_and_needs_a_start():
    settings = UpdateSettings(entropy_coefficient=0.01, entropy_target=0.5)
    assert settings.next_entropy_coefficient(0.02, 0.4) == pytest.approx(0.02 * math.exp(0.04))
    assert settings.next_entropy_coefficient(0.02, 0.5) == pytest.approx(0.02)
    assert settings.next_entropy_coefficient(0.5, 0.1) == pytest.approx(0.5)
    assert settings.next_entropy_coefficient(0.01, 0.9) == pytest.approx(0.01)
    with pytest.raises(BadValue, match="coefficient to start from"):
        UpdateSettings(entropy_target=0.5)
    with pytest.raises(BadValue, match="only `group`"):
        UpdateSettings(entropy_coefficient=0.01, entropy_target=0.5, loss="dapo")


def test_shared_and_plain_forward_give_equal_steps(updater, rows):
    models = []
    for shared in (True, False):
        worker = updater(shared_prefix=shared, learning_rate=1e-3)
        worker.step(cut(rows, 5), CLIP)
        models.append(list(worker.model.parameters()))
    close(*models, atol=1e-5)


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


# --- fault 12 ---------------------------------------------------------------------------------------------------


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


# --- state ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kl_beta", [0.0, 0.1])
def test_resuming_is_bit_for_bit(updater, rows, tmp_path, kl_beta):
    settings = {"schedule": "cosine", "warmup_steps": 1, "total_steps": 9, "kl_beta": kl_beta}
    worker = updater(**settings)
    for _ in range(3):
        worker.step(cut(rows, 4), CLIP)
    torch.save(worker.state_dict(), tmp_path / "state.pt")
    weights = {name: x.clone() for name, x in worker.model.state_dict().items()}
    went_on = [worker.step(cut(rows, 4), CLIP) for _ in range(2)]

    model = tiny_model(seed=7)
    model.load_state_dict(weights)
    again = updater(model=model, **settings)
    again.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    assert again.steps == 3
    assert [again.step(cut(rows, 4), CLIP) for _ in range(2)] == went_on
    for a, b in zip(worker.model.parameters(), again.model.parameters(), strict=True):
        assert torch.equal(a, b)


def test_a_state_of_another_model_is_refused(updater, rows):
    worker, other = updater(), updater(model=tiny_model(layers=1))
    worker.step(cut(rows), CLIP)
    with pytest.raises(BadValue, match="another model"):
        other.load_state_dict(worker.state_dict())
    with pytest.raises(BadValue, match="kl_beta"):
        updater(kl_beta=0.1).load_state_dict(worker.state_dict())


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        ("constant", [0.25, 0.5, 0.75, 1, 1, 1, 1, 1]),
        ("linear", [0.25, 0.5, 0.75, 1, 0.75, 0.5, 0.25, 0, 0]),
        ("cosine", [0.25, 0.5, 0.75, 1, 0.5 + math.sqrt(0.125), 0.5, 0.5 - math.sqrt(0.125), 0, 0]),
    ],
)
def test_learning_rates(schedule, rates):
    settings = UpdateSettings(learning_rate=2.0, schedule=schedule, warmup_steps=3, total_steps=7)
    assert [settings.learning_rate_at(s) / 2 for s in range(len(rates))] == pytest.approx(rates)


def test_a_falling_rate_reaches_0_where_the_budget_is_spent():
    linear = UpdateSettings(learning_rate=2.0, schedule="linear", warmup_steps=2, total_steps=102)
    assert linear.learning_rate_at(12, 0.5) == pytest.approx(1)  # the budget ends first
    assert linear.learning_rate_at(92, 0.5) == pytest.approx(0.2)  # the steps do
    assert linear.learning_rate_at(12, 1.2) == 0
    assert linear.learning_rate_at(0, 0.5) == pytest.approx(2 / 3)  # warm-up
    assert UpdateSettings(learning_rate=2.0).learning_rate_at(12, 0.5) == 2


def test_the_schedule_is_what_the_optimiser_uses(updater, rows):
    worker = updater(schedule="linear", total_steps=2, learning_rate=1e-2)
    assert [worker.step(cut(rows), CLIP)["learning_rate"] for _ in range(2)] == [1e-2, 5e-3]
    before = copy.deepcopy(worker.model)
    assert worker.step(cut(rows), CLIP)["learning_rate"] == 0
    close(worker.model.parameters(), before.parameters(), atol=0)


@pytest.mark.parametrize(
    "bad", [{"temperature": 0.0}, {"schedule": "cosine"}, {"schedule": "linear", "warmup_steps": 4}]
)
def test_settings_that_contradict_themselves_are_refused(bad):
    with pytest.raises(BadValue):
        UpdateSettings(**bad)


# --- living with TRL --------------------------------------------------------------------------------------------


def test_two_workers_in_two_threads_get_the_bits_of_one_after_the_other(updater, rows):
    def run(worker):
        return [worker.step(cut(rows, 4), CLIP) for _ in range(6)]

    def workers():
        return [updater(model=tiny_model(seed=s), kl_beta=0.1, learning_rate=10.0 ** -(s + 2)) for s in range(2)]

    one_by_one_, at_once = workers(), workers()
    expected = [run(worker) for worker in one_by_one_]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(run, at_once)) == expected
    for a, b in zip(one_by_one_, at_once, strict=True):
        assert all(torch.equal(x, y) for x, y in zip(a.model.parameters(), b.model.parameters(), strict=True))
    assert expected[0] != expected[1]


def test_making_one_touches_no_global_generator_no_network_and_no_screen(updater, monkeypatch, capfd):
    def refuse(*_):
        raise AssertionError("the network was asked for")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    before = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state()
    worker = updater(kl_beta=0.1)
    after = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state()
    assert before[:2] == after[:2]
    assert torch.equal(before[2], after[2])
    assert capfd.readouterr() == ("", "")
    assert list(worker.args.report_to) == []


def test_a_copy_of_an_updated_model_runs_its_own_weights(updater):
    model = tiny_model()
    updater(model=model)
    twin = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.zero_()
    ids = torch.tensor([[3, 4]])
    assert not twin(input_ids=ids).logits.any()
    assert model(input_ids=ids).logits.any()


def test_what_is_relied_on_in_trl():
    """Private: a new version may move it, and then this says so before a run does."""
    assert trl.__version__.startswith("1.16.")
    parameters = {
        "_prepare_inputs": ["self", "generation_batch"],
        "_compute_loss": ["self", "model", "inputs"],
        "training_step": ["self", "model", "inputs", "num_items_in_batch"],
        "get_train_dataloader": ["self"],
        "_send_telemetry": ["self"],
        "create_optimizer": ["self", "model"],
    }
    for name, expected in parameters.items():
        assert list(inspect.signature(getattr(GRPOTrainer, name)).parameters) == expected, name
    measure = list(inspect.signature(GRPOTrainer._get_per_token_logps_and_entropies).parameters)
    head = ["self", "model", "input_ids", "attention_mask", "logits_to_keep", "batch_size"]
    assert measure[:8] == [*head, "compute_entropy", "compute_aux_loss"]
    assert GRPOTrainer.loss_is_scaled_for_ga is True  # so that Trainer does not divide once more
    source = inspect.getsource(GRPOTrainer._compute_loss)
    for key in ("old_per_token_logps", "ref_per_token_logps", "num_items_in_batch", "steps_per_generation"):
        assert f'"{key}"' in source or f".{key}" in source, key
