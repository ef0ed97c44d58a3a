"""The small model and `load_model`."""

import string
from typing import get_args

import pytest
import torch

from masgym.errors import BadFile, BadValue
from masgym.types import Slot
from mastrain.models import ModelSpec, load_model
from mastrain.nano import WORDS, Nano, nano_model, nano_tokenizer


def test_size():
    count = sum(p.numel() for p in nano_model(Nano(), seed=0).parameters())  # tied embeddings count once
    assert 800_000 < count < 900_000


def test_one_token_per_character_and_per_slot_word():
    tokenizer = nano_tokenizer()
    for text in (*string.printable[:95], "\n", *WORDS):
        ids = tokenizer.encode(text)
        assert len(ids) == 1
        assert ids != [tokenizer.unk_token_id]
        assert tokenizer.decode(ids) == text
    assert len(tokenizer.encode("act\ntool:RRU")) == 1 + 1 + 1 + 1 + 3
    assert len(tokenizer.encode("factory")) == 7  # no word inside a word
    assert tokenizer.encode("é") == [tokenizer.unk_token_id]
    assert tokenizer.decode(tokenizer.encode("R  U, 'x' ?!")) == "R  U, 'x' ?!"


def test_two_cells_of_a_board_are_one_token_where_asked_for():
    tokenizer = nano_tokenizer("#.")
    board = ".#..\n##.."
    assert len(tokenizer.encode(board)) == 5
    assert tokenizer.decode(tokenizer.encode(board)) == board
    assert len(nano_tokenizer().encode(board)) == 9
    assert tokenizer.encode("act") == nano_tokenizer().encode("act")
    assert nano_model(Nano(pairs="#."), 0).config.vocab_size == len(tokenizer)


def test_every_slot_is_a_word():
    assert set(WORDS) == set(get_args(Slot))


def test_weights_come_from_the_seed_and_leave_the_global_generator_alone():
    before = torch.get_rng_state()
    first, again, other = nano_model(Nano(), 1), nano_model(Nano(), 1), nano_model(Nano(), 2)
    assert torch.equal(before, torch.get_rng_state())
    same = [torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True)]
    assert all(same)
    assert not torch.equal(first.lm_head.weight, other.lm_head.weight)
    assert first.dtype == torch.float32


def test_round_trip_through_a_folder(tmp_path):
    model, tokenizer = load_model(ModelSpec(seed=3, nano=Nano(layers=1)))
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    model2, tokenizer2 = load_model(ModelSpec(source=str(tmp_path)))
    ids = tokenizer("act\n#.@$")["input_ids"]
    assert tokenizer2("act\n#.@$")["input_ids"] == ids
    assert tokenizer2.chat_template == tokenizer.chat_template
    assert tokenizer2.decode(ids) == tokenizer.decode(ids)
    assert tokenizer2.padding_side == "left"
    with torch.inference_mode():
        assert torch.equal(model(torch.tensor([ids])).logits, model2(torch.tensor([ids])).logits)


def test_what_cannot_be_loaded_is_a_clear_error(tmp_path):
    with pytest.raises(BadFile, match="does not exist"):
        load_model(ModelSpec(source=str(tmp_path / "none")))
    with pytest.raises(BadFile, match="folder"):
        load_model(ModelSpec(source=str(tmp_path)))
    with pytest.raises(BadFile, match="does not exist"):
        load_model(ModelSpec(source="some/local/folder"))


def test_a_model_that_cannot_chat_is_refused(tmp_path):
    model, tokenizer = load_model(ModelSpec(nano=Nano(layers=1)))
    tokenizer.chat_template = None
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(BadValue, match="no chat template"):
        load_model(ModelSpec(source=str(tmp_path)))
