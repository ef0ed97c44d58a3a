"""From a model's name to the model and its tokenizer: `nano`, a local folder, or a hub id."""

import re
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerBase

from masgym.errors import BadFile, BadValue
from masgym.types import value
from mastrain.nano import Nano, nano_model, nano_tokenizer

_HUB_ID = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?", re.ASCII)


@value
class ModelSpec:
    """What to load."""

    source: str = "nano"  # "nano", a folder made by save_pretrained, or a hub id
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"  # nano is float32
    gguf_file: str = ""  # a file of `source` to read the weights from
    nano: Nano = Nano()
    seed: int = 0  # of nano's weights; pretrained ones have none


def load_model(spec: ModelSpec) -> tuple[nn.Module, PreTrainedTokenizerBase]:
    """The model in eval mode. Raises BadFile where there is none to load, BadValue where its tokenizer cannot chat."""
    if spec.source == "nano":
        return nano_model(spec.nano, spec.seed), nano_tokenizer()
    kind = "folder" if Path(spec.source).exists() else "hub id"
    if kind == "hub id" and not _HUB_ID.fullmatch(spec.source):
        raise BadFile(f"the model folder {spec.source!r} does not exist (and no hub id is written so).")
    options: dict[str, Any] = {"gguf_file": spec.gguf_file} if spec.gguf_file else {}
    try:
        tokenizer = AutoTokenizer.from_pretrained(spec.source, **options)
        model = AutoModelForCausalLM.from_pretrained(spec.source, dtype=getattr(torch, spec.dtype), **options)
    except (OSError, ValueError, ImportError) as error:  # what transformers raises for missing or foreign files
        raise BadFile(
            f"no causal language model could be loaded from the {kind} {spec.source!r}: {error} "
            "Give `nano`, a folder made by save_pretrained, or a hub id that this machine can reach."
        ) from error
    if not tokenizer.chat_template:
        raise BadValue(f"the tokenizer of {spec.source!r} has no chat template; take an instruct model.")
    return model.eval(), tokenizer
