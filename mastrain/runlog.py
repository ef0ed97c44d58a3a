"""What a run writes beside its checkpoints: config, metrics (JSONL and TensorBoard), timings, reports.

`metrics.jsonl` holds nothing that depends on a clock: same config and seed, same bytes. Timings have a file of
their own.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from torch.utils.tensorboard import SummaryWriter

from masgym.errors import BadFile, BadValue
from masgym.types import JSON

CONFIG, METRICS, TIMINGS = "config.yaml", "metrics.jsonl", "timings.jsonl"


def create(folder: Path, config: Mapping[str, JSON]) -> None:
    """A fresh run folder with its resolved config. Raises BadValue where that cannot be."""
    if (folder / CONFIG).exists():
        raise BadValue(f"{folder} holds a run already; go on with resume={folder}, or choose another run_dir.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / CONFIG).write_text(yaml.safe_dump(dict(config), sort_keys=False))
    except OSError as error:
        raise BadValue(f"the run folder {folder} cannot be written ({error.strerror}); choose run_dir=...") from error


def read_config(folder: Path) -> dict[str, Any]:
    """The resolved config of a run. Raises BadFile."""
    path = folder / CONFIG
    if not path.is_file():
        raise BadFile(f"{folder} is no run folder: it has no {CONFIG}.")
    try:
        config = yaml.safe_load(path.read_text())
    except yaml.YAMLError as error:
        raise BadFile(f"{path} is no YAML: {error}") from error
    if not isinstance(config, dict):
        raise BadFile(f"{path} holds a {type(config).__name__}; a mapping was expected.")
    return config


class RunLog:
    """Appends. On resuming after step s, what was logged beyond s is cut off, so that it is not there twice."""

    def __init__(self, folder: Path, after_step: int) -> None:
        self.folder = folder
        for name in (METRICS, TIMINGS):
            _cut(folder / name, after_step)
        self._board = SummaryWriter(str(folder / "tensorboard"), purge_step=after_step + 1)

    def metrics(self, step: int, metrics: Mapping[str, float]) -> None:
        self._append(METRICS, {"step": step, **metrics})
        for name, number in metrics.items():
            self._board.add_scalar(name, number, step)
        self._board.flush()

    def timings(self, step: int, seconds: Mapping[str, float]) -> None:
        self._append(TIMINGS, {"step": step, **{name: round(s, 4) for name, s in seconds.items()}})

    def report(self, name: str, reports: Mapping[str, JSON]) -> None:
        (self.folder / name).write_text(json.dumps(reports, indent=2) + "\n")

    def close(self) -> None:
        self._board.close()

    def _append(self, name: str, row: Mapping[str, JSON]) -> None:
        with (self.folder / name).open("a") as out:
            out.write(json.dumps(row) + "\n")


def _cut(path: Path, after_step: int) -> None:
    if not path.exists():
        return
    kept = [line for line in path.read_text().splitlines() if _step_of(line) <= after_step]
    path.write_text("".join(line + "\n" for line in kept))


def _step_of(line: str) -> float:
    try:
        return json.loads(line)["step"]
    except (ValueError, KeyError, TypeError):
        return float("inf")  # the half-written last line of a killed run
