"""Which groups teach something, and which roles."""

from collections import Counter
from collections.abc import Mapping, Sequence

from masgym.types import value
from mastrain.report.finding import Finding, listed, percent
from mastrain.report.outcome import solved
from mastrain.report.reading import RunFolder

MANY, MOST = 0.5, 0.8  # share of groups without variance: half of what was sampled teaches nothing; nearly all of it
SILENT = 0.95  # of a role's groups: it gets no signal
STILL = 1e-6  # gradient norm: nothing moves


@value
class Cause:
    """Why groups are flat, and what helps."""

    told: str
    advice: tuple[str, ...]


CAUSES: Mapping[str, Cause] = {
    "single": Cause(
        told="hold one action only", advice=("`algo.branches` up", "`algo=srpo_tree` compares at one state")
    ),
    "malformed": Cause(
        told="hold malformed replies only",
        advice=("`model.warmstart.steps` up: a start that knows the form", "`algo.temperature` nearer 1"),
    ),
    "same reply": Cause(
        told="hold the same reply again and again",
        advice=("`algo.entropy` and `algo.entropy_target` up", "`algo.temperature` up", "`algo.branches` up"),
    ),
    "solved": Cause(told="are solved by every action", advice=("`env.level`: harder tasks",)),
    "same score": Cause(
        told="hold different replies that score the same",
        advice=(
            "`algo.credit=turn` or `episode`: play on before scoring",
            "`algo.guide` up: moves towards a solution count",
            "`algo.branches` up",
        ),
    ),
}


def zero_variance(run: RunFolder) -> Sequence[Finding]:
    """The share of groups whose rewards are all equal."""
    about = "zero-variance groups"
    share = run.history.late("groups/zero_variance")
    if share is None:
        return _unknown(run, about)
    single = run.history.late("groups/singleton") or 0.0
    causes = causes_of(run)
    shares = [f"{role} {percent(run.history.late(name) or 0)}" for role, name in _by_role(run).items()]
    seen = f"Groups without variance: {run.history.told('groups/zero_variance', percent)}"
    seen += f" ({', '.join(shares)} at the end)." if len(shares) > 1 else "."
    seen += f" {percent(single)} of the groups hold one action only." if single else ""
    seen += f" Of the flat ones in the last logged step {_told(causes)}." if causes else ""
    if share < MANY:
        return [
            Finding(
                about=about, severity="good", title=f"{percent(1 - share)} of the groups teach something", seen=seen
            )
        ]
    if solved(run):
        title = f"{percent(share)} of the groups have no variance, because the tasks are solved"
        return [Finding(about=about, severity="note", title=title, seen=seen, advice=CAUSES["solved"].advice)]
    return [
        Finding(
            about=about,
            severity="fault" if share >= MOST else "warning",
            title=f"{percent(share)} of the groups teach nothing",
            seen=seen,
            why="Advantages compare the actions of a group. Where all earn the same they are 0: the tokens are paid "
            "for, and no gradient comes of them.",
            advice=_advice(causes) or (*CAUSES["same reply"].advice, *CAUSES["same score"].advice[:2]),
        )
    ]


def silent_roles(run: RunFolder) -> Sequence[Finding]:
    """Roles whose groups all are flat, whose policy does not move, or that are never asked."""
    about, history = "signal by role", run.history
    if not run.trains or not history.rows:
        return []
    found = [finding for role in run.roles for finding in _of_role(run, role)]
    if any(finding.severity != "note" for finding in found):
        return found
    shares = _by_role(run)
    told = [f"{roles} {percent(1 - (history.late(name) or 0))}" for roles, name in shares.items()]
    seen = f"Groups with variance at the end: {', '.join(told)}." if told else ""
    return [*found, Finding(about=about, severity="good", title="Every role that is trained gets a signal", seen=seen)]


def causes_of(run: RunFolder) -> Counter[str]:
    """Cause -> flat groups of the last step in rollouts.jsonl."""
    last = max((group.step for group in run.groups), default=0)
    return Counter(group.cause for group in run.groups if group.step == last and group.flat)


def _of_role(run: RunFolder, role: str) -> Sequence[Finding]:
    about, history = "signal by role", run.history
    asked, steps = history.series(f"{role}/reward"), history.rows
    recent = list(steps)[-history.window(f"{role}/reward") :]
    if not any(step in recent for step, _ in asked):
        since = f"not since step {asked[-1][0]}" if asked else "never in training"
        return [
            _silent(
                run, role, f"{role} is not asked any more" if asked else f"{role} is never asked", f"It spoke {since}."
            )
        ]
    policy = _policy(run, role)
    if policy in run.setting("policies.frozen", ()):
        return [
            Finding(about=about, severity="note", title=f"{role} is frozen", seen=f"`policies.frozen` holds {policy}.")
        ]
    for roles, name in _by_role(run).items():
        share = history.late(name)
        if role in roles.split("+") and share is not None and share >= SILENT and not solved(run):
            causes = Counter(g.cause for g in run.groups if g.flat and role in g.roles)
            seen = f"{percent(share)} of its groups have no variance at the end."
            seen += f" Over all logged steps {_told(causes)}." if causes else ""
            return [_silent(run, role, f"{role} gets no signal", seen, causes)]
    norm = history.late(f"{policy}/grad_norm")
    if norm is not None and norm < STILL:
        return [_silent(run, role, f"{role} does not move", f"The gradient norm of its policy {policy} is {norm:.1e}.")]
    return []


def _silent(run: RunFolder, role: str, title: str, seen: str, causes: Counter[str] | None = None) -> Finding:
    """It advises only what the run does not do already; flat episodes have no other credit."""
    general = (
        ("algo.advice_credit", "immediate", "`algo.advice_credit=turn`: score a proposal by what the turn makes of it"),
        ("env.outcome_only", True, "`env.outcome_only=false`: local terms of its own"),
        ("policies.kind", "per_role", "`policies=shared`: it learns from the others"),
    )
    return Finding(
        about="signal by role",
        severity="fault",
        title=title,
        seen=seen,
        why=f"What {role} does stays as the supervised start left it, and the others learn to live with it.",
        advice=(*_advice(causes or Counter())[:2], *(text for key, now, text in general if run.setting(key) == now)),
    )


def _policy(run: RunFolder, role: str) -> str:
    """Who speaks for a role: as mastrain.policies names them."""
    kind = run.setting("policies.kind")
    given = run.setting("policies.map", {})
    if kind == "map" and isinstance(given, dict):
        return str(given.get(role, role))
    return "shared" if kind == "shared" else role


def _by_role(run: RunFolder) -> dict[str, str]:
    """Role ("a+b" where their sets are compared) -> metric."""
    return run.history.names(r"groups/zero_variance/(.+)")


def _told(causes: Counter[str]) -> str:
    total = sum(causes.values())
    return listed([f"{percent(n / total)} {CAUSES[cause].told}" for cause, n in causes.most_common()])


def _advice(causes: Counter[str]) -> tuple[str, ...]:
    """For the causes of at least a fifth of the flat groups, the most frequent first."""
    total = sum(causes.values())
    found = [advice for cause, n in causes.most_common() if 5 * n >= total for advice in CAUSES[cause].advice]
    return tuple(dict.fromkeys(found))


def _unknown(run: RunFolder, about: str) -> Sequence[Finding]:
    return [Finding(about=about, severity="unknown", title="No step was logged")] if run.trains else []
