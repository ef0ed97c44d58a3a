"""Policies that begin with the weights of another run: `policies.init_from={tool: runs/a, actor: runs/b:tool}`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast

from masgym.errors import BadFile, BadValue, UnknownName
from mastrain import checkpoint
from mastrain.models import ModelSpec, load_model


def source_of(given: str, policy: str) -> Path:
    """The folder of weights for `policy`: RUN or CHECKPOINT (its policy of that name), either with `:POLICY`, or a
    folder made by save_pretrained. Raises BadValue where nothing is named, BadFile where there is none, UnknownName for
    a policy that it has not."""
    expected = "give a run, a checkpoint of one, or a folder made by save_pretrained"
    if not given.partition(":")[0].strip():
        raise BadValue(f"policies.init_from.{policy} is {given!r} and names no folder; {expected}.")
    head, colon, named = given.rpartition(":")
    path, name = (Path(head), named) if colon and not Path(given).exists() else (Path(given), policy)
    if not path.is_dir():
        what = "is a file, not a folder" if path.exists() else "does not exist"
        raise BadFile(f"policies.init_from.{policy}={given}: {path} {what}; {expected}.")
    if (path / "checkpoints").is_dir():
        path = checkpoint.latest(path / "checkpoints")
    if not (path / checkpoint.MANIFEST).is_file():
        if (path / "config.json").is_file() and name == policy:
            return path
        raise BadFile(
            f"policies.init_from.{policy}={given}: {path} is no run, no checkpoint of one and no model; {expected}."
        )
    roles = checkpoint.manifest_of(path).identity.get("policies")
    known = sorted({str(p) for p in cast(dict[str, Any], roles).values()}) if isinstance(roles, dict) else []
    if name not in known:
        raise UnknownName(f"policy of {path}", name, known)
    return path / name


def inherit(
    sources: Mapping[str, Path],
    models: Mapping[str, Any],
    tokenizers: Mapping[str, Any],
    dtype: Literal["float32", "bfloat16", "float16"],
) -> None:
    """Fill models in place. Raises BadFile for a damaged source, BadValue for one of another model or vocabulary."""
    for policy, folder in sources.items():
        theirs, tokenizer = load_model(ModelSpec(source=str(folder), dtype=dtype))
        if tokenizer.get_vocab() != tokenizers[policy].get_vocab():
            raise BadValue(
                f"{folder} has another vocabulary than this run's model of {policy!r}: "
                f"{len(tokenizer)} tokens, here {len(tokenizers[policy])}. It was trained for another game or model."
            )
        try:
            models[policy].load_state_dict(theirs.state_dict())
        except RuntimeError as error:
            found, ours = (f"{sum(x.numel() for x in m.parameters()):,}" for m in (theirs, models[policy]))
            raise BadValue(
                f"{folder} is a checkpoint of another model: {found} parameters, that of {policy!r} here has {ours}."
            ) from error
