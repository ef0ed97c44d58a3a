"""Cells of a suite that came to their end, read from their folders: the run must be the cell's own, and whole."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from masgym.errors import BadFile, MasgymError
from masgym.report import Report
from masgym.types import JSON, value
from mastrain.config import UNTRAINED, parse
from mastrain.report.history import History
from mastrain.report.reading import read_metrics, read_reports
from mastrain.resuming import fixed_settings
from mastrain.run_files import AFTER, BEFORE, CONFIG, METRICS, SPENT, read_config
from mastrain.suite import CELLS, Cell

Curve = list[tuple[float, float]]  # (sampled tokens, success: at both ends on test, between on validation tasks)


@value
class Result:
    """One finished cell."""

    cell: Cell
    sampled: Report
    greedy: Report | None  # None where only sampling makes sense (best of k)
    tokens: int  # sampled for training, that of the cells which it begins from included
    curve: Curve


def done(cell: Cell, out: Path) -> bool:
    """Whether its run, in the suite's folder `out`, came to its end. Raises BadFile for a run that is not its own."""
    there = (out / CELLS / cell.hash / AFTER).exists()
    if there:
        check_own(cell, out)
    return there


def check_own(cell: Cell, out: Path) -> None:
    """Raises BadFile where the run in the cell's folder has another config, in what its results depend on."""
    folder = out / CELLS / cell.hash
    try:
        theirs = _settings(read_config(folder))
    except MasgymError as error:
        raise BadFile(f"{folder} is no run of {cell.label} ({error}); {_AGAIN}") from error
    ours = _settings(cell.config)
    if other := [
        f"{key} is {theirs[key]!r} instead of {given!r}" for key, given in ours.items() if theirs[key] != given
    ]:
        more = f" and {len(other) - _TOLD} settings more" if len(other) > _TOLD else ""
        raise BadFile(
            f"{folder} is no run of {cell.label}: {'; '.join(other[:_TOLD])}{more}, by its {CONFIG}; {_AGAIN}"
        )


_TOLD = 3  # settings that an error lists
_AGAIN = "move the folder away to have the cell run again."


def _settings(config: Mapping[str, JSON]) -> dict[str, JSON]:
    """What resuming compares, but for where the suite lies: it can be moved."""
    found = fixed_settings(parse(config))
    sources = found["policies.init_from"]
    there = sources.items() if isinstance(sources, Mapping) else ()
    return found | {"policies.init_from": {p: re.sub(rf".*/(?={CELLS}/[0-9a-f]{{16}})", "", str(s)) for p, s in there}}


def read_results(wanted: Sequence[Cell], out: Path) -> tuple[list[Result], dict[str, BadFile]]:
    """(those that are done, hash -> what is wrong with one that seems to be)."""
    own, damaged = dict[str, Result](), dict[str, BadFile]()
    for cell in wanted:
        try:
            if done(cell, out):
                own[cell.hash] = read_result(cell, out / CELLS / cell.hash)
        except BadFile as error:
            damaged[cell.hash] = error
    needs = {cell.hash: cell.needs for cell in wanted}

    def before(cell: str) -> set[str]:
        return {cell}.union(*(before(other) for other in needs[cell]))

    for one in [one for one in own if not before(one) <= set(own)]:
        missing = ", ".join(sorted(before(one) - set(own)))
        damaged[one] = BadFile(f"{out / CELLS / one} began from {missing}, whose training tokens are not known here.")
    results = [
        replace(own[cell.hash], cell=cell, tokens=sum(own[one].tokens for one in before(cell.hash)))
        for cell in wanted
        if cell.hash in own and cell.hash not in damaged
    ]
    return results, damaged


def read_result(cell: Cell, folder: Path) -> Result:
    """One that is done. Raises BadFile for files that are no reports, and for metrics that are not all there."""
    try:
        return _read_result(cell, folder)
    except BadFile as error:
        raise BadFile(
            f"{folder} holds no reports of a run ({error}); remove its {AFTER} to have it evaluated again, or {_AGAIN}"
        ) from error


def _read_result(cell: Cell, folder: Path) -> Result:
    before, after = (read_reports(folder / name) for name in (BEFORE, AFTER))
    if not ("sampled" in before and "sampled" in after):
        raise BadFile(f"{BEFORE} and {AFTER} do not both hold the report of sampled replies")
    history, _ = read_metrics(folder / METRICS)
    if cell.config["algo"]["name"] not in UNTRAINED:
        _check_whole(cell, history)
    spent, looked = history.series(SPENT), dict(history.series("validation/success"))
    end, total = after["sampled"].success.mean, spent[-1][1] if spent else 0
    between = [(tokens, looked[step]) for step, tokens in spent if step in looked and tokens < total]
    return Result(
        cell=cell,
        sampled=after["sampled"],
        greedy=after.get("greedy"),
        tokens=int(total),
        curve=[(0.0, before["sampled"].success.mean), *between, (total, end)] if spent else [(0.0, end)],
    )


def _check_whole(cell: Cell, history: History) -> None:
    """Raises BadFile where a step is missing, or the last one is not that of the run."""
    config, spent = parse(cell.config), history.series(SPENT)
    most, total = config.budget.sampled_tokens, spent[-1][1] if spent else 0
    ended = history.steps == config.train.steps or 0 < most <= total
    if not ended or [step for step, _ in spent] != list(range(1, history.steps + 1)):
        raise BadFile(
            f"{METRICS} does not hold all steps of the run: it has {len(spent)} with their {SPENT}, up to step "
            f"{history.steps} and {total:g} tokens; the run makes {config.train.steps} steps"
            + (f", or {most:g} tokens" if most else "")
        )
