"""Checkpoints that were damaged are refused with a way out; a failed save leaves the earlier ones."""

import json
import shutil

import pytest
import torch

from masgym.errors import BadFile, BadValue
from mastrain import checkpoint
from mastrain.checkpoint import Manifest
from mastrain.nano import Nano, nano_model, nano_tokenizer

IDENTITY = {"game": "g", "policies": {"tool": "p"}}


def tiny(seed=0):
    return nano_model(Nano(hidden=16, layers=1, heads=2, feed_forward=24), seed)


def parts(seed=0):
    return {"p": (tiny(seed), nano_tokenizer(), {"steps": seed, "optimizer": {}, "reference": {}})}


def save(folder, step, keep=3, identity=IDENTITY):
    return checkpoint.save(folder, Manifest(step=step, identity=identity), parts(step), keep)


def load(folder, identity=IDENTITY):
    path, model = checkpoint.latest(folder), tiny(99)
    manifest = checkpoint.read(path, identity)
    checkpoint.load_weights(path, "p", model)
    return manifest, model, checkpoint.load_updater(path, "p")


@pytest.fixture
def folder(tmp_path):
    save(tmp_path / "checkpoints", 2)
    save(tmp_path / "checkpoints", 4)
    return tmp_path / "checkpoints"


def rewrite(manifest, **changes):
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | changes))


def test_what_is_saved_comes_back(folder):
    manifest, model, state = load(folder)
    assert manifest == Manifest(step=4, identity=IDENTITY)
    assert state == {"steps": 4, "optimizer": {}, "reference": {}}
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), tiny(4).parameters(), strict=True))


def flip(file):
    data = bytearray(file.read_bytes())
    data[len(data) * 2 // 3] ^= 1
    file.write_bytes(data)


DAMAGE = {
    "flip": flip,
    "truncated": lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2]),
    "empty": lambda file: file.write_bytes(b""),
    "missing": lambda file: file.unlink(),
    "folder": lambda file: (file.unlink(), file.mkdir()),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", ["p/model.safetensors", "p.updater.pt", "p/config.json", "p/tokenizer.json"])
def test_a_damaged_file_is_told_with_the_checkpoint_before_it(folder, name, damage):
    DAMAGE[damage](folder / "step_000004" / name)
    with pytest.raises(BadFile, match=rf"damaged: {name} .*resume from step_000002"):
        load(folder)
    shutil.rmtree(folder / "step_000004")
    assert load(folder)[0].step == 2


@pytest.mark.parametrize("damage", set(DAMAGE) - {"flip"})
def test_the_loaders_tell_it_by_themselves(folder, damage):
    path = folder / "step_000004"
    for file in (path / "p/model.safetensors", path / "p.updater.pt"):
        DAMAGE[damage](file)
    with pytest.raises(BadFile, match=r"model\.safetensors"):
        checkpoint.load_weights(path, "p", tiny())
    with pytest.raises(BadFile, match=r"p\.updater\.pt"):
        checkpoint.load_updater(path, "p")


@pytest.mark.parametrize(
    "changes",
    [
        {"identity": None},
        {"identity": []},
        {"identity": {**IDENTITY, "config": 3}},
        {"step": 2},
        {"step": "4"},
        {"step": None},
        {"files": None},
        {"format": 1},
    ],
)
def test_a_manifest_with_another_content(folder, changes):
    rewrite(folder / "step_000004" / "manifest.json", **changes)
    with pytest.raises(BadFile, match="step_000002"):
        load(folder)


@pytest.mark.parametrize("name", ["p/model.safetensors", "p.updater.pt", "p/config.json", None])
def test_a_manifest_that_vouches_for_less_than_is_there(folder, name):
    path = folder / "step_000004"
    files = json.loads((path / "manifest.json").read_text())["files"]
    rewrite(path / "manifest.json", files={k: v for k, v in files.items() if name not in (k, None)})
    with pytest.raises(BadFile, match=rf"damaged: manifest.json has no SHA-256 of .*{name or 'p/model'}.*step_000002"):
        load(folder)


def test_what_a_file_manager_leaves_does_no_harm(folder):
    (folder / "step_000004" / "p" / ".DS_Store").write_text("")
    assert load(folder)[0].step == 4


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"\xff\xfe\x00", b"[" * 100_000])
def test_a_manifest_that_is_none(folder, content):
    (folder / "step_000004" / "manifest.json").write_bytes(content)
    with pytest.raises(BadFile, match="damaged: manifest"):
        load(folder)


def test_the_only_checkpoint_damaged(folder):
    shutil.rmtree(folder / "step_000002")
    flip(folder / "step_000004" / "p/model.safetensors")
    with pytest.raises(BadFile, match="start the run anew"):
        load(folder)


def test_another_run(folder):
    with pytest.raises(BadValue, match="its game is 'g', this run's is 'h'"):
        load(folder, {**IDENTITY, "game": "h"})


def test_a_config_that_has_changed_is_told_setting_by_setting(tmp_path):
    config = {"algo.lr": 0.1, "algo.clip": 0.2, "env.params": {"boxes": 1}}
    save(tmp_path, 0, identity={**IDENTITY, "config": config})
    assert load(tmp_path, {**IDENTITY, "config": {**config, "later.setting": True}})[0].step == 0
    changed = {**config, "algo.lr": 0.2, "env.params": {"boxes": 2}}
    with pytest.raises(BadValue) as told:
        load(tmp_path, {**IDENTITY, "config": changed})
    assert "algo.lr was 0.1 and is 0.2; env.params was {'boxes': 1} and is {'boxes': 2}. " in str(told.value)
    assert "clip" not in str(told.value)


def test_a_file_in_the_way(folder):
    (folder / "step_000006").write_text("")
    with pytest.raises(BadFile, match="step_000006 is a file"):
        checkpoint.latest(folder)


def test_copies_under_other_names_are_no_checkpoints(folder):
    shutil.copytree(folder / "step_000002", folder / "step_000004.bak")
    assert [path.name for path in checkpoint.all_of(folder)] == ["step_000002", "step_000004"]
    save(folder, 1_000_000, keep=1)
    assert {path.name for path in folder.iterdir()} == {"step_1000000", "step_000004.bak"}


def test_the_newest_is_that_of_the_highest_step(folder):
    save(folder, 999_999)
    assert save(folder, 1_000_000) == checkpoint.latest(folder)


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), RuntimeError("unexpected pos 64 vs 0")])
def test_a_full_disk_leaves_the_earlier_checkpoints(folder, monkeypatch, error):
    def refuse(*_):
        raise error

    monkeypatch.setattr(torch, "save", refuse)
    with pytest.raises(
        BadFile, match=rf"step_000006 cannot be written .*Kept: step_000002, step_000004.*{folder.parent}"
    ):
        save(folder, 6)
    assert sorted(path.name for path in folder.iterdir()) == ["step_000002", "step_000004"]
    assert load(folder)[0].step == 4


def test_a_file_where_the_folder_should_be(tmp_path):
    (tmp_path / "checkpoints").write_text("")
    with pytest.raises(BadFile, match="cannot be written"):
        save(tmp_path / "checkpoints", 0)


def test_what_a_killed_save_left_goes_at_the_next(folder):
    (folder / ".making_000003").mkdir()
    save(folder, 6)
    assert not list(folder.glob(".making_*"))
