"""Entropy, gradients and the distance between the policy that samples and the one that learns."""

from collections.abc import Sequence
from statistics import median

from mastrain.report.bonus import begin_below, below, overgrown, undone
from mastrain.report.finding import Finding, listed, percent
from mastrain.report.outcome import solved
from mastrain.report.reading import RunFolder

CERTAIN = 0.1  # nats a token: about the entropy of one token in ten that is still open
HELD, SOME = 0.7, 0.1  # of the entropy at the start: a target; in nats: none that is less helps
COLLAPSED, LITTLE = 0.3, 0.3  # of the entropy at the start, and in nats: both make a collapse
DISSOLVED, MUCH = 1.5, 0.5  # times the entropy at the start, and nats above it: noise takes over
CLIPPED = 0.3  # share of tokens or sets without gradient
APART = 0.1  # nats of KL between the sampling policy and the updated one
CUT = 0.9  # share of steps in which the gradient is cut to max_grad_norm
SPIKE = 10.0  # times the median


def entropy(run: RunFolder) -> Sequence[Finding]:
    """Per policy: has it collapsed, or dissolved, and has the bonus done that?"""
    about, history = "entropy", run.history
    names = history.names(r"([\w-]+)/entropy")
    if not names:
        return [Finding(about=about, severity="unknown", title="Entropy was not logged")] if run.trains else []
    ends = {policy: (history.early(name) or 0.0, history.late(name) or 0.0) for policy, name in names.items()}
    seen = "; ".join(f"{p} {history.told(name, _nats)}" for p, name in names.items())
    parted = {p for p, name in names.items() if history.parted(name)}
    fallen = [p for p, (a, b) in ends.items() if b < CERTAIN or (p in parted and b < min(COLLAPSED * a, LITTLE))]
    noisy = overgrown(run)
    risen = [p for p, (a, b) in ends.items() if p in parted and p not in noisy and b > max(DISSOLVED * a, a + MUCH)]
    found = list[Finding]()
    if noisy:
        found.append(undone(run, noisy))
    elif low := begin_below(run):
        found.append(below(run, low))
    if fallen:
        found.append(_collapse(run, fallen, seen, HELD * min(ends[p][0] for p in fallen)))
    if risen:
        found.append(_dissolving(risen, seen))
    return found or [Finding(about=about, severity="good", title="Entropy holds", seen=f"{seen}.")]


def clipping(run: RunFolder) -> Sequence[Finding]:
    """Ratio and clip fraction, of sets by their size where sets are clipped, else by policy."""
    about, history = "clipping", run.history
    sets = history.names(r"sets/(K\d+)/clip_fraction")
    names = sets or history.names(r"([\w-]+)/clip_fraction")
    if not names:
        return [Finding(about=about, severity="unknown", title="Ratios were not logged")] if run.trains else []
    clip = {label: history.late(name) or 0.0 for label, name in names.items()}
    ratio = {label: history.late(name.replace("clip_fraction", "ratio")) or 1.0 for label, name in names.items()}
    kl = {policy: history.late(name) or 0.0 for policy, name in history.names(r"([\w-]+)/approx_kl").items()}
    seen = "At the end: " + "; ".join(
        f"{label}: {percent(clip[label])} clipped, mean ratio {ratio[label]:.3f}" for label in clip
    )
    seen += "; KL to the sampling policy " + ", ".join(f"{p} {x:.2g}" for p, x in kl.items()) + "." if kl else "."
    if not any(clip.values()) and all(x == 1 for x in ratio.values()):
        seen = "One update per batch: every ratio is 1, and nothing can be clipped."
    much, apart = [label for label, x in clip.items() if x > CLIPPED], [p for p, x in kl.items() if x > APART]
    if not much and not apart:
        return [Finding(about=about, severity="good", title="Updates stay near the sampling policy", seen=seen)]
    what = "sets" if sets else "tokens"
    title = f"Many {what} are clipped: {listed(much)}" if much else f"{listed(apart)} moves far in one step"
    sized = ("`algo.set_power`, `algo.length_power`: the clip range belongs to them",) if sets else ()
    return [
        Finding(
            about=about,
            severity="warning",
            title=title,
            seen=seen,
            why=f"Clipped {what} have no gradient, and far from the sampling policy the surrogate no longer says what "
            "the true objective does.",
            advice=("`algo.lr` down", "`algo.epochs` or `algo.mini_batches` down", *sized, "`algo.clip` up"),
        )
    ]


def gradients(run: RunFolder) -> Sequence[Finding]:
    """Gradient norms: spikes, and what is cut off."""
    about, most = "gradient norm", run.number("algo.max_grad_norm", 0)
    norms = {p: [x for _, x in run.history.series(n)] for p, n in run.history.names(r"([\w-]+)/grad_norm").items()}
    if not norms:
        return [Finding(about=about, severity="unknown", title="No gradient was logged")] if run.trains else []
    seen = ", ".join(f"{p}: median {median(x):.2g}, largest {max(x):.2g}" for p, x in norms.items()) + "."
    spiky = [p for p, x in norms.items() if len(x) >= 6 and max(x) > SPIKE * median(x) > 0]
    if spiky:
        return [
            Finding(
                about=about,
                severity="warning",
                title=f"Gradients of {listed(spiky)} have spikes",
                seen=seen,
                why="A few batches decide where the policy goes.",
                advice=("`train.tasks` up: larger batches", "`algo.lr` down", "`algo.max_grad_norm` down"),
            )
        ]
    cut = {p: sum(x > most for x in found) / len(found) for p, found in norms.items()} if most else {}
    often = [p for p, share in cut.items() if share >= CUT]
    if often:
        seen += f" algo.max_grad_norm is {most:g}."
        why = "Every step then has the same length, whatever the batch says; AdamW hides most of it."
        return [
            Finding(
                about=about,
                severity="note",
                title=f"Gradients of {listed(often)} are cut in nearly every step",
                seen=seen,
                why=why,
                advice=("`algo.max_grad_norm` up", "`algo.normalise=true`"),
            )
        ]
    return [Finding(about=about, severity="good", title="Gradient norms are steady", seen=seen)]


def _nats(entropy: float) -> str:
    return f"{entropy:.2f} nats a token"


def _collapse(run: RunFolder, fallen: Sequence[str], seen: str, target: float) -> Finding:
    """`target`: nats. One above the entropy of the start would make the bonus grow without end."""
    follow = target >= SOME and target > run.number("algo.entropy_target", 0)
    flat = run.history.late("groups/zero_variance") or 0.0
    done = solved(run)
    return Finding(
        about="entropy",
        severity="note" if done else "fault" if flat >= 0.5 else "warning",
        title=f"Entropy of {listed(fallen)} has collapsed" + (", after the tasks were solved" if done else ""),
        seen=f"{seen}; {percent(flat)} of the groups have no variance at the end.",
        why="A policy that always says the same explores nothing: its groups no longer vary, and learning ends.",
        advice=(
            *([f"`algo.entropy_target={target:.1g}`: a bonus that follows a target"] if follow else []),
            "`algo.entropy` up",
            "`algo.lr` down, or `algo.schedule=linear`",
            "`algo.temperature` up",
        ),
    )


def _dissolving(risen: Sequence[str], seen: str) -> Finding:
    return Finding(
        about="entropy",
        severity="warning",
        title=f"Entropy of {listed(risen)} rises",
        seen=f"{seen}.",
        why="Noise takes over: the entropy bonus, or updates without direction, undo what the start knew.",
        advice=("`algo.entropy` or `algo.entropy_target` down", "`algo.lr` down", "`train.tasks` up"),
    )
