"""Broken pretrained folders are told; none is trained with weights that are not its own."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from masgym.errors import BadFile, BadValue
from mastrain.models import ModelSpec, load_model
from mastrain.nano import Nano, nano_model, nano_tokenizer

SHAPE = Nano(hidden=16, layers=1, heads=2, feed_forward=24)


@pytest.fixture
def folder(tmp_path):
    nano_model(SHAPE, 3).save_pretrained(tmp_path)
    nano_tokenizer().save_pretrained(tmp_path)
    return tmp_path


def load(folder):
    return load_model(ModelSpec(source=str(folder)))


def change_weights(folder, change):
    file = folder / "model.safetensors"
    weights = load_file(file)
    change(weights)
    save_file(weights, file, {"format": "pt"})


def change_json(file, **changes):
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def test_a_whole_folder_gives_its_own_weights_though_some_are_tied(folder):
    model, tokenizer = load(folder)
    assert "lm_head.weight" not in load_file(folder / "model.safetensors")
    ours = nano_model(SHAPE, 3).state_dict()
    assert all(torch.equal(tensor, ours[name]) for name, tensor in model.state_dict().items())
    assert tokenizer.get_vocab() == nano_tokenizer().get_vocab()


def test_half_of_the_tensors_gone(folder):
    def halve(weights):
        for name in list(weights)[6:]:
            del weights[name]

    change_weights(folder, halve)
    with pytest.raises(BadFile, match=r"not whole: .* and 4 more"):
        load(folder)


def test_one_tensor_of_another_shape(folder):
    change_weights(folder, lambda weights: weights.update({"model.norm.weight": torch.zeros(7)}))
    with pytest.raises(BadFile):
        load(folder)


def test_untied_weights_are_missed(folder):
    change_json(folder / "config.json", tie_word_embeddings=False)
    with pytest.raises(BadFile, match=r"lm_head\.weight"):
        load(folder)


@pytest.mark.parametrize("content", [b"", b"x" * 100, None])
def test_weights_that_are_none(folder, content):
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-200] if content is None else content)
    with pytest.raises(BadFile, match="could be loaded from the folder"):
        load(folder)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json"])
@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"\xff\xfe", b"{"])
def test_other_files_that_are_broken(folder, name, content):
    (folder / name).write_bytes(content)
    with pytest.raises(BadFile, match="could be loaded from the folder"):
        load(folder)


def test_an_empty_tokenizer(folder):
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(BadFile):
        load(folder)


@pytest.mark.parametrize("template", ["{% for", "{{ nobody.content }}", "{{ 1 + 'a' }}", "{{ raise_exception('no') }}"])
def test_a_broken_chat_template(folder, template):
    (folder / "chat_template.jinja").write_text(template)
    with pytest.raises(BadFile, match=r"chat template .* does not work"):
        load(folder)


def test_no_chat_template(folder):
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(BadValue, match="no chat template"):
        load(folder)


def test_a_tokenizer_of_a_larger_model(folder):
    tokenizer = nano_tokenizer()
    tokenizer.add_tokens(["one", "two"])
    tokenizer.save_pretrained(folder)
    with pytest.raises(BadFile, match="not its model's"):
        load(folder)


@pytest.mark.parametrize("source", ["/no/such/folder", "../no such"])
def test_no_folder(source):
    with pytest.raises(BadFile, match="does not exist"):
        load_model(ModelSpec(source=source))
