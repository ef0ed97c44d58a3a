"""The entropy bonus that follows a target: a target above what the policy needs makes it grow until noise wins."""

from collections.abc import Sequence
from statistics import fmean

from mastrain.report.finding import Finding, listed, percent
from mastrain.report.outcome import RISE, rise
from mastrain.report.reading import RunFolder

GROWN = 5.0  # times the coefficient at the start
RISEN, MORE = 1.5, 0.2  # times the least entropy of the run, and nats above it
HALF, LESS = 0.5, 0.1  # of the best success in training, and so much below it


def overgrown(run: RunFolder) -> tuple[str, ...]:
    """Policies whose bonus grew, whose entropy then rose, while success or reward fell."""
    if not _fell(run):
        return ()
    names = run.history.names(r"([\w-]+)/entropy_coefficient")
    return tuple(policy for policy in names if _grew(run, policy) and _rose(run, policy))


def undone(run: RunFolder, policies: Sequence[str]) -> Finding:
    """What is said of them."""
    least = min(min(_windows(run, f"{policy}/entropy")) for policy in policies)
    lower = 0.9 * min(least, run.number("algo.entropy_target", least))
    return Finding(
        about="entropy",
        severity="fault",
        title=f"The entropy bonus of {listed(policies)} has undone what was learned",
        seen=f"{'; '.join(_told(run, policy) for policy in policies)}; {'; '.join(_fell(run))}.",
        why="While entropy is below its target the bonus grows, up to 50 times. A policy that must be sure of what it "
        "says does not reach the target before the bonus outweighs the reward: then noise takes over.",
        advice=(
            f"`algo.entropy_target` lower: {lower:.2g}, below the least entropy of this run",
            "`algo.entropy_target=0`: the bonus stays as it begins, at `algo.entropy`",
        ),
    )


def begin_below(run: RunFolder) -> tuple[str, ...]:
    """Policies whose entropy at the start is below the target of the bonus."""
    target = run.number("algo.entropy_target", 0)
    names = run.history.names(r"([\w-]+)/entropy")
    return tuple(policy for policy, name in names.items() if (run.history.early(name) or 0.0) < target)


def below(run: RunFolder, policies: Sequence[str]) -> Finding:
    """What is said of them."""
    starts = {policy: run.history.early(f"{policy}/entropy") or 0.0 for policy in policies}
    told = listed([f"{policy} {entropy:.2f}" for policy, entropy in starts.items()])
    return Finding(
        about="entropy",
        severity="note",
        title=f"The start has less entropy than the bonus aims at: {listed(policies)}",
        seen=f"Nats a token at the start: {told}; algo.entropy_target is {run.number('algo.entropy_target', 0):g}.",
        why="The bonus asks for more noise than the start has, and grows until it gets it: see whether success falls "
        "as it does.",
        advice=(f"`algo.entropy_target` lower: {0.7 * min(starts.values()):.2g}, below the entropy of the start",),
    )


def _grew(run: RunFolder, policy: str) -> bool:
    points = run.history.series(f"{policy}/entropy_coefficient")
    return max(bonus for _, bonus in points) >= GROWN * points[0][1] > 0


def _rose(run: RunFolder, policy: str) -> bool:
    windows = _windows(run, f"{policy}/entropy")
    return bool(windows) and windows[-1] > max(RISEN * min(windows), min(windows) + MORE)


def _fell(run: RunFolder) -> list[str]:
    """In words; [] where neither success nor a reward fell."""
    windows = _windows(run, "sample/success")
    best, last = (max(windows), windows[-1]) if windows else (0.0, 0.0)
    told = [f"success in training fell from {percent(best)} to {percent(last)}"] if _halved(best, last) else []
    rewards = {role: rise(run, name) for role, name in run.history.names(r"(\w+)/reward").items()}
    return told + [f"{r}'s reward changed by {by:+.2f}" for r, (by, errors) in rewards.items() if errors <= -RISE]


def _halved(best: float, last: float) -> bool:
    return last < min(HALF * best, best - LESS)


def _told(run: RunFolder, policy: str) -> str:
    points, windows = run.history.series(f"{policy}/entropy_coefficient"), _windows(run, f"{policy}/entropy")
    step, most = max(points, key=lambda point: point[1])
    return (
        f"{policy}: its coefficient grew from {points[0][1]:.2g} to {most:.2g} (step {step}), entropy from "
        f"{min(windows):.2f} nats a token at the least to {windows[-1]:.2f} at the end"
    )


def _windows(run: RunFolder, name: str) -> list[float]:
    """The mean over each window of the series, the last of which is its end; [] where it is shorter than one."""
    points, width = [number for _, number in run.history.series(name)], run.history.window(name)
    return [fmean(points[i : i + width]) for i in range(len(points) - width + 1)]
