"""What an audit says, as values, text and JSON."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from masgym.audit.rows import Row
from masgym.tags import printable
from masgym.types import JSON, value

FAULTS: Mapping[int, str] = {
    1: "candidates of one state are on different prompts: they came from several copies of the environment",
    2: "a later speaker does not see an earlier one, or its candidates all get one reward",
    3: "groups mix different problems",
    5: "later prompts show the start position instead of the current one",
    6: "log-probs are not those of the distribution that was sampled from",
    7: "failed generations became training samples",
    9: "a reward term is always zero",
    10: "seeds do not reach the environment, so one task's name stands for several",
    13: "groups mix agents, or only last turns are kept",
}
UNSEEN = (4, 8, 11, 12, 14)  # of the environment, the sandbox and the checkpoints: no file of rollouts shows them
ADVANTAGES = "advantages do not fit the rewards"
EXAMPLE = 4  # rows that are named


@value
class Finding:
    """One fault that is seen."""

    fault: int | None  # its number in `FAULTS`; None for advantages that do not fit
    says: str
    lines: tuple[int, ...]  # example rows
    count: int  # how often it is seen: groups, replies or episodes, as `says` tells
    title: str = ""  # the one fault that it is, where its number stands for several

    @property
    def name(self) -> str:
        """The one fault in words."""
        return self.title or (ADVANTAGES if self.fault is None else FAULTS[self.fault])


@value
class Findings:
    """What a file holds, and what is wrong with it."""

    file: str
    rows: int
    groups: int
    tasks: int
    episodes: int | None  # None where the file does not say
    agents: tuple[str, ...]
    advantage: str  # the form that advantages have
    same_reward: float  # share of groups in which every action has the same reward: they teach nothing
    findings: tuple[Finding, ...]
    unchecked: tuple[str, ...]  # what could not be looked at, and why

    @property
    def ok(self) -> bool:
        return not self.findings


def finding(
    fault: int | None,
    says: str,
    seen: Sequence[Sequence[Row]],
    more: Callable[[Sequence[Row]], str] = lambda rows: "",
    title: str = "",
) -> Iterator[Finding]:
    """The one finding of what is `seen`, none where that is nothing. The first "{}" in `says` is how often; the rows
    seen first are the example, and `more` may add what is special about them."""
    if seen:
        lines = tuple(row.line for row in seen[0])[:EXAMPLE]
        told = says.replace("{}", str(len(seen)), 1) + more(seen[0])
        yield Finding(fault=fault, says=told, lines=lines, count=len(seen), title=title)


def to_json(found: Findings) -> dict[str, JSON]:
    """The findings as JSON values."""
    own = {name: getattr(found, name) for name in Findings.__slots__}  # type: ignore[attr-defined]
    listed = [
        {"fault": f.fault, "name": f.name, "says": f.says, "lines": list(f.lines), "count": f.count}
        for f in found.findings
    ]
    return own | {
        "ok": found.ok,
        "agents": list(found.agents),
        "findings": listed,
        "unchecked": list(found.unchecked),
        "unseen": list(UNSEEN),
    }


def text(found: Findings) -> str:
    """The findings for a screen."""
    episodes = "" if found.episodes is None else f", {found.episodes} episodes"
    lines = [
        f"{found.file}: {found.rows} replies, {found.groups} groups, {found.tasks} tasks{episodes}; "
        f"agents {', '.join(found.agents)}",
        f"advantages: {found.advantage}; all rewards equal in {100 * found.same_reward:.1f} % of groups",
    ]
    for finding in found.findings:
        at = ", ".join(map(str, finding.lines))
        lines += [
            f"fault: {finding.name}",
            f"    {finding.says}; for example line{'s' * (len(finding.lines) > 1)} {at}",
        ]
    lines += [f"not looked at: {why}" for why in found.unchecked]
    if found.ok:
        rest = ", as far as it could be looked at" if found.unchecked else ""
        lines.append(f"none of the faults that can be seen in such a file is in it{rest}")
    return "\n".join(map(printable, lines))
