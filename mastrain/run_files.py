"""What the files of a run folder are called, and its config. Light: reading a run needs no torch."""

from pathlib import Path
from typing import Any, cast

import yaml

from masgym.errors import BadFile

CONFIG, METRICS, TIMINGS, ROLLOUTS = "config.yaml", "metrics.jsonl", "timings.jsonl", "rollouts.jsonl"
BEFORE, AFTER = "before.json", "after.json"  # reports on held-out test tasks
SPENT = "budget/sampled_tokens"  # the metric that holds what has been sampled for training so far


def read_config(folder: Path) -> dict[str, Any]:
    """The resolved config of a run. Raises BadFile."""
    path = folder / CONFIG
    if not folder.exists():
        raise BadFile(f"{folder} does not exist; the folder of a run was expected.")
    if not path.is_file():
        raise BadFile(f"{folder} is no run folder: it has no {CONFIG}.")
    try:
        config = yaml.safe_load(path.read_text())
    except (yaml.YAMLError, OSError, ValueError, RecursionError) as error:  # ValueError: no UTF-8
        told = " ".join(str(error).split())
        raise BadFile(f"{path} is no YAML: {told}. Put a copy of it back, or start the run anew.") from error
    if not isinstance(config, dict):
        raise BadFile(f"{path} holds a {type(config).__name__}; a mapping was expected.")
    return cast(dict[str, Any], config)
