"""From a model's name to the model and its tokenizer: `nano`, a local folder, or a hub id."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerBase

from masgym.errors import BadFile, BadValue
from masgym.types import Message, value
from mastrain import chat
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
    """The model in eval mode. Raises BadFile where there is none to load, or not a whole one, BadValue where its
    tokenizer cannot chat."""
    if spec.source == "nano":
        return nano_model(spec.nano, spec.seed), nano_tokenizer(spec.nano.pairs)
    kind = "folder" if Path(spec.source).exists() else "hub id"
    if kind == "hub id" and not _HUB_ID.fullmatch(spec.source):
        raise BadFile(f"the model folder {spec.source!r} does not exist (and no hub id is written so).")
    options: dict[str, Any] = {"gguf_file": spec.gguf_file} if spec.gguf_file else {}
    try:
        tokenizer = AutoTokenizer.from_pretrained(spec.source, **options)
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            spec.source, dtype=getattr(torch, spec.dtype), output_loading_info=True, **options
        )
        model, told = loaded
    except Exception as error:  # a damaged file makes transformers, tokenizers and safetensors raise anything at all
        raise BadFile(
            f"no causal language model could be loaded from the {kind} {spec.source!r} "
            f"({type(error).__name__}: {error}). Give `nano`, a folder made by save_pretrained, or a hub id that this "
            "machine can reach."
        ) from error
    _check_weights(spec.source, told)
    _check_tokenizer(spec.source, tokenizer, model)
    return model.eval(), tokenizer


def _check_weights(source: str, told: Mapping[str, Any]) -> None:
    """transformers fills what a file lacks at random and goes on. Tied weights are not among its missing keys."""
    missing = sorted(map(str, {*told["missing_keys"], *told["mismatched_keys"]}))
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise BadFile(
            f"the weights of {source!r} are not whole: {', '.join(missing[:3])}{more} not there or of another shape. "
            "Copy or download the model again."
        )


def _check_tokenizer(source: str, tokenizer: PreTrainedTokenizerBase, model: Any) -> None:
    if not tokenizer.chat_template:
        raise BadValue(f"the tokenizer of {source!r} has no chat template; take an instruct model.")
    try:
        chat.encode(tokenizer, "trial", [Message(role="user", content="?")])
    except Exception as error:  # a template is a program
        raise BadFile(f"the chat template of {source!r} does not work ({type(error).__name__}: {error}).") from error
    highest, rows = max(tokenizer.get_vocab().values(), default=-1), model.get_input_embeddings().num_embeddings
    if not 0 <= highest < rows:
        raise BadFile(
            f"the tokenizer of {source!r} is not its model's: its highest token id is {highest}, the model has {rows} "
            "embeddings. Copy or download the model again."
        )
