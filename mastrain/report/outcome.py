"""Did it learn, and has it run to its end?"""

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from masgym.estimates import Estimate, share_interval
from mastrain.report.finding import Finding, percent
from mastrain.report.reading import RunFolder
from mastrain.run_files import SPENT

SOLVED = 0.95  # held-out success from which on little is left to learn
RISE = 3.0  # standard errors by which a reward must rise to count as risen


def held_out(run: RunFolder) -> float | None:
    """The last that is known of held-out success, of the policy alone at temperature 1."""
    if "sampled" in run.after:
        return run.after["sampled"].success.mean
    return run.history.late("validation/success")


def solved(run: RunFolder) -> bool:
    success = held_out(run)
    return success is not None and success >= SOLVED


def learned(run: RunFolder) -> Sequence[Finding]:
    """Held-out success at the start and at the end, with 95 % intervals: apart, or not."""
    if not run.trains:
        return [_untrained(run)]
    pair = _test_tasks(run) or _validation_tasks(run)
    if pair is None:
        text = "Neither after.json nor two windows of validation are there; train.validate_every sets how often."
        return [
            Finding(about="held-out success", severity="unknown", title="It is not known whether it learned", seen=text)
        ]
    before, after, what = pair
    seen = f"{before} % before, {after} % after, with 95 % intervals, on {what}; the policy alone, at temperature 1."
    if after.low > before.high:
        return [
            Finding(about="held-out success", severity="good", title=f"It learned: {_change(before, after)}", seen=seen)
        ]
    if before.mean >= SOLVED <= after.mean:
        return [
            Finding(about="held-out success", severity="good", title="The start solves the tasks already", seen=seen)
        ]
    fell = after.high < before.low
    if fell:
        title, wide = f"Held-out success fell: {_change(before, after)}", ""
    else:
        title = f"No rise in held-out success beyond the noise: {_change(before, after)}"
        wide = " The intervals overlap: a smaller gain than their width would not be seen."
    return [
        Finding(
            about="held-out success",
            severity="fault" if fell or after.mean <= before.mean else "warning",
            title=title,
            seen=seen + wide,
            why="This is what training is for. The findings below are what usually stands behind it.",
            advice=("go through the findings from the top", "`train.steps`, `train.eval_tasks` for narrower intervals"),
        )
    ]


def ended(run: RunFolder) -> Sequence[Finding]:
    """How far it came: to its last step, to its budget, or not."""
    wanted, done = int(run.number("train.steps", 0)), run.history.steps
    spent, budget = run.history.series(SPENT), run.number("budget.sampled_tokens", 0)
    if not run.trains or run.after or not wanted:
        return []
    if done < wanted and not (budget and spent and spent[-1][1] >= budget):
        title = f"Interrupted after step {done} of {wanted}" if done else "Interrupted before the first step"
        advice = ("`resume=RUN` goes on from the last checkpoint",)
        return [
            Finding(
                about="end of the run",
                severity="note",
                title=title,
                why="What follows is of these steps.",
                advice=advice,
            )
        ]
    return [
        Finding(
            about="end of the run",
            severity="note",
            title="The evaluation after training is missing",
            advice=("`resume=RUN` makes it",),
        )
    ]


def reward_alone(run: RunFolder) -> Sequence[Finding]:
    """Reward that rises while held-out success does not: the reward pays for something else."""
    about, history = "reward and success", run.history
    if not run.trains or not history.parted("validation/success"):
        return []
    before, after = history.early("validation/success"), history.late("validation/success")
    risen = {role: rise(run, name) for role, name in history.names(r"(\w+)/reward").items()}
    up = [f"{role} by {change:+.2f}" for role, (change, errors) in risen.items() if errors >= RISE]
    if not up or before is None or after is None or solved(run):
        return []
    tasks = run.number("train.validate_tasks", 1)
    noise = math.sqrt(max(before * (1 - before), 1 / tasks) / tasks)
    seen = f"Mean reward rose ({', '.join(up)}); success on validation tasks went from {percent(before)}"
    seen += f" to {percent(after)}."
    if after - before > noise:
        return [Finding(about=about, severity="good", title="Reward and held-out success rise together", seen=seen)]
    return [
        Finding(
            about=about,
            severity="warning",
            title="Reward rises, held-out success does not",
            seen=seen,
            why="What is rewarded can be had without solving the task: local terms, safe moves, or states that only "
            "training visits.",
            advice=(
                "`algo.alpha` up (weight of the team term)",
                "`env.outcome_only=true` to see what outcome alone does",
                "`algo.credit=episode`",
            ),
        )
    ]


def finite(run: RunFolder) -> Sequence[Finding]:
    """Metrics that are NaN or infinite."""
    if not run.not_finite:
        return []
    named = ", ".join(f"{name} (step {step})" for name, step in list(run.not_finite.items())[:5])
    return [
        Finding(
            about="numbers",
            severity="fault",
            title="Some metrics are not finite",
            seen=named,
            why="A ratio or a loss has left the range of floating point; what was learned after it is worth nothing.",
            advice=("`algo.lr` down", "`algo.max_grad_norm` down", "`algo.epochs=1 algo.mini_batches=1`"),
        )
    ]


def _untrained(run: RunFolder) -> Finding:
    before, after = run.before.get("sampled"), run.after.get("sampled")
    seen = f"Held-out success {before.success} % at the start" if before else "No evaluation is there"
    if after and before and after.success != before.success:
        seen += f", {after.success} % as the best of {int(run.number('algo.branches', 1))} episodes a task"
    title = f"algo={run.setting('algo.name')} trains nothing"
    return Finding(about="held-out success", severity="note", title=title, seen=f"{seen}.")


def _test_tasks(run: RunFolder) -> tuple[Estimate, Estimate, str] | None:
    if "sampled" not in run.before or "sampled" not in run.after:
        return None
    before, after = run.before["sampled"], run.after["sampled"]
    return before.success, after.success, f"{after.tasks} test tasks"


def _validation_tasks(run: RunFolder) -> tuple[Estimate, Estimate, str] | None:
    """Windows of validation. Its tasks are the same each time, so more points of it are no more tasks."""
    name, tasks = "validation/success", int(run.number("train.validate_tasks", 1))
    before, after = run.history.early(name), run.history.late(name)
    if not run.history.parted(name) or before is None or after is None:
        return None
    first, last = share_interval([before], tasks), share_interval([after], tasks)
    return first, last, f"{tasks} validation tasks (the first and the last {run.history.window(name)} looks at them)"


def _change(before: Estimate, after: Estimate) -> str:
    return f"{100 * before.mean:.1f} to {100 * after.mean:.1f} %"


def rise(run: RunFolder, name: str) -> tuple[float, float]:
    """A metric's (change between the windows, in standard errors of it); 0 where they cannot be compared."""
    points, window = [number for _, number in run.history.series(name)], run.history.window(name)
    if not run.history.parted(name):
        return 0.0, 0.0
    first, last = points[:window], points[-window:]
    change = fmean(last) - fmean(first)
    error = math.sqrt((stdev(first) ** 2 + stdev(last) ** 2) / window)
    return change, change / error if error else math.inf * change if change else 0.0
