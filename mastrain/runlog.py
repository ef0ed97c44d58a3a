"""What a run writes beside its checkpoints: config, metrics (JSONL and TensorBoard), timings, reports.

`metrics.jsonl` holds nothing that depends on a clock: same config and seed, same bytes. Timings have a file of
their own.
"""

import json
import sys
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path

import yaml
from torch.utils.tensorboard import SummaryWriter

from masgym.errors import BadFile, BadValue
from masgym.files import locked, write_whole
from masgym.paths import regular
from masgym.types import JSON
from mastrain.config import RANGES
from mastrain.run_files import CONFIG, METRICS, ROLLOUTS, SPENT, TIMINGS
from mastrain.run_files import read_config as read_config


def create(folder: Path, config: Mapping[str, JSON]) -> None:
    """A fresh run folder with its resolved config. Raises BadValue, or BadFile, where that cannot be."""
    try:
        _check_unused(folder)
    except OSError as error:
        raise BadValue(f"the run folder {folder} cannot be read ({error.strerror}); choose run_dir=...") from error
    with locked(folder):
        _check_unused(folder)  # another process may have been faster
        write_whole(folder / CONFIG, yaml.safe_dump(dict(config), sort_keys=False))


def check_unbegun(folder: Path) -> None:
    """For a run without a checkpoint: the first one is written before any of this. Raises BadFile."""
    if any(_rows_up_to(folder / name, sys.maxsize) for name in (METRICS, TIMINGS, ROLLOUTS)):
        raise BadFile(
            f"{folder} holds the metrics of a run, but none of its checkpoints; put them back, or begin a new run "
            "(run_dir=...)."
        )


class RunLog:
    """Appends. On resuming after step s, what was logged beyond s is cut off, so that it is not there twice.

    The folder must be the caller's own (`masgym.files.locked`). Raises BadFile where the metrics of the steps up to s
    are not all there.
    """

    def __init__(self, folder: Path, after_step: int) -> None:
        self.folder = folder
        kept = {name: _rows_up_to(folder / name, after_step) for name in (METRICS, TIMINGS, ROLLOUTS)}
        _check_complete(folder / METRICS, [step for step, _ in kept[METRICS]], after_step)
        self.spent = _spent(folder / METRICS, kept[METRICS][-1][1]) if kept[METRICS] else 0  # up to `after_step`
        for name, rows in kept.items():
            if (folder / name).exists():
                write_whole(folder / name, "".join(f"{line}\n" for _, line in rows))
        with _writing(folder):
            self._board = SummaryWriter(str(folder / "tensorboard"), purge_step=after_step + 1)

    def metrics(self, step: int, metrics: Mapping[str, float]) -> None:
        self._append(METRICS, {"step": step, **metrics})
        with _writing(self.folder / "tensorboard"):
            for name, number in metrics.items():
                self._board.add_scalar(name, number, step)
            self._board.flush()

    def timings(self, step: int, seconds: Mapping[str, float]) -> None:
        self._append(TIMINGS, {"step": step, **{name: round(s, 4) for name, s in seconds.items()}})

    def rollouts(self, rows: Iterable[Mapping[str, JSON]]) -> None:
        """Rows of `mastrain.rollouts_log`."""
        with _writing(self.folder / ROLLOUTS), (self.folder / ROLLOUTS).open("a") as out:
            out.writelines(json.dumps(row) + "\n" for row in rows)

    def report(self, name: str, reports: Mapping[str, JSON]) -> None:
        write_whole(self.folder / name, json.dumps(reports, indent=2) + "\n")

    def close(self) -> None:
        self._board.close()

    def _append(self, name: str, row: Mapping[str, JSON]) -> None:
        with _writing(self.folder / name), (self.folder / name).open("a") as out:
            out.write(json.dumps(row) + "\n")


@contextmanager
def _writing(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise BadFile(
            f"{path} cannot be written ({error.strerror or error}); make room or mend the permissions, then resume "
            "from the last checkpoint."
        ) from error


def _check_unused(folder: Path) -> None:
    if (folder / CONFIG).exists():
        raise BadValue(f"{folder} holds a run already; go on with resume={folder}, or choose another run_dir.")
    for name in (METRICS, "checkpoints"):
        if (folder / name).exists():
            raise BadValue(f"{folder} holds the {name} of another run, without its {CONFIG}; choose another run_dir.")


def _rows_up_to(path: Path, last: int) -> list[tuple[int, str]]:
    """(step, line) of each step up to `last`; none where there is no file. Raises BadFile."""
    if not path.exists():
        return []
    try:
        lines = regular(path, inf).read_bytes().split(b"\n")
    except OSError as error:
        raise BadFile(f"{path} cannot be read ({error.strerror}); {_MEND}") from error
    *whole, rest = lines  # the rest is empty, or the half-written line of a killed run
    rows = [_row(path, number, line) for number, line in enumerate(whole, 1)]
    if rest:
        with suppress(BadFile):
            rows.append(_row(path, len(lines), rest))
    return [(step, line) for step, line in rows if step <= last]


def _row(path: Path, number: int, line: bytes) -> tuple[int, str]:
    try:
        text = line.decode()
        step = json.loads(text)["step"]
        if type(step) is not int or step < 1:
            raise ValueError(f"step is {step!r}")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadFile(
            f'{path}, line {number}: {error!r}; expected {{"step": a whole number from 1, ...}}; {_MEND}'
        ) from error
    return step, text


_MEND = "put a copy of the file back, or start the run anew."


def _spent(path: Path, line: str) -> int:
    """Tokens sampled up to that line. Raises BadFile."""
    spent = json.loads(line).get(SPENT, 0)
    least, most = RANGES[SPENT.replace("/", ".")]
    if not isinstance(spent, int | float) or isinstance(spent, bool) or not least <= spent <= most:
        told = str(spent)[:80]
        raise BadFile(f"{path}, field {SPENT!r}: {told}; a number from {least:g} to {most:g} was expected; {_MEND}")
    return int(spent)


def _check_complete(path: Path, steps: list[int], last: int) -> None:
    """Every step once, in order. Raises BadFile: the checkpoint is of step `last`, and the log must be, too."""
    if steps == list(range(1, last + 1)):
        return
    missing = sorted({*range(1, last + 1)} - {*steps})
    if not missing:
        raise BadFile(f"{path} does not hold every step once and in order; {_MEND}")
    named = ", ".join(map(str, missing[:10])) + (f" and {len(missing) - 10} more" if len(missing) > 10 else "")
    raise BadFile(
        f"{path} lacks step {named}, and the newest checkpoint is of step {last}; put a copy of the file back, remove "
        f"the checkpoints after step {missing[0] - 1}, or start the run anew."
    )
