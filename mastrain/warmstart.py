"""The small model's supervised start: TRL's SFTTrainer on demonstrations of every slot, cached.

As with pretrained models, policies start from the same weights: one model is taught all roles of the game, and every
policy begins as a copy of it. So shared and separate policies cost the same supervision.
"""

import copy
import hashlib
import json
import os
import platform
import random
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

import masgym
import mastrain
from masgym.game import Game
from masgym.tools.sandbox import Sandbox
from mastrain import chat
from mastrain.config import WarmstartConfig
from mastrain.demonstrations import Demonstration, demonstrations

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

IGNORED = -100  # the label of a token without loss: all of the prompt
_LINES = 10  # lines of progress that a start says
_SOURCES = (  # files whose content shapes the weights
    (masgym, ("domains/**/*.py", "workflows/*.py", "tools/*.py", "game.py", "tasks.py", "types.py", "rng.py")),
    (mastrain, ("nano.py", "chat.py", "demonstrations.py", "warmstart.py")),
)
_REWARDS = ("alpha", "malformed", "outcome_only")  # fields of a Game that demonstrations never look at

Weights = dict[str, Tensor]


def warm_start(
    game: Game,
    models: Mapping[str, nn.Module],
    tokenizers: Mapping[str, "PreTrainedTokenizerBase"],
    settings: WarmstartConfig,
    say: Callable[[str], None] = lambda line: None,
    sandbox: Sandbox = "auto",
) -> None:
    """Fills every policy's model, in place. Equal models get equal weights, from the cache or taught now, once."""
    taught: dict[Path, Weights] = {}
    for policy, model in models.items():
        path = cache_folder() / f"warmstart-{fingerprint(game, model, tokenizers[policy], settings)}.safetensors"
        weights = taught[path] if path in taught else _read(path, say)
        if weights is None:
            weights = taught[path] = teach(game, model, tokenizers[policy], settings, say, sandbox)
            _write(path, weights, say)
        model.load_state_dict(weights)


def teach(
    game: Game,
    model: nn.Module,
    tokenizer: "PreTrainedTokenizerBase",
    settings: WarmstartConfig,
    say: Callable[[str], None] = lambda line: None,
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
    say: Callable[[str], None],
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


def cache_folder() -> Path:
    """`MASGYM_CACHE`, or ~/.cache/masgym."""
    return Path(os.environ.get("MASGYM_CACHE") or Path.home() / ".cache" / "masgym")


def fingerprint(game: Game, model: nn.Module, tokenizer: "PreTrainedTokenizerBase", settings: WarmstartConfig) -> str:
    """A hash of all that shapes the weights: game, its files' contents, settings, first weights, vocabulary, libraries,
    machine, our sources."""
    shaping = {
        "game": {name: part for name, part in game.spec().items() if name not in _REWARDS},
        "tasks": dict(getattr(game.domain.tasks, "params", {})),
        "settings": asdict(settings),
        "weights": _digest_of(model.state_dict()),
        "libraries": {name: version(name) for name in ("torch", "trl", "transformers", "tokenizers", "numpy")},
        "machine": [platform.machine(), torch.get_num_threads()],
        "vocabulary": tokenizer.get_vocab(),
        "sources": {name: _digest(path.read_bytes()) for name, path in sources().items()},
    }
    return _digest(json.dumps(shaping, sort_keys=True).encode())[:24]


def sources() -> dict[str, Path]:
    """The files whose content shapes the weights, by package and path in it: many are called domain.py."""
    roots = [(Path(str(package.__file__)).parent, patterns) for package, patterns in _SOURCES]
    found = [(root, path) for root, patterns in roots for pattern in patterns for path in sorted(root.glob(pattern))]
    return {path.relative_to(root.parent).as_posix(): path for root, path in found}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _digest_of(weights: Mapping[str, Tensor]) -> str:
    return _digest("".join(f"{name} {_digest(weights[name].numpy().tobytes())}\n" for name in sorted(weights)).encode())


def _read(path: Path, say: Callable[[str], None]) -> Weights | None:
    """The cached weights, or None where there are none, or not those that were written."""
    try:
        if not path.exists():
            return None
        with safe_open(path, "pt") as file:
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            written = (file.metadata() or {}).get("sha256")
    except (SafetensorError, OSError) as error:
        say(f"supervised start: the cached one cannot be read and is made anew ({path}: {error})")
        return None
    if _digest_of(weights) != written:
        say(f"supervised start: the cached one is damaged and is made anew ({path})")
        return None
    say(f"supervised start: from the cache ({path})")
    return weights


def _write(path: Path, weights: Weights, say: Callable[[str], None]) -> None:
    """Whole or not at all: to a file beside it, then renamed. A cache that cannot be written is said, no more."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=path.name) as folder:
            making = Path(folder) / path.name
            making.write_bytes(save(weights, {"sha256": _digest_of(weights)}))
            os.replace(making, path)
    except OSError as error:
        say(f"supervised start: not kept for the next run, the cache cannot be written ({error}); set MASGYM_CACHE")
