"""The exact row form: members in other micro-batches and of other policies give the gradient of the joint objective."""

import copy
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch
from update_batches import VOCABULARY, make_row, one_by_one, tiny_model

from mastrain.learning import Policies, update
from mastrain.nano import nano_tokenizer
from mastrain.objectives import setwise, token_clip
from mastrain.update_settings import UpdateSettings
from mastrain.updater import Updater


@pytest.fixture
def policies(tmp_path):
    pool = ThreadPoolExecutor(2)

    def make(names=("tool", "actor"), rate=0.0, micro=40):
        models = {name: tiny_model(seed=n, layers=1) for n, name in enumerate(names)}
        settings = UpdateSettings(learning_rate=rate, max_grad_norm=1e9)
        updaters = {p: Updater(m, nano_tokenizer(), settings, tmp_path / p) for p, m in models.items()}
        return Policies(updaters=updaters, pad_ids=dict.fromkeys(names, 0), micro_batch_tokens=micro, pool=pool)

    yield make
    pool.shutdown()


def sets(policies, names, sizes, spread, version=-1):
    """Policy -> rows of one set per size; member j of a set belongs to the j-th of `names`, round and round. Ragged
    replies; behaviour log-probs lie `spread` around the policies' own. Advantages of both signs."""
    rng, rows = np.random.default_rng(0), {name: [] for name in names}
    for event, size in enumerate(sizes):
        lengths = tuple(int(n) for n in rng.integers(1, 6, size))
        for place, tokens in enumerate(lengths):
            policy = names[place % len(names)]
            prompt = rng.integers(2, VOCABULARY, 3 + event % 3).tolist()
            row = make_row(prompt, rng.integers(2, VOCABULARY, tokens).tolist(), (0.0,) * tokens, agent=f"a_{place}")
            own = one_by_one(policies.updaters[policy].model, row)[0].detach().numpy()
            logps = tuple((own + spread * rng.standard_normal(tokens)).tolist())
            rows[policy].append(
                replace(
                    row,
                    policy=policy,
                    event=(event,),
                    place=place,
                    member=place,
                    set_tokens=lengths,
                    cardinality=size,
                    completion=replace(row.completion, logps=logps, policy=policy, version=version),
                    advantage=(-1) ** event * (0.5 + event / 10),
                    weight=1 / len(sizes),
                )
            )
    return rows


def joint(models, rows, a, b, eps):
    """-J of Eq. 7 with all members in one graph: (loss, how the sets fared as (A > 0, clipped))."""
    members, fared, loss = {}, [], torch.zeros(())
    for policy, some in rows.items():
        for row in some:
            now = one_by_one(models[policy], row)[0]
            log_ratio = (now - torch.tensor(row.completion.logps)).sum() / len(now) ** b
            members.setdefault(row.action, []).append((log_ratio, row.advantage))
    for found in members.values():
        advantage = found[0][1]
        ratio = torch.exp(sum(x for x, _ in found) / len(found) ** a)
        loss = loss - torch.minimum(ratio * advantage, ratio.clamp(1 - eps, 1 + eps) * advantage) / len(members)
        fared.append((advantage > 0, bool(ratio > 1 + eps if advantage > 0 else ratio < 1 - eps)))
    return loss, fared


def gradients(model):
    return [p.grad.clone() for p in model.parameters()]


@pytest.mark.parametrize("micro", [1, 40, 10_000])
@pytest.mark.parametrize(("a", "b", "eps"), [(0.5, 0, 0.2), (0, 0, 0.2), (1, 0, 0.1), (0.5, 1, 0.1), (0.3, 0.4, 0.2)])
def test_the_surrogate_has_the_gradient_of_the_joint_objective(policies, a, b, eps, micro):
    names, sizes = ("tool", "actor"), (1, 2, 3, 5, 2, 4, 1, 3, 2, 5, 3, 2)
    workers = policies(names, micro=micro)
    rows = sets(workers, names, sizes, 0.3)
    models = {p: copy.deepcopy(worker.model) for p, worker in workers.updaters.items()}
    loss, fared = joint(models, rows, a, b, eps)
    loss.backward()
    assert set(fared) == {(True, True), (True, False), (False, True), (False, False)}
    metrics = update(workers, rows, setwise(a, b, eps))
    for policy, worker in workers.updaters.items():
        for ours, theirs in zip(gradients(worker.model), gradients(models[policy]), strict=True):
            torch.testing.assert_close(ours, theirs, atol=2e-6, rtol=1e-4)
    clipped = [c for size, (_, c) in zip(sizes, fared, strict=True) if size == 2]
    assert metrics[-1]["sets/K2/clip_fraction"] == pytest.approx(np.mean(clipped))


def test_five_members_of_one_shared_policy(policies):
    workers = policies(("shared",), micro=30)
    rows = sets(workers, ("shared",), (5, 5, 5, 5), 0.2)
    model = copy.deepcopy(workers.updaters["shared"].model)
    loss, _ = joint({"shared": model}, rows, 0.5, 0, 0.2)
    loss.backward()
    update(workers, rows, setwise())
    for ours, theirs in zip(gradients(workers.updaters["shared"].model), gradients(model), strict=True):
        torch.testing.assert_close(ours, theirs, atol=2e-6, rtol=1e-4)


def test_on_the_policy_that_sampled_no_ratio_is_computed(policies, monkeypatch):
    workers = policies()
    rows = sets(workers, ("tool", "actor"), (2, 3), 0.0, version=0)
    monkeypatch.setattr(Updater, "logps", None)
    metrics = update(workers, rows, setwise())[-1]
    assert metrics["sets/K2/ratio"] == metrics["sets/K3/ratio"] == 1
    assert metrics["sets/K2/log_ratio_variance"] == 0


def test_what_is_logged_by_set_size_is_of_sets_with_an_advantage(policies):
    """Whether the others were computed, for KL or entropy, or not."""
    names, sizes, workers = ("tool", "actor"), (2, 2, 3, 3), policies()
    rows = {
        policy: [replace(row, advantage=0.0) if row.event in ((0,), (2,)) else row for row in some]
        for policy, some in sets(workers, names, sizes, 0.3).items()
    }
    some = {policy: [row for row in found if row.advantage] for policy, found in rows.items()}
    assert update(workers, rows, setwise())[-1] == pytest.approx(update(workers, some, setwise())[-1])


def test_no_advantage_no_gradient(policies):
    workers = policies()
    rows = sets(workers, ("tool", "actor"), (2, 3), 0.3)
    update(workers, {p: [replace(row, advantage=0.0) for row in some] for p, some in rows.items()}, setwise())
    assert all((g == 0).all() for worker in workers.updaters.values() for g in gradients(worker.model))


def test_metrics_by_set_size(policies):
    """L_e of each set, and what is logged of those of one size, from the log-probs of the models one by one."""
    workers, sizes = policies(), (1, 2, 2, 3, 2)
    rows = sets(workers, ("tool", "actor"), sizes, 0.3)
    found = {}
    for policy, some in rows.items():
        for row in some:
            now = one_by_one(workers.updaters[policy].model, row)[0].detach().double()
            found.setdefault(row.event[0], []).append((now - torch.tensor(row.completion.logps)).sum().item())
    logs = [sum(found[e]) / 2**0.5 for e, size in enumerate(sizes) if size == 2]
    advantages = [(-1) ** e * (0.5 + e / 10) for e, size in enumerate(sizes) if size == 2]
    metrics = update(workers, rows, setwise())[-1]
    assert metrics["sets/K2/ratio"] == pytest.approx(np.mean(np.exp(logs)), rel=1e-4)
    assert metrics["sets/K2/log_ratio_variance"] == pytest.approx(np.var(logs), rel=1e-3)
    assert metrics["sets/K2/advantage"] == pytest.approx(np.mean(advantages))
    assert metrics["sets/K2/advantage_size"] == pytest.approx(np.mean(np.abs(advantages)))
    assert {name.split("/")[1] for name in metrics} == {"K1", "K2", "K3"}


@pytest.mark.parametrize("objective", [setwise(), token_clip(0.2)], ids=["sets", "tokens"])
def test_fault_12_behaviour_log_probs_of_all_members_are_frozen_before_any_policy_moves(policies, objective):
    """Two policies, several steps: every ratio is to what was sampled, and a set's members are all measured before the
    first of their policies steps."""
    names = ("tool", "actor")
    workers = policies(names, rate=3e-2)
    rows = sets(workers, names, (2, 2, 3), 0.0, version=0)
    sampled = {row.completion.ids: row.completion.logps for some in rows.values() for row in some}
    seen = []

    class Spy(type(objective) if hasattr(objective, "of_sets") else object):
        def __call__(self, logps, batch):
            seen.append(batch)
            return objective(logps, batch)

    spy = Spy(a=0.5, b=0.0, eps=0.2) if hasattr(objective, "of_sets") else Spy()
    for step in range(3):
        expected = {}
        for policy, some in rows.items():
            for row in some:
                now = one_by_one(workers.updaters[policy].model, row)[0].detach()
                expected[row.action, row.place] = (now - torch.tensor(row.completion.logps)).sum().item()
        seen.clear()
        update(workers, rows, spy)
        for batch in seen:
            for r in range(len(batch)):
                tokens = int(batch.completion_mask[r].sum())
                ids = tuple(batch.completion_ids[r, :tokens].tolist())
                assert batch.old_logps[r, :tokens].tolist() == pytest.approx(sampled[ids])
        if hasattr(objective, "of_sets"):
            got = sorted(x for batch in seen for x in batch.set_log_ratios.flatten().tolist() if x)
            want = sorted(x for (action, _), x in expected.items() for _ in range(3 if action == ((2,), 0) else 2))
            assert got == pytest.approx(want if step else [], abs=1e-4)
