"""Metrics of what was sampled: plain numbers, nothing that depends on a clock."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from masgym.game import role_of
from masgym.report import Report
from mastrain.types import Candidate, Episode, Event, Group


def of_episodes(episodes: Sequence[Episode]) -> dict[str, float]:
    """Outcomes, reward terms, malformed replies, tokens and failures of one step."""
    events = [event for episode in episodes for event in episode.events]
    candidates = [(event, c) for event in events for c in event.candidates]
    out: dict[str, float] = {
        "sample/success": fmean(e.final.success for e in episodes),  # along the continued branch: not the policy alone
        "sample/turns": fmean(e.final.turn for e in episodes),
        "sample/events": len(events),
        "sample/candidates": len(candidates),
        "sample/tokens": sum(len(x.ids) for _, c in candidates for x in c.completions.values()),
        "sample/playout_tokens": sum(c.playout_tokens for _, c in candidates),
        "sample/calls": sum(len(c.completions) for _, c in candidates),  # C_call and C_tool, playouts not counted
        "sample/tool_calls": sum(_tool_calls(c) for _, c in candidates),
    }
    lost = [one for event in events for one in event.lost] + [one for e in episodes for one in e.lost]
    out |= {f"sets/K{size}/candidates": n for size, n in sorted(Counter(len(e.members) for e, _ in candidates).items())}
    out["sample/dropped_candidates"] = len(lost)
    out["sample/dropped_tokens"] = sum(one.tokens for one in lost)
    failures = Counter(one.outcome for event in events for one in event.lost)
    failures.update(e.failure for e in episodes if e.failure)
    out["sample/failures"] = sum(failures.values())
    out |= {f"failure/{name}": count for name, count in sorted(failures.items())}
    return out | _of_roles(candidates)


def of_groups(groups: Sequence[Group]) -> dict[str, float]:
    """Group statistics; groups without variance teach nothing. Their share is always logged, by set size as the share
    of candidates."""
    by_role: dict[str, list[bool]] = {}
    by_size: dict[int, list[bool]] = {}
    for group in groups:
        flat = max(group.rewards) == min(group.rewards)
        roles = "+".join(dict.fromkeys(role_of(agent) for agent in group.actions[0].members))
        by_role.setdefault(roles, []).append(flat)
        for action in group.actions:  # a router makes sets of several sizes in one group
            by_size.setdefault(len(action.event.members), []).append(flat)
    every = [flat for flats in by_role.values() for flat in flats]
    return {
        "groups/count": len(groups),
        "groups/zero_variance": fmean(every) if every else 0.0,
        "groups/singleton": fmean(len(group.actions) == 1 for group in groups) if groups else 0.0,  # nothing to compare
        **{f"groups/zero_variance/{role}": fmean(flats) for role, flats in by_role.items()},
        **{f"sets/K{size}/zero_variance": fmean(flats) for size, flats in sorted(by_size.items())},
    }


def of_report(report: Report) -> dict[str, float]:
    """What validation tasks came to; costs are means over episodes."""
    cost = {"tokens": report.cost.C_tok, "calls": report.cost.C_call, "tool_calls": report.cost.C_tool}
    return {
        "validation/success": report.success.mean,
        "validation/returns": report.returns,
        "validation/malformed": report.malformed_rate,
        **{f"validation/{name}": total / report.episodes for name, total in cost.items()},
    }


def sampled_tokens(metrics: Mapping[str, float]) -> int:
    """What a step cost: all that was sampled for it, playouts and dropped candidates too."""
    return int(sum(metrics[f"sample/{name}"] for name in ("tokens", "playout_tokens", "dropped_tokens")))


def average(rows: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The mean of each name over the rows that have it."""
    found: dict[str, list[float]] = {}
    for row in rows:
        for name, number in row.items():
            found.setdefault(name, []).append(number)
    return {name: fmean(numbers) for name, numbers in found.items()}


def _tool_calls(candidate: Candidate) -> int:
    return sum(map(len, candidate.transition.state.log[-1][1].values()))


def _of_roles(candidates: Sequence[tuple[Event, Candidate]]) -> dict[str, float]:
    rows: list[dict[str, float]] = []
    for _, candidate in candidates:
        for agent, reward in candidate.transition.rewards.items():
            role, effect = role_of(agent), candidate.transition.effects[agent]
            rows.append(
                {
                    f"{role}/reward": candidate.scores[agent],
                    f"{role}/malformed": float(effect.malformed),
                    f"{role}/reply_tokens": len(candidate.completions[agent].ids),
                    f"{role}/truncated": float(candidate.completions[agent].finish == "length"),
                    **{f"{role}/term/{name}": term for name, term in reward.local.items()},
                }
            )
    return average(rows)
