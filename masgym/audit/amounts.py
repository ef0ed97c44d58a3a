"""Which checks a file holds too little for: a fault would not be called one, so that none is seen says nothing."""

from collections.abc import Iterator, Sequence

from masgym.audit import episodes, groups, likelihood
from masgym.audit.collect import Collected


def too_few(all_: Collected) -> Iterator[str]:
    """Which check, how many it needs, how many came. Checks that fewer already settle (something varied) are left out,
    and those whose fields are missing."""
    for agent, found in groups.telling_groups(all_).items():
        if len(found) < groups.LEAST_GROUPS and all(group.same_reward for group in found):
            yield _said(f"whether rewards of {agent} vary", groups.LEAST_GROUPS, "groups with different replies", found)
    for agent, pairs in episodes.later_prompts(all_).items():
        if len(pairs) < episodes.LEAST_LATER and all(a.position == b.position for a, b in pairs):
            yield _said(f"whether prompts of {agent} move", episodes.LEAST_LATER, "later prompts of it", pairs)
    long, lone = episodes.late_episodes(all_)
    if lone and len(long) < episodes.LEAST_LONG:
        yield _said("whether all turns are kept", episodes.LEAST_LONG, "episodes beyond the first turn", long)
    yield from _later_speakers(all_)
    for (agent, name), rows in episodes.dead_terms(all_).items():
        if len(rows) < episodes.LEAST_TERMS and any(not row.malformed for row in all_.rows):
            yield _said(
                f"whether the term {name!r} of {agent} is always 0", episodes.LEAST_TERMS, "replies of it", rows
            )
    if any(row.tokens and row.logps for row in all_.rows):
        agreed = groups.agreements(groups.siblings_of(all_))
        if len(agreed) < likelihood.LEAST_GROUPS:
            what = "whether log-probs go with what was sampled"
            yield _said(what, likelihood.LEAST_GROUPS, "prompts with several replies", agreed)


def _later_speakers(all_: Collected) -> Iterator[str]:
    """Where several agents speak one after the other."""
    found = episodes.seconds(all_)
    several = len({row.agent for row in all_.rows if row.event is not None and row.episode is not None}) > 1
    for agent, tasks in found.items() if several else ():
        if len(tasks) < episodes.LEAST_TASKS and all(blind for blind, _ in tasks):
            yield _said(f"whether {agent} sees an earlier speaker", episodes.LEAST_TASKS, _PLAYED, tasks)
    if several and not found:
        yield _said("whether a later speaker sees an earlier one", episodes.LEAST_TASKS, _PLAYED, [])


_PLAYED = "tasks played several times, with first replies that differ"


def _said(what: str, needed: int, of: str, came: Sequence[object]) -> str:
    return f"{what}: {needed} {of} are needed, {len(came)} came"
