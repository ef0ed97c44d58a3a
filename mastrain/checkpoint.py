"""Checkpoints: a folder per step, made under another name and then renamed, so that it is whole or not there.

checkpoints/step_000120/manifest.json
                       <policy>/            a Hugging Face folder: model, config, tokenizer
                       <policy>.updater.pt  optimiser, schedule, reference: tensors and plain values only
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import nn

from masgym.errors import BadFile, BadValue
from masgym.types import JSON, value

FORMAT = 1


@value
class Manifest:
    """What a checkpoint is of."""

    step: int
    identity: Mapping[str, JSON]  # game, policies and model shapes: must fit the run that loads it


def save(folder: Path, manifest: Manifest, parts: Mapping[str, tuple[Any, Any, Mapping[str, Any]]], keep: int) -> Path:
    """Write `parts` (policy -> model, tokenizer, updater state), then drop all but the `keep` newest checkpoints."""
    final = folder / f"step_{manifest.step:06d}"
    making = folder / f".making_{manifest.step:06d}"
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(parents=True)
    for policy, (model, tokenizer, state) in parts.items():
        model.save_pretrained(making / policy)
        tokenizer.save_pretrained(making / policy)
        torch.save(dict(state), making / f"{policy}.updater.pt")
    text = json.dumps({"format": FORMAT, "step": manifest.step, "identity": manifest.identity}, indent=2)
    (making / "manifest.json").write_text(text)
    shutil.rmtree(final, ignore_errors=True)
    making.rename(final)
    for old in all_of(folder)[:-keep]:
        shutil.rmtree(old)
    return final


def all_of(folder: Path) -> list[Path]:
    """Whole checkpoints, oldest first."""
    return sorted(path for path in folder.glob("step_*") if (path / "manifest.json").is_file())


def latest(folder: Path) -> Path:
    """The newest whole checkpoint. Raises BadFile when there is none."""
    found = all_of(folder)
    if not found:
        raise BadFile(f"{folder} holds no checkpoint; start the run anew.")
    return found[-1]


def read(path: Path, identity: Mapping[str, JSON]) -> Manifest:
    """The manifest, checked against what the run is. Raises BadFile, and BadValue for another game or model."""
    try:
        data = json.loads((path / "manifest.json").read_text())
        manifest = Manifest(step=int(data["step"]), identity=data["identity"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadFile(f"{path} is no checkpoint: {error!r}") from error
    if data.get("format") != FORMAT:
        raise BadFile(f"{path} has format {data.get('format')!r}; this version reads format {FORMAT}.")
    ours = json.loads(json.dumps(identity))
    differ = sorted(k for k in {*ours, *manifest.identity} if ours.get(k) != manifest.identity.get(k))
    if differ:
        k = differ[0]
        raise BadValue(
            f"{path} is a checkpoint of another run: its {k} is {manifest.identity.get(k)!r}, "
            f"this run's is {ours.get(k)!r}."
        )
    return manifest


def load_weights(path: Path, policy: str, model: nn.Module) -> None:
    """Fill `model` in place. Raises BadFile when the file is of another shape."""
    file = path / policy / "model.safetensors"
    try:
        state = load_file(file)
        missing, unexpected = model.load_state_dict(state, strict=False)
        tied = set(getattr(model, "_tied_weights_keys", None) or ())
        if unexpected or not set(missing) <= tied:
            raise RuntimeError(f"missing {sorted(set(missing) - tied)}, unexpected {unexpected}")
    except (OSError, RuntimeError, ValueError) as error:
        raise BadFile(f"{file} does not fit this run's model {policy!r}: {error}") from error


def load_updater(path: Path, policy: str) -> dict[str, Any]:
    """The updater's state: never unpickles objects."""
    return torch.load(path / f"{policy}.updater.pt", weights_only=True)
