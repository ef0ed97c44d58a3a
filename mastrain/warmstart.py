"""The small model's supervised start: TRL's SFTTrainer on demonstrations of every slot, cached.

As with pretrained models, policies start from the same weights: one model is taught all roles of the game, and every
policy begins as a copy of it. So shared and separate policies cost the same supervision.
"""

import copy
import random
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from masgym.game import Game
from masgym.tools.sandbox import Sandbox
from mastrain import chat
from mastrain.config import WarmstartConfig
from mastrain.demonstrations import Demonstration, demonstrations
from mastrain.start_cache import Say, Weights, kept, path_of

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

IGNORED = -100  # the label of a token without loss: all of the prompt
_LINES = 10  # lines of progress that a start says


def warm_start(
    game: Game,
    models: Mapping[str, nn.Module],
    tokenizers: Mapping[str, "PreTrainedTokenizerBase"],
    settings: WarmstartConfig,
    say: Say = lambda line: None,
    sandbox: Sandbox = "auto",
) -> None:
    """Fills every policy's model, in place. Equal models get equal weights, from the cache or taught now, once: other
    processes that want the same wait."""
    found: dict[Path, Weights] = {}
    for policy, model in models.items():
        path = path_of(game, model, tokenizers[policy], settings)
        if path not in found:
            found[path] = kept(path, partial(teach, game, model, tokenizers[policy], settings, say, sandbox), say)
        model.load_state_dict(found[path])


def teach(
    game: Game,
    model: nn.Module,
    tokenizer: "PreTrainedTokenizerBase",
    settings: WarmstartConfig,
    say: Say = lambda line: None,
    sandbox: Sandbox = "auto",
) -> Weights:
    """The weights after `settings.steps` optimiser steps; `model` itself and the global generators are left alone."""
    pupil = copy.deepcopy(model)
    if settings.steps > 0:
        say(f"supervised start: making {settings.steps * settings.batch} demonstrations")
        shown = demonstrations(game, settings.steps * settings.batch, settings.corrupt, settings.seed, sandbox)
        with _global_generators_kept():
            _train(pupil, tokenizer, [example(tokenizer, one) for one in shown], settings, say)
    return {name: tensor.detach().clone().contiguous() for name, tensor in pupil.state_dict().items()}


def example(tokenizer: "PreTrainedTokenizerBase", shown: Demonstration) -> dict[str, list[int]]:
    """`input_ids` and `labels` of prompt, reply and end token. The loss is on reply and end token only."""
    prompt = list(chat.encode(tokenizer, shown.agent, shown.messages).ids)
    reply = [*tokenizer.encode(shown.reply, add_special_tokens=False), int(tokenizer.eos_token_id)]  # type: ignore[arg-type]
    return {"input_ids": prompt + reply, "labels": [IGNORED] * len(prompt) + reply}


def _train(
    model: nn.Module,
    tokenizer: "PreTrainedTokenizerBase",
    examples: Sequence[Mapping[str, list[int]]],
    settings: WarmstartConfig,
    say: Say,
) -> None:
    """One pass over the examples with SFTTrainer, which wraps `model.forward` for good: give it a copy."""
    from datasets import Dataset
    from transformers import PrinterCallback, TrainerCallback
    from trl.trainer.sft_config import SFTConfig
    from trl.trainer.sft_trainer import SFTTrainer

    class Say(TrainerCallback):
        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **rest: Any) -> None:
            if logs and "loss" in logs:
                accuracy = logs.get("mean_token_accuracy", float("nan"))
                say(
                    f"supervised start: step {state.global_step}/{settings.steps}  "
                    f"loss {logs['loss']:.3f}  accuracy {accuracy:.3f}"
                )

    with tempfile.TemporaryDirectory() as folder:
        arguments = SFTConfig(
            output_dir=folder,
            max_steps=settings.steps,
            per_device_train_batch_size=settings.batch,
            learning_rate=settings.lr,
            lr_scheduler_type="cosine",
            warmup_steps=min(20, settings.steps // 5),
            weight_decay=0.0,
            max_length=None,
            packing=False,
            dataset_kwargs={"skip_prepare_dataset": True},  # the examples have their labels already
            bf16=False,
            gradient_checkpointing=False,
            use_cpu=True,
            seed=settings.seed,
            report_to="none",
            save_strategy="no",
            logging_strategy="steps",
            logging_steps=max(1, settings.steps // _LINES),
            disable_tqdm=True,
            dataloader_num_workers=0,
            dataloader_pin_memory=False,
        )
        data = Dataset.from_list([dict(one) for one in examples])
        model_: Any = model
        trainer = SFTTrainer(model_, args=arguments, train_dataset=data, processing_class=tokenizer, callbacks=[Say()])
        trainer.remove_callback(PrinterCallback)
        trainer.train()


@contextmanager
def _global_generators_kept() -> Generator[None]:
    """transformers' Trainer seeds all global generators; afterwards they are as they were."""
    python, numpy = random.getstate(), np.random.get_state()
    try:
        with torch.random.fork_rng():
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
