"""The supervised start and its cache."""

import dataclasses
import random
import re

import numpy as np
import pytest
import torch

import masgym
from mastrain import start_cache, warmstart
from mastrain.config import WarmstartConfig
from mastrain.demonstrations import demonstrations
from mastrain.nano import Nano, nano_model, nano_tokenizer
from mastrain.start_cache import fingerprint
from mastrain.warmstart import IGNORED, example, teach, warm_start

TOKENIZER = nano_tokenizer()
SETTINGS = WarmstartConfig(steps=6, batch=8, lr=1e-2, corrupt=0.3, seed=0, threads=1)
GAME = masgym.game("sokoban", style="compact")


def print_of(game, model, settings):
    return fingerprint(game, model, TOKENIZER, settings)


def tiny(seed=0):
    return nano_model(Nano(hidden=16, layers=1, heads=2, feed_forward=24), seed)


def equal(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def start(models=None, settings=SETTINGS, game=GAME):
    models, said = models or {"p": tiny()}, []
    warm_start(game, models, dict.fromkeys(models, TOKENIZER), settings, said.append)
    return models, said


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MASGYM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def no_teaching(monkeypatch):
    def refuse(*arguments):
        raise AssertionError("taught, though it is cached")

    return lambda: monkeypatch.setattr(warmstart, "teach", refuse)


def reply_loss(model, examples):
    """Mean over the tokens of reply and end, by hand."""
    losses = []
    for one in examples:
        ids, first = one["input_ids"], one["labels"].count(IGNORED)
        with torch.no_grad():
            logps = torch.log_softmax(model(torch.tensor([ids])).logits[0], -1)
        losses += [-float(logps[i - 1, ids[i]]) for i in range(first, len(ids))]
    return sum(losses) / len(losses)


def test_an_example_is_prompt_reply_and_end_with_loss_after_the_prompt():
    shown = demonstrations(GAME, 4, 0.3, seed=0)[3]
    one = example(TOKENIZER, shown)
    text = f"{shown.messages[0].content}<bos>{shown.reply}<eos>"
    assert TOKENIZER.decode(one["input_ids"]) == text
    learned = [label for label in one["labels"] if label != IGNORED]
    assert TOKENIZER.decode(learned) == f"{shown.reply}<eos>"
    assert one["labels"] == [IGNORED] * (len(one["labels"]) - len(learned)) + one["input_ids"][-len(learned) :]


def test_sft_trains_on_replies_only():
    said = []
    teach(GAME, tiny(), TOKENIZER, dataclasses.replace(SETTINGS, steps=1, batch=32), said.append)
    reported = float(re.search(r"loss ([\d.]+)", said[-1])[1])
    examples = [example(TOKENIZER, one) for one in demonstrations(GAME, 32, 0.3, seed=0)]
    assert reported == pytest.approx(reply_loss(tiny(), examples), abs=2e-3)


def test_teaching_teaches_the_same_every_time_and_leaves_all_else_alone():
    model = tiny()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    torch.manual_seed(5)
    np.random.seed(5)
    random.seed(5)
    generators = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()
    settings = dataclasses.replace(SETTINGS, steps=25)
    first, second = (teach(GAME, model, TOKENIZER, settings) for _ in range(2))
    assert equal(first, second)
    assert equal(before, model.state_dict())
    assert type(model).forward is type(tiny()).forward
    assert "forward" not in vars(model)  # SFTTrainer patches the model that it trains
    assert torch.equal(generators[0], torch.get_rng_state())
    assert generators[1:] == (np.random.get_state()[1].tolist(), random.getstate())
    unseen = [example(TOKENIZER, one) for one in demonstrations(GAME, 40, 0.3, seed=77)]
    untaught = reply_loss(model, unseen)
    model.load_state_dict(first)
    assert reply_loss(model, unseen) < untaught - 1


def test_no_steps_no_teaching(cache):
    models, _ = start(settings=dataclasses.replace(SETTINGS, steps=0))
    assert equal(models["p"].state_dict(), tiny().state_dict())


def test_every_policy_starts_from_the_same_weights(cache):
    models, said = start({"tool": tiny(), "actor": tiny()})
    assert equal(models["tool"].state_dict(), models["actor"].state_dict())
    assert not equal(models["tool"].state_dict(), tiny().state_dict())
    assert sum("making" in line for line in said) == 1
    models["tool"].lm_head.weight.data.zero_()
    assert models["actor"].lm_head.weight.abs().sum() > 0  # equal, not the same


def test_the_second_time_it_comes_from_the_cache(cache, no_teaching):
    first, _ = start()
    no_teaching()
    second, said = start()
    assert equal(first["p"].state_dict(), second["p"].state_dict())
    assert any("from the cache" in line for line in said)
    assert {path.suffix for path in cache.iterdir()} == {".safetensors", ".lock"}  # nothing half-written is left


@pytest.mark.parametrize("damage", ["cut", "flipped", "garbage"])
def test_a_damaged_entry_is_made_anew(cache, damage, no_teaching):
    good, _ = start()
    (path,) = cache.glob("*.safetensors")
    data = bytearray(path.read_bytes())
    data[-3] ^= 255
    path.write_bytes({"cut": bytes(data[: len(data) // 2]), "flipped": bytes(data), "garbage": b"x"}[damage])
    again, said = start()
    assert equal(again["p"].state_dict(), good["p"].state_dict())
    assert any("made anew" in line for line in said)
    no_teaching()
    start()  # the entry has been mended


def test_the_fingerprint_is_of_all_that_shapes_the_weights(monkeypatch):
    usual = print_of(GAME, tiny(), SETTINGS)
    assert usual == print_of(GAME, tiny(), SETTINGS)
    others = [
        print_of(masgym.game("sokoban", style="compact", boxes=2), tiny(), SETTINGS),
        print_of(masgym.game("sokoban", style="compact", workflow="solo"), tiny(), SETTINGS),
        print_of(GAME, tiny(seed=1), SETTINGS),
        print_of(GAME, nano_model(Nano(hidden=16, layers=2, heads=2, feed_forward=24), 0), SETTINGS),
        *(
            print_of(GAME, tiny(), dataclasses.replace(SETTINGS, **{name: getattr(SETTINGS, name) + 0.5}))
            for name in ("steps", "batch", "lr", "corrupt", "seed")
        ),
    ]
    monkeypatch.setattr(start_cache, "version", lambda name: "0")
    others.append(print_of(GAME, tiny(), SETTINGS))
    assert len({usual, *others}) == len(others) + 1


def test_the_fingerprint_is_of_what_task_files_hold(tmp_path):
    file = tmp_path / "tasks.jsonl"
    file.write_text('{"question": "2+1", "answer": "3"}')
    game = masgym.game("math", tasks=str(file))
    usual = print_of(game, tiny(), SETTINGS)
    assert print_of(masgym.game("math", tasks=str(file)), tiny(), SETTINGS) == usual
    file.write_text('{"question": "2+2", "answer": "4"}')
    assert print_of(game, tiny(), SETTINGS) != usual


def test_the_fingerprint_reads_every_source(monkeypatch, tmp_path):
    usual, files = print_of(GAME, tiny(), SETTINGS), start_cache.sources()
    named = {"masgym/domains/sokoban/domain.py", "masgym/domains/code/domain.py", "masgym/game.py", "mastrain/nano.py"}
    assert named <= set(files)
    (changed := tmp_path / "domain.py").write_text("")
    for name in named:
        monkeypatch.setattr(start_cache, "sources", lambda name=name: {**files, name: changed})
        assert print_of(GAME, tiny(), SETTINGS) != usual


def test_rewards_do_not_shape_the_start():
    other = masgym.game("sokoban", style="compact", alpha=2.0, malformed=-1.0, outcome_only=True)
    assert print_of(other, tiny(), SETTINGS) == print_of(GAME, tiny(), SETTINGS)


@pytest.mark.parametrize("unusable", ["file", "below a file"])
def test_a_cache_that_cannot_be_written_is_said_and_equal_models_are_taught_once(tmp_path, monkeypatch, unusable):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MASGYM_CACHE", str(tmp_path / "file" / ("x" if unusable != "file" else "")))
    models, said = start({"a": tiny(), "b": tiny()}, dataclasses.replace(SETTINGS, steps=1))
    assert equal(models["a"].state_dict(), models["b"].state_dict())
    assert sum("making" in line for line in said) == 1
    assert sum("not kept for the next run" in line for line in said) == 1
