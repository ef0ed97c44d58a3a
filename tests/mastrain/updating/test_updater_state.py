"""An updater's state is saved and taken up again; TRL beneath it keeps to itself."""

import copy
import inspect
import random
import socket
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
import trl
from trl.trainer.grpo_trainer import GRPOTrainer
from update_batches import tiny_model
from update_steps import CLIP, cut

from masgym.errors import BadValue


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
