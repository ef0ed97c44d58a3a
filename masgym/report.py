"""Episode records -> Report: what a team is worth on a set of tasks, and what that cost. Nothing in it depends on a
clock: the same episodes give the same report."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from rich.table import Table

from masgym.episodes import EpisodeRecord, plain
from masgym.errors import BadValue
from masgym.estimates import Estimate, pass_interval, success_interval
from masgym.report_check import check_report
from masgym.types import JSON, value

_REASONS = 20  # the most frequent ones that are listed


@value
class Level:
    """The share of one difficulty in a report."""

    success: Estimate
    tasks: int
    episodes: int


@value
class Cost:
    """What all episodes of an evaluation cost together (SRPO, arXiv 2609.08452, names the four C and U)."""

    C_tok: int  # generated tokens
    C_call: int  # replies asked for: the sum of K_e
    C_tool: int  # tool calls
    U_tok: float  # episodes solved per million generated tokens; NaN where none was counted
    prompt_tokens: int
    K_e: float  # mean size of an active set
    reply_tokens: float  # generated tokens per reply


@value
class Report:
    """What a team is worth on a set of tasks."""

    success: Estimate  # avg@S: the mean over tasks of the share of samples that solve it
    pass_at_k: Mapping[str, Estimate]  # k = 1, 2, 4 ... up to the fewest samples of a task
    episodes: int
    tasks: int
    turns_to_solve: float  # mean over solved episodes; NaN when none is
    returns: float
    malformed_rate: float  # malformed replies / replies
    malformed_reasons: Mapping[str, int]
    cut_rate: float = 0.0  # replies cut off by the limit of their tokens / replies; 0 in reports of older versions
    tokens_per_episode: float
    terms: Mapping[str, float]
    by_level: Mapping[str, Level]
    failures: Mapping[str, int]  # episodes that ended by a named outcome other than "done" and "T"
    cost: Cost


def summarise(records: Iterable[EpisodeRecord]) -> Report:
    """Records of one team, in any order -> its report. Raises BadValue on no records."""
    rows = sorted(records, key=lambda r: (r.index, r.sample, r.task))
    if not rows:
        raise BadValue("there are no episodes to report on; at least one has to be played.")
    outcomes = outcomes_by_task(rows)
    by_task = list(outcomes.values())
    replies = sum(r.replies for r in rows)
    reasons = Counter(reason for r in rows for reason in r.malformed)
    solved = [r.turns for r in rows if r.success]
    return Report(
        success=success_interval(by_task),
        pass_at_k={str(k): pass_interval(by_task, k) for k in _powers(min(map(len, by_task)))},
        episodes=len(rows),
        tasks=len(outcomes),
        turns_to_solve=fmean(solved) if solved else math.nan,
        returns=fmean(r.returns for r in rows),
        malformed_rate=sum(reasons.values()) / max(replies, 1),
        malformed_reasons=dict(reasons.most_common(_REASONS)),
        cut_rate=sum(r.cut for r in rows) / max(replies, 1),
        tokens_per_episode=fmean(r.tokens for r in rows),
        terms=_mean_terms(rows),
        by_level=_by_level(rows),
        failures=dict(sorted(Counter(r.ended for r in rows if r.ended not in ("done", "T")).items())),
        cost=_cost(rows, replies),
    )


def outcomes_by_task(records: Iterable[EpisodeRecord]) -> dict[tuple[int, str], list[bool]]:
    """(index, task) -> whether each of its samples solved it, in the order of the records."""
    found: dict[tuple[int, str], list[bool]] = {}
    for r in records:
        found.setdefault((r.index, r.task), []).append(r.success)
    return found


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
    own: dict[str, JSON] = plain(report)
    own["turns_to_solve"] = _none_for_nan(report.turns_to_solve)
    own["cost"]["U_tok"] = _none_for_nan(report.cost.U_tok)
    return own


def from_json(data: Mapping[str, JSON]) -> Report:
    """What `to_json` wrote. Raises BadFile for anything else, which names the field."""
    check_report(data := {"cut_rate": 0.0, **data} if isinstance(data, dict) else data)
    own: dict[str, Any] = {name: data[name] for name in Report.__slots__}  # type: ignore[attr-defined]
    own["success"] = Estimate(**own["success"])
    own["pass_at_k"] = {k: Estimate(**found) for k, found in own["pass_at_k"].items()}
    own["by_level"] = {name: _level(found) for name, found in own["by_level"].items()}
    own["turns_to_solve"] = _nan_for_none(own["turns_to_solve"])
    cost: dict[str, Any] = {**own["cost"], "U_tok": _nan_for_none(own["cost"]["U_tok"])}
    own["cost"] = Cost(**cost)
    return Report(**own)


def _level(data: Mapping[str, Any]) -> Level:
    own: dict[str, Any] = {**data, "success": Estimate(**data["success"])}
    return Level(**own)


def _none_for_nan(number: float) -> float | None:
    return None if math.isnan(number) else number


def _nan_for_none(number: float | None) -> float:
    return math.nan if number is None else number


def _powers(most: int) -> list[int]:
    """1, 2, 4 ... up to `most`."""
    return [2**i for i in range(most.bit_length())]


def _mean_terms(records: Sequence[EpisodeRecord]) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for record in records:
        for name, term in record.terms.items():
            values.setdefault(name, []).append(term)
    return {name: fmean(found) for name, found in sorted(values.items())}


def _by_level(records: Sequence[EpisodeRecord]) -> dict[str, Level]:
    levels: dict[str, list[EpisodeRecord]] = {}
    for record in records:
        levels.setdefault(record.level, []).append(record)
    outcomes = {level: list(outcomes_by_task(found).values()) for level, found in sorted(levels.items())}
    return {
        level: Level(success=success_interval(by_task), tasks=len(by_task), episodes=len(levels[level]))
        for level, by_task in outcomes.items()
    }


def _cost(records: Sequence[EpisodeRecord], replies: int) -> Cost:
    tokens, solved = sum(r.tokens for r in records), sum(r.success for r in records)
    return Cost(
        C_tok=tokens,
        C_call=replies,
        C_tool=sum(r.tool_calls for r in records),
        U_tok=1e6 * solved / tokens if tokens else math.nan,
        prompt_tokens=sum(r.prompt_tokens for r in records),
        K_e=replies / max(1, sum(r.event_count for r in records)),
        reply_tokens=tokens / max(1, replies),
    )
