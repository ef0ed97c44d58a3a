"""Episode records -> Report: estimates with 95 % intervals, and tables."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from rich.table import Table

from masgym.errors import BadFile
from masgym.types import JSON, value

Z95 = 1.959964


@value
class EpisodeRecord:
    """One episode played by given agents: plain JSON values."""

    task: str
    index: int
    sample: int
    level: str
    optimum: int | None
    success: bool
    ended: str  # "done", "T", or the named outcome that cut it short
    turns: int
    returns: float  # team return: gains + malformed costs of all members
    replies: int
    malformed: tuple[str, ...]  # one reason per malformed reply
    tokens: int  # sampled
    prompt_tokens: int
    terms: Mapping[str, float]  # "<agent>/<term>": mean weighted local term over the agent's replies


@value
class Estimate:
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.mean:.1f} [{100 * self.low:.1f}, {100 * self.high:.1f}]"


@value
class Report:
    """What a team is worth on a set of tasks."""

    success: Estimate
    episodes: int
    tasks: int
    turns_to_solve: float  # mean over solved episodes; NaN when none is
    returns: float
    malformed_rate: float  # malformed replies / replies
    malformed_reasons: Mapping[str, int]
    tokens_per_episode: float
    terms: Mapping[str, float]
    by_level: Mapping[str, float]
    failures: Mapping[str, int]  # episodes that ended by a named outcome other than "done" and "T"


def success_interval(by_task: Sequence[Sequence[bool]]) -> Estimate:
    """Wilson's interval with the effective sample size of task-clustered samples.

    by_task: one sequence of outcomes per task. With one sample a task it is Wilson's interval exactly.
    """
    means = [fmean(outcomes) for outcomes in by_task]
    p, n = fmean(means), len(means)
    variance = sum((m - p) ** 2 for m in means) / n
    samples = sum(map(len, by_task))
    effective = n if p in (0, 1) else min(samples, p * (1 - p) / variance * n) if variance else samples
    centre = (p + Z95**2 / (2 * effective)) / (1 + Z95**2 / effective)
    half = Z95 / (1 + Z95**2 / effective) * math.sqrt(p * (1 - p) / effective + Z95**2 / (4 * effective**2))
    return Estimate(mean=p, low=max(0.0, centre - half), high=min(1.0, centre + half))


def summarise(records: Sequence[EpisodeRecord]) -> Report:
    """Records of one team -> its report. Raises ValueError on no records."""
    by_task: dict[str, list[bool]] = {}
    for r in records:
        by_task.setdefault(f"{r.index}:{r.task}", []).append(r.success)
    replies = sum(r.replies for r in records)
    reasons = Counter(reason for r in records for reason in r.malformed)
    solved = [r.turns for r in records if r.success]
    return Report(
        success=success_interval(list(by_task.values())),
        episodes=len(records),
        tasks=len(by_task),
        turns_to_solve=fmean(solved) if solved else math.nan,
        returns=fmean(r.returns for r in records),
        malformed_rate=sum(reasons.values()) / max(replies, 1),
        malformed_reasons=dict(reasons.most_common(20)),
        tokens_per_episode=fmean(r.tokens for r in records),
        terms=_mean_terms(records),
        by_level=_mean_by_level(records),
        failures=dict(Counter(r.ended for r in records if r.ended not in ("done", "T"))),
    )


def table(rows: Mapping[str, Report], title: str) -> Table:
    """Reports side by side, one row each."""
    out = Table(title=title)
    for name in ("", "success % [95 %]", "turns", "malformed %", "tokens", "return", "failed"):
        out.add_column(name, justify="left" if not name else "right", no_wrap=True)
    for label, r in rows.items():
        out.add_row(
            label,
            str(r.success),
            "-" if math.isnan(r.turns_to_solve) else f"{r.turns_to_solve:.2f}",
            f"{100 * r.malformed_rate:.2f}",
            f"{r.tokens_per_episode:.1f}",
            f"{r.returns:.2f}",
            str(sum(r.failures.values())),
        )
    return out


def to_json(report: Report) -> dict[str, JSON]:
    """The report as JSON values; NaN becomes None."""
    own = {name: getattr(report, name) for name in Report.__slots__}  # type: ignore[attr-defined]
    own["success"] = {"mean": report.success.mean, "low": report.success.low, "high": report.success.high}
    return {name: None if isinstance(x, float) and math.isnan(x) else x for name, x in own.items()}


def from_json(data: Mapping[str, JSON]) -> Report:
    """What `to_json` wrote. Raises BadFile for anything else."""
    try:
        own: dict[str, Any] = {name: math.nan if data[name] is None else data[name] for name in Report.__slots__}  # type: ignore[attr-defined]
        own["success"] = Estimate(**data["success"])
        return Report(**own)
    except (KeyError, TypeError) as error:
        raise BadFile(f"this is no report: {error!r}.") from error


def _mean_terms(records: Sequence[EpisodeRecord]) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for record in records:
        for name, term in record.terms.items():
            values.setdefault(name, []).append(term)
    return {name: fmean(found) for name, found in sorted(values.items())}


def _mean_by_level(records: Sequence[EpisodeRecord]) -> dict[str, float]:
    levels: dict[str, list[bool]] = {}
    for record in records:
        levels.setdefault(record.level, []).append(record.success)
    return {level: fmean(found) for level, found in sorted(levels.items())}
