"""Replies that are malformed, cut off or missing."""

from collections import Counter
from collections.abc import Sequence

from mastrain.report.finding import Finding, listed, percent
from mastrain.report.reading import RunFolder

SOME, MANY = 0.1, 0.3  # share of malformed replies of a role
CUT_OFF = 0.05  # share of replies that reach max_new_tokens
LOST, LOST_MANY = 0.01, 0.1  # share of candidates without a reply or a score
REASONS = 3  # that are named


def malformed(run: RunFolder) -> Sequence[Finding]:
    """Share by role, with the most frequent reasons."""
    about, history = "malformed replies", run.history
    names = {role: f"{role}/malformed" for role in history.names(r"([\w-]+)/reward")}
    shares = {role: history.late(name) or 0.0 for role, name in names.items()}
    if not shares:
        return [*_of_report(run)]
    seen = "; ".join(f"{role} {history.told(name, percent)}" for role, name in names.items()) + "."
    alone = history.late("validation/malformed")
    seen += f" Alone, on validation tasks, {percent(alone)} of all replies." if alone is not None else ""
    worst = {role: last for role, last in shares.items() if last > SOME}
    if not worst:
        return [Finding(about=about, severity="good", title="Few replies are malformed", seen=seen)]
    reasons = [f"{role}: {_reasons(run, role)}" for role in worst if _reasons(run, role)]
    seen += f" In the last logged step: {'; '.join(reasons)}." if reasons else ""
    return [_finding(listed([f"{role} {percent(share)}" for role, share in worst.items()]), max(worst.values()), seen)]


def truncated(run: RunFolder) -> Sequence[Finding]:
    """Replies that end at the limit of tokens."""
    about, history = "cut-off replies", run.history
    shares = {r: history.late(f"{r}/truncated") or 0.0 for r in history.names(r"([\w-]+)/reward")}
    limit = run.setting("model.max_new_tokens", "not known")
    seen = ", ".join(f"{role} {percent(share)}" for role, share in shares.items())
    if not shares:
        return []
    if max(shares.values()) <= CUT_OFF:
        return [Finding(about=about, severity="good", title="Replies end by themselves", seen=f"Cut off: {seen}.")]
    return [
        Finding(
            about=about,
            severity="warning",
            title="Replies are cut off at the limit",
            seen=f"{seen} of the replies reach model.max_new_tokens = {limit}.",
            why="What is cut off is mostly malformed, and the policy is trained on the half of it.",
            advice=(
                "`model.max_new_tokens` up",
                "`model.warmstart.steps` up, where the model does not know yet how to end",
            ),
        )
    ]


def dropped(run: RunFolder) -> Sequence[Finding]:
    """Candidates without a reply of every member, or without a score."""
    about, rows = "missing replies", run.history.rows.values()
    lost = sum(row.get("sample/dropped_candidates", 0) for row in rows)
    kept = sum(row.get("sample/candidates", 0) for row in rows)
    if not lost + kept:
        return []
    share, named = lost / (lost + kept), Counter[str]()
    for row in rows:
        named.update({n.removeprefix("failure/"): int(x) for n, x in row.items() if n.startswith("failure/")})
    seen = f"{lost:.0f} of {lost + kept:.0f} candidates over the run"
    seen += f" ({', '.join(f'{name} {count}' for name, count in named.most_common(REASONS))})." if named else "."
    if share <= LOST:
        return [
            Finding(
                about=about,
                severity="good",
                title="Hardly a candidate is lost" if lost else "No candidate is lost",
                seen=seen,
            )
        ]
    return [
        Finding(
            about=about,
            severity="fault" if share > LOST_MANY else "warning",
            title=f"{percent(share)} of the candidates are dropped",
            seen=seen,
            why="A set that lacks a member is in no statistic; where there is a reason (long prompts, slow tools), "
            "what is left is a biased sample.",
            advice=("the named outcomes say what fails", "`engine.max_tokens`", "`model.max_new_tokens`"),
        )
    ]


def _of_report(run: RunFolder) -> Sequence[Finding]:
    """Without training: of the replies before it."""
    report, about = run.before.get("sampled"), "malformed replies"
    if report is None:
        return [Finding(about=about, severity="unknown", title="No reply was judged yet")]
    reasons = "; ".join(f"{reason} ({n})" for reason, n in list(report.malformed_reasons.items())[:REASONS])
    seen = f"{percent(report.malformed_rate)} of the replies on {report.tasks} test tasks, before training"
    seen += f": {reasons}." if reasons else "."
    if report.malformed_rate > SOME:
        return [_finding(percent(report.malformed_rate), report.malformed_rate, seen)]
    return [Finding(about=about, severity="good", title="Few replies are malformed", seen=seen)]


def _finding(shares: str, most: float, seen: str) -> Finding:
    return Finding(
        about="malformed replies",
        severity="fault" if most > MANY else "warning",
        title=f"Malformed replies: {shares}",
        seen=seen,
        why="A malformed reply does nothing but cost; a policy learns the form first, and little else meanwhile.",
        advice=(
            "`model.warmstart.steps` up: a start that knows the form",
            "`env.malformed` lower: what one costs",
            "`algo.temperature` nearer 1",
        ),
    )


def _reasons(run: RunFolder, role: str) -> str:
    """The most frequent reasons of a role's malformed replies in the last step of rollouts.jsonl."""
    last, found = max((group.step for group in run.groups), default=0), Counter[str]()
    for group in run.groups:
        if group.step == last:
            found.update(group.reasons.get(role, {}))
    return ", ".join(f"{reason} ({n})" for reason, n in found.most_common(REASONS))
