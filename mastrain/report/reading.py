"""A run folder -> what the report is made of. Reads no weights and builds no game, so no torch is needed."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from masgym.errors import BadFile, MasgymError
from masgym.files import read_lines
from masgym.game import role_of
from masgym.paths import regular
from masgym.registry import make_workflow
from masgym.report import Report, from_json
from masgym.tasks import object_of
from masgym.types import JSON, value
from mastrain.config import RANGES, UNTRAINED
from mastrain.report.groups import SampledGroup, read_groups
from mastrain.report.history import History, history_of
from mastrain.run_files import AFTER, BEFORE, CONFIG, METRICS, read_config

_MOST = 10**300  # of whole numbers: what a float can hold


@value
class RunFolder:
    """What a run wrote. Parts that are not there are empty."""

    name: str
    config: Mapping[str, JSON]
    history: History
    not_finite: Mapping[str, int]  # metric -> the first step at which it was NaN or infinite
    before: Mapping[str, Report]  # "sampled", "greedy"
    after: Mapping[str, Report]
    groups: tuple[SampledGroup, ...]  # of the steps that are in rollouts.jsonl

    def setting(self, key: str, default: Any = None) -> Any:
        """A value of the config by its dotted key; `default` where there is none."""
        found = _at(self.config, key)
        return default if found is None else found

    def number(self, key: str, default: float) -> float:
        """As `setting`; `default` for what is no number."""
        found = self.setting(key)
        return found if isinstance(found, int | float) and not isinstance(found, bool) else default

    @property
    def trains(self) -> bool:
        return self.setting("algo.name") not in UNTRAINED

    @property
    def roles(self) -> tuple[str, ...]:
        """All of the team; where its workflow is not known here, those that the metrics name."""
        try:
            params = self.setting("workflow.params", {})
            agents = make_workflow(self.setting("workflow.name", ""), **params).agents
        except (MasgymError, TypeError):
            return tuple(self.history.names(r"(\w+)/reward"))
        return tuple(dict.fromkeys(map(role_of, agents)))


def read_run(folder: Path) -> RunFolder:
    """Raises BadFile for what is no run folder, and for files in it that cannot be read."""
    config = read_config(folder)
    if lacking := {"env", "algo", "train"} - set(config):
        raise BadFile(f"{folder / CONFIG} is of no run of python -m mastrain: it has no {', '.join(sorted(lacking))}.")
    _check_numbers(config, folder / CONFIG)
    history, not_finite = read_metrics(folder / METRICS)
    try:
        groups = read_groups(folder)
    except OSError as error:
        raise BadFile(f"{folder} cannot be read ({error.strerror}); mend its permissions.") from error
    return RunFolder(
        name=folder.resolve().name,
        config=config,
        history=history,
        not_finite=not_finite,
        before=read_reports(folder / BEFORE),
        after=read_reports(folder / AFTER),
        groups=groups,
    )


def _at(config: Mapping[str, Any], key: str) -> Any:
    """What stands under a dotted key; None where nothing does."""
    found: Any = config
    for part in key.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _check_numbers(config: Mapping[str, Any], path: Path) -> None:
    """Raises BadFile for a number out of its range. A setting that is not there came with another version."""
    for key, (low, high) in RANGES.items():
        found = _at(config, key)
        good = isinstance(found, int | float) and not isinstance(found, bool) and low <= found <= high  # NaN never is
        if found is not None and not good:
            raise BadFile(f"{path}: {key} is {str(found)[:80]}; a number from {low:g} to {high:g} was expected.")


def read_metrics(path: Path) -> tuple[History, Mapping[str, int]]:
    """(the finite numbers, metric -> the first step at which it was not). Empty where there is no such file. Raises
    BadFile."""
    rows, not_finite = dict[int, dict[str, float]](), dict[str, int]()
    for where, row in _lines(path):
        step = row.pop("step", None)
        if type(step) is not int or step <= max(rows, default=0):
            raise BadFile(
                f"{where}, field 'step': {step!r}; a whole number above that of the line before was expected."
            )
        for name, number in row.items():
            if not isinstance(number, int | float) or isinstance(number, bool):
                raise BadFile(f"{where}, field {name!r}: {str(number)[:80]!r}; a number was expected.")
            if isinstance(number, int) and abs(number) > _MOST:
                raise BadFile(f"{where}, field {name!r}: a whole number of {len(str(number))} digits.")
            if not math.isfinite(number):
                not_finite.setdefault(name, step)
        rows[step] = {name: number for name, number in row.items() if math.isfinite(number)}
    return history_of(rows), not_finite


def _lines(path: Path) -> list[tuple[str, dict[str, Any]]]:
    try:
        return list(read_lines(path))
    except OSError as error:
        raise BadFile(f"{path} cannot be read ({error.strerror}); mend its permissions.") from error


def reports_in(path: Path) -> dict[str, Report]:
    """By name. Raises OSError, ValueError and AttributeError: what to do about it is the caller's to say."""
    return {name: from_json(report) for name, report in object_of(regular(path).read_text(), str(path)).items()}


def read_reports(path: Path) -> dict[str, Report]:
    """{} where there is no such file. Raises BadFile."""
    if not path.exists():
        return {}
    try:
        found = reports_in(path)
        if not found:
            raise ValueError("it is empty")
        return found
    except OSError as error:
        raise BadFile(f"{path} cannot be read ({error.strerror}); mend its permissions.") from error
    except (ValueError, AttributeError, json.JSONDecodeError) as error:
        raise BadFile(f"{path} holds no reports: {error}") from error
