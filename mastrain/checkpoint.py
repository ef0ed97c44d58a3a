"""Checkpoints: a folder per step, made under another name and then renamed, so that it is whole or not there.

checkpoints/step_000120/<policy>/            a Hugging Face folder: model, config, tokenizer
                       <policy>.updater.pt  optimiser, schedule, reference: tensors and plain values only
                       manifest.json        written last: what it is of, and the SHA-256 of every other file
"""

import hashlib
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, cast

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from masgym.errors import BadFile, BadValue
from masgym.types import JSON, value

FORMAT = 3
MANIFEST = "manifest.json"
_NAME = re.compile(r"step_(\d{6,})", re.ASCII)


@value
class Manifest:
    """What a checkpoint is of."""

    step: int
    identity: Mapping[str, JSON]  # game, policies, model shapes, config: must fit the run that loads it


def save(folder: Path, manifest: Manifest, parts: Mapping[str, tuple[Any, Any, Mapping[str, Any]]], keep: int) -> Path:
    """Write `parts` (policy -> model, tokenizer, updater state), then drop all but the `keep` newest checkpoints.

    Raises BadFile where it cannot be written (a full disk): the earlier checkpoints are still there then.
    """
    final = folder / f"step_{manifest.step:06d}"
    making = folder / f".making_{manifest.step:06d}"
    try:
        _remove_unfinished(folder)
        _write(making, manifest, parts)
        shutil.rmtree(final, ignore_errors=True)
        making.rename(final)
    except (OSError, RuntimeError, SafetensorError) as error:  # RuntimeError: torch.save on a full disk
        _remove_unfinished(folder)
        kept = [path.name for path in all_of(folder)]
        raise BadFile(
            f"the checkpoint {final} cannot be written ({error}). Kept: {', '.join(kept) or 'none'}. Make room or "
            f"mend the folder's permissions, then go on with resume={folder.parent}"
        ) from error
    for old in all_of(folder)[:-keep]:
        shutil.rmtree(old, ignore_errors=True)
    return final


def all_of(folder: Path) -> list[Path]:
    """Whole checkpoints, oldest first."""
    found = [path for path in folder.glob("step_*") if _NAME.fullmatch(path.name) and (path / MANIFEST).is_file()]
    return sorted(found, key=_step_of)


def latest(folder: Path) -> Path:
    """The newest whole checkpoint. Raises BadFile when there is none, or a file is in the way of one."""
    for path in sorted(folder.glob("step_*")):
        if _NAME.fullmatch(path.name) and not path.is_dir():
            raise BadFile(f"{path} is a file where the folder of a checkpoint would be; remove it.")
    found = all_of(folder)
    if not found:
        raise BadFile(f"{folder} holds no checkpoint; start the run anew.")
    return found[-1]


def read(path: Path, identity: Mapping[str, JSON]) -> Manifest:
    """The manifest, checked against the files and what the run is. Raises BadFile for a damaged checkpoint, BadValue
    for one of another game, model or config."""
    found = manifest_of(path)
    _check_identity(path, found.identity, json.loads(json.dumps(identity)))
    return found


def manifest_of(path: Path) -> Manifest:
    """The manifest of any run's checkpoint, checked against the files. Raises BadFile for a damaged one."""
    try:
        data = json.loads((path / MANIFEST).read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(path, f"{MANIFEST} cannot be read ({error})") from error
    if not isinstance(data, dict):
        raise _damaged(path, f"{MANIFEST} holds a {type(data).__name__}; a mapping was expected")
    fields = cast(dict[str, Any], data)
    if fields.get("format") != FORMAT:
        raise BadFile(
            f"{path} has format {fields.get('format')!r}; this version reads format {FORMAT}. {_way_out(path)}"
        )
    step, theirs, digests = fields.get("step"), fields.get("identity"), fields.get("files")
    if type(step) is not int or path.name != f"step_{step:06d}":
        raise _damaged(path, f"{MANIFEST} says that it is of step {step!r}")
    if not isinstance(theirs, dict) or not isinstance(digests, dict):
        raise _damaged(path, f"{MANIFEST} has no mapping in `identity` or `files`")
    _check_files(path, cast(dict[str, JSON], digests))
    return Manifest(step=step, identity=cast(dict[str, JSON], theirs))


def load_weights(path: Path, policy: str, model: nn.Module) -> None:
    """Fill `model` in place. Raises BadFile when the file is damaged or of another shape."""
    file = path / policy / "model.safetensors"
    try:
        state = load_file(file)
        missing, unexpected = model.load_state_dict(state, strict=False)
        tied = set(getattr(model, "_tied_weights_keys", None) or ())
        if unexpected or not set(missing) <= tied:
            raise RuntimeError(f"missing {sorted(set(missing) - tied)}, unexpected {unexpected}")
    except (OSError, RuntimeError, ValueError, SafetensorError) as error:
        raise BadFile(f"{file} does not fit this run's model {policy!r}: {error}. {_way_out(path)}") from error


def load_updater(path: Path, policy: str) -> dict[str, Any]:
    """The updater's state: never unpickles objects. Raises BadFile."""
    name = f"{policy}.updater.pt"
    try:
        state = torch.load(path / name, weights_only=True)
    except (OSError, RuntimeError, ValueError, EOFError, KeyError, UnpicklingError) as error:
        raise _damaged(path, f"{name} cannot be read ({error})") from error
    if not isinstance(state, dict):
        raise _damaged(path, f"{name} holds a {type(state).__name__}; a mapping was expected")
    return cast(dict[str, Any], state)


def _write(making: Path, manifest: Manifest, parts: Mapping[str, tuple[Any, Any, Mapping[str, Any]]]) -> None:
    making.mkdir(parents=True)
    for policy, (model, tokenizer, state) in parts.items():
        model.save_pretrained(making / policy)
        tokenizer.save_pretrained(making / policy)
        torch.save(dict(state), making / f"{policy}.updater.pt")
    files = {path.relative_to(making).as_posix(): _sha256(path) for path in sorted(making.rglob("*")) if path.is_file()}
    text = {"format": FORMAT, "step": manifest.step, "identity": manifest.identity, "files": files}
    (making / MANIFEST).write_text(json.dumps(text, indent=2))


def _check_files(path: Path, digests: Mapping[str, JSON]) -> None:
    there = {file.relative_to(path) for file in path.rglob("*") if file.is_file()}
    own = {file.as_posix() for file in there if not any(part.startswith(".") for part in file.parts)}
    if unnamed := sorted(own - {MANIFEST, *digests}):
        raise _damaged(path, f"{MANIFEST} has no SHA-256 of {', '.join(unnamed)}")
    for name, digest in digests.items():
        file = path / name
        try:
            found = _sha256(file)
        except OSError as error:
            raise _damaged(path, f"{name} cannot be read ({error.strerror})") from error
        if found != digest:
            raise _damaged(path, f"{name} is not what was written (its SHA-256 is another)")


def _check_identity(path: Path, theirs: Mapping[str, JSON], ours: Mapping[str, JSON]) -> None:
    _check_settings(path, theirs.get("config", {}), ours.get("config", {}))
    for k in sorted({*ours, *theirs} - {"config"}):
        if k == "tasks" and ours.get(k) != theirs.get(k):
            raise BadValue(
                f"the run of {path} played the tasks of {theirs.get(k)}, and now they are {ours.get(k)}: the file has "
                "changed. Put the old one back, or start the run anew."
            )
        if ours.get(k) != theirs.get(k):
            raise BadValue(
                f"{path} is a checkpoint of another run: its {k} is {theirs.get(k)!r}, this run's is {ours.get(k)!r}."
            )


def _check_settings(path: Path, theirs: JSON, ours: JSON) -> None:
    """A setting that the checkpoint does not know came with a later version, whose default is how it was."""
    if not isinstance(theirs, dict) or not isinstance(ours, dict):
        raise _damaged(path, f"{MANIFEST} has no mapping in `config`")
    if changed := [f"{k} was {v!r} and is {ours.get(k)!r}" for k, v in theirs.items() if ours.get(k) != v]:
        raise BadValue(
            f"the config of the run of {path} has changed: {'; '.join(changed)}. A run goes on with its own: put that "
            "back, or begin a new run, with these weights if you like (policies.init_from)."
        )


def _damaged(path: Path, what: str) -> BadFile:
    return BadFile(f"{path} is damaged: {what}. {_way_out(path)}")


def _way_out(path: Path) -> str:
    older = [other.name for other in all_of(path.parent) if _step_of(other) < _step_of(path)]
    if older:
        return f"Remove that folder to resume from {older[-1]}."
    return "No older checkpoint is there: put a copy of it back, or start the run anew."


def _step_of(path: Path) -> int:
    named = _NAME.fullmatch(path.name)
    return int(named[1]) if named else 0


def _remove_unfinished(folder: Path) -> None:
    for path in folder.glob(".making_*"):
        shutil.rmtree(path, ignore_errors=True)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
