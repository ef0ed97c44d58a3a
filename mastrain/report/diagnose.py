"""All diagnostics, and what they find, the most severe first."""

import re
from collections.abc import Mapping
from dataclasses import replace

from mastrain.report import bonus, outcome, policy, replies, signal, states
from mastrain.report.finding import ORDER, Diagnostic, Finding, percent
from mastrain.report.reading import RunFolder

DIAGNOSTICS: tuple[Diagnostic, ...] = (
    outcome.learned,
    outcome.ended,
    outcome.finite,
    signal.zero_variance,
    signal.silent_roles,
    policy.entropy,
    states.dead_states,
    replies.malformed,
    states.distance,
    outcome.reward_alone,
    policy.clipping,
    policy.gradients,
    replies.truncated,
    replies.dropped,
)

RULES = {  # how each is judged, for people
    "windows": "Start and end are means over the first and the last tenth of the points, at least three.",
    "held-out success": "95 % intervals of the start and the end, apart or not.",
    "reward and success": f"A reward has risen by {outcome.RISE:g} standard errors, success by one.",
    "zero-variance groups": f"Warning from {percent(signal.MANY)} of the groups, fault from {percent(signal.MOST)}.",
    "signal by role": f"Fault from {percent(signal.SILENT)} flat groups, or for a role that is not asked or not moved.",
    "entropy": f"Collapsed below {policy.CERTAIN:g} nats a token, or below {policy.LITTLE:g} nats and "
    f"{percent(policy.COLLAPSED)} of the start; rising above {policy.DISSOLVED:g} times the start and "
    f"{policy.MUCH:g} nats more. Undone by its bonus: that grew {bonus.GROWN:g} times, entropy came to "
    f"{bonus.RISEN:g} times its least and {bonus.MORE:g} nats more, and success in training fell below "
    f"{percent(bonus.HALF)} of its best, or a reward by {outcome.RISE:g} standard errors. "
    "Noted: a start below `algo.entropy_target`.",
    "dead states": f"Warning above {percent(states.DEAD)} of the episodes, fault above {percent(states.MANY_DEAD)}.",
    "malformed replies": f"Warning above {percent(replies.SOME)} of a role's, fault above {percent(replies.MANY)}.",
    "states in training and alone": "Total variation distance between histograms over (turn, stage), inside of "
    f"what training plays: warning above {percent(states.AWAY)} beyond chance, fault above {percent(states.FAR)}.",
    "clipping": f"Warning above {percent(policy.CLIPPED)} clipped, or {policy.APART:g} nats of KL.",
    "gradient norm": f"Warning for a norm above {policy.SPIKE:g} times the median.",
    "cut-off replies": f"Warning above {percent(replies.CUT_OFF)} of a role's replies.",
    "missing replies": f"Warning above {percent(replies.LOST)} of all, fault above {percent(replies.LOST_MANY)}.",
}


def findings(run: RunFolder) -> list[Finding]:
    """Of all diagnostics; those of one severity in the order of the list."""
    found = [finding for diagnostic in DIAGNOSTICS for finding in diagnostic(run)]
    found = [replace(one, advice=tuple(a for given in one.advice if (a := now(run, given)))) for one in found]
    return sorted(found, key=lambda finding: ORDER.index(finding.severity))


def now(run: RunFolder, advice: str) -> str:
    """With what the config says of a key that stands alone: "`algo.clip` (now 0.2) up"; "" for `key=value` where that
    is so already."""

    def said(match: re.Match[str]) -> str:
        held = run.setting(match[1])
        return match[0] if held is None or isinstance(held, Mapping) else f"{match[0]} (now {shown(held)})"

    if (told := re.match(r"`([\w.]+)=([^`]+)`", advice)) and shown(run.setting(told[1])) == told[2]:
        return ""
    return re.sub(r"`(\w+(?:\.\w+)+)`", said, advice)


def shown(held: object) -> str:
    """A value as the command line takes it."""
    return str(held).lower() if isinstance(held, bool) else f"{held:g}" if isinstance(held, float) else str(held)
