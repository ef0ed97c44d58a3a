"""The report's curves and bars: what is drawn of a run."""

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from statistics import fmean

from masgym.types import value
from mastrain.curves import Axes
from mastrain.report.history import Series
from mastrain.report.reading import RunFolder
from mastrain.report.states import Cells, told, visits_of
from mastrain.run_files import SPENT
from mastrain.visits import STAGES

POINTS = 240  # that a curve shows; more are averaged
TICKS = 4


@value
class Chart:
    """Curves over training steps."""

    title: str
    note: str  # what is to be known about it
    curves: Mapping[str, Series]
    shares: bool = False  # y in percent
    zero: bool = True  # the scale begins at 0, or below

    @property
    def axes(self) -> Axes:
        values = [y for points in self.curves.values() for _, y in points]
        ends = [*values, 0.0] if self.zero else values
        low, high = nice(min(ends), max(ends))
        text = _percent if self.shares else _number
        size = Axes(width=420, height=210, left=52, top=12, right=12, bottom=32)
        return Axes(
            **{name: getattr(size, name) for name in ("width", "height", "left", "top", "right", "bottom")},
            low=low,
            high=high,
            ticks=TICKS,
            legend=False,
            text_x=_whole,
            text_y=text,
        )


@value
class Bars:
    """Shares side by side: bars of a label add up to 1 over all labels, for each side."""

    title: str
    note: str
    sides: Mapping[str, Mapping[str, float]]  # side -> label -> share


def charts(run: RunFolder) -> list[Chart]:
    """Those of which something was logged."""
    made = [_success(run), *_rewards(run), *_signal(run), *_policies(run), *_ratios(run), *_replies(run), *_costs(run)]
    return [chart for chart in made if chart.curves]


def bars(run: RunFolder) -> list[Bars]:
    """Visited states in training and alone; sizes of sets."""
    sizes = {f"K = {size}": sum(y for _, y in run.history.series(name)) for size, name in _sizes(run).items()}
    total, found = sum(sizes.values()), list[Bars]()
    if len(sizes) > 1 and total:
        shares = {label: count / total for label, count in sizes.items()}
        found.append(Bars(title="Size of the active set", note="of all candidates", sides={"sampled": shares}))
    visits = visits_of(run)
    if visits is None:
        return found
    turns = [f"turn {t}" for t in range(1, 1 + max(turn for turn, _ in (*visits.training, *visits.alone)))]
    note = "share of decision events near the end: sampled in training, and of the policy alone on validation tasks"
    for title, labels, label in (
        ("States by turn", turns, lambda turn, stage: f"turn {turn}"),
        ("States by the part of the way that is done", [told(s) for s in STAGES], lambda turn, stage: told(stage)),
    ):
        sides = {"training": _by(visits.training, labels, label), "alone": _by(visits.alone, labels, label)}
        found.append(Bars(title=title, note=note, sides=sides))
    return found


def nice(low: float, high: float) -> tuple[float, float]:
    """Bounds around both whose TICKS intervals have short numbers; some room where they are the same."""
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        low, high = (low - abs(low) / 2, high + abs(high) / 2) if high else (0.0, 1.0)
    span = high - low
    for exponent in range(math.floor(math.log10(span / TICKS)), 400):
        for digit in (1, 2, 2.5, 5):
            step = digit * 10.0**exponent
            start = math.floor(low / step + 1e-9) * step
            if start + TICKS * step >= high - 1e-9 * step:
                return start, start + TICKS * step
    raise AssertionError(span)


def thin(points: Series) -> Series:
    """At most POINTS: means of neighbours where there are more."""
    size = math.ceil(len(points) / POINTS)
    parts = [points[i : i + size] for i in range(0, len(points), max(1, size))]
    return [(part[-1][0], fmean(y for _, y in part)) for part in parts]


def _success(run: RunFolder) -> Chart:
    curves = {
        "alone, validation tasks": run.history.series("validation/success"),
        "in training": run.history.series("sample/success"),
    }
    start, end = run.before.get("sampled"), run.after.get("sampled")
    tests = [(0, start.success.mean)] if start and run.history.steps else []
    tests += [(run.history.steps, end.success.mean)] if end and run.history.steps else []
    note = (
        "in training replies are sampled at algo.temperature, and a tree may go on along the best: only the others tell"
    )
    return Chart(title="Success", note=note, curves=_kept({**curves, "alone, test tasks": tests}), shares=True)


def _rewards(run: RunFolder) -> Iterable[Chart]:
    roles = run.history.names(r"([\w-]+)/reward")
    yield _chart(run, "Reward", "mean of what a reply earned, by role", roles)
    for role in roles:
        terms = run.history.names(rf"{role}/term/(.+)")
        yield _chart(run, f"Reward terms of {role}", "weighted local terms, mean over replies", terms)


def _signal(run: RunFolder) -> Iterable[Chart]:
    flat = run.history.names(r"groups/zero_variance/(.+)")
    yield _chart(run, "Groups without variance", "they teach nothing", flat, shares=True)
    lost = {"training": "sample/lost", "alone, validation tasks": "validation/lost"}
    yield _chart(run, "Episodes lost for good", "a state from which no reply can solve the task", lost, shares=True)


def _policies(run: RunFolder) -> Iterable[Chart]:
    for title, note, name in (
        ("Entropy", "nats a token", "entropy"),
        ("Gradient norm", "before it is cut to algo.max_grad_norm", "grad_norm"),
        ("Learning rate", "", "learning_rate"),
        ("Entropy bonus", "its coefficient", "entropy_coefficient"),
        ("KL to the sampling policy", "nats a token, mean over the updates of a step", "approx_kl"),
    ):
        yield _chart(run, title, note, run.history.names(rf"([\w-]+)/{name}"))


def _ratios(run: RunFolder) -> Iterable[Chart]:
    sets = bool(run.history.names(r"sets/(K\d+)/ratio"))
    pattern, what = (r"sets/(K\d+)/", "of sets, by K_e") if sets else (r"([\w-]+)/", "of tokens, by policy")
    yield _chart(run, "Ratio", f"to the sampling policy, {what}", run.history.names(pattern + "ratio"), zero=False)
    yield _chart(run, "Clip fraction", what, run.history.names(pattern + "clip_fraction"), shares=True)
    if sets:
        yield _chart(run, "Variance of L_e", what, run.history.names(pattern + "log_ratio_variance"))
        yield _chart(run, "Size of advantages", what, run.history.names(pattern + "advantage_size"))


def _replies(run: RunFolder) -> Iterable[Chart]:
    roles = list(run.history.names(r"([\w-]+)/reward"))
    malformed = {role: f"{role}/malformed" for role in roles} | {"alone, all roles": "validation/malformed"}
    yield _chart(run, "Malformed replies", "by role", malformed, shares=True)
    yield _chart(run, "Reply length", "tokens, by role", {role: f"{role}/reply_tokens" for role in roles})
    yield _chart(run, "Cut-off replies", "at model.max_new_tokens", {r: f"{r}/truncated" for r in roles}, shares=True)


def _costs(run: RunFolder) -> Iterable[Chart]:
    tokens = {"replies trained on": "sample/tokens", "playouts": "sample/playout_tokens"}
    yield _chart(run, "Tokens a step", "sampled", tokens)
    yield _chart(run, "Tokens so far", "sampled for training", {"all": SPENT})
    yield _chart(run, "Calls a step", "C_call and C_tool", {"replies": "sample/calls", "tools": "sample/tool_calls"})
    alone = {name: f"validation/{name}" for name in ("tokens", "calls", "tool_calls")}
    yield _chart(run, "Cost of an episode alone", "on validation tasks", alone)


def _chart(
    run: RunFolder, title: str, note: str, names: Mapping[str, str], shares: bool = False, zero: bool = True
) -> Chart:
    curves = {label: run.history.series(name) for label, name in names.items()}
    return Chart(title=title, note=note, curves=_kept(curves), shares=shares, zero=zero)


def _kept(curves: Mapping[str, Series]) -> dict[str, Series]:
    """Without those that have no point."""
    return {label: thin(points) for label, points in curves.items() if points}


def _sizes(run: RunFolder) -> dict[str, str]:
    return run.history.names(r"sets/K(\d+)/candidates")


def _by(cells: Cells, labels: Iterable[str], label: Callable[[int, str], str]) -> dict[str, float]:
    total = sum(cells.values())
    named = sorted((label(turn, stage), count) for (turn, stage), count in cells.items())
    sums = {name: sum(n for _, n in found) for name, found in groupby(named, key=lambda one: one[0])}
    return {name: sums.get(name, 0) / total for name in labels}


def _percent(y: float) -> str:
    return f"{round(100 * y, 6):g}%"


def _number(y: float) -> str:
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if abs(y) >= size:
            return f"{round(y / size, 6):g}{unit}"
    return f"{round(y, 12):.6g}"


def _whole(x: float) -> str:
    """Steps are whole; a tick between them has no number."""
    return f"{x:.0f}" if abs(x - round(x)) < 1e-9 else ""
