"""What of a config must stay as it was for a run to go on: all that its results depend on."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from masgym.types import JSON
from mastrain.config import RunConfig

FREE = (  # where a run lies, what it costs and how often it is looked at: results are the same, rounding apart
    *("run_dir", "resume", "sandbox", "torch_threads", "log_rollouts_every"),
    *("model.warmstart.threads", "engine.kind", "engine.workers", "engine.max_tokens"),
    *("algo.shared_prefix", "algo.micro_batch_tokens"),
    *("train.validate_every", "train.checkpoint_every", "train.keep_checkpoints"),
)


def fixed_settings(config: RunConfig) -> dict[str, JSON]:
    """Dotted key -> value of each setting that results depend on. Mappings are values: `env.params`."""
    whole = config.algo.loss in ("group", "dapo")  # the others average within a micro-batch first
    free = FREE if whole else tuple(key for key in FREE if key != "algo.micro_batch_tokens")
    return {key: given for key, given in _settings(config, "") if key not in free}


def _settings(part: Any, at: str) -> Iterator[tuple[str, Any]]:
    for field in fields(part):
        given = getattr(part, field.name)
        if is_dataclass(given):
            yield from _settings(given, f"{at}{field.name}.")
        else:
            yield at + field.name, given
