"""Anyone's rollouts, from any trainer: which of the faults found in public implementations a file of them shows.

    findings = audit("rollouts.jsonl")
    print(text(findings))

`masgym.audit.rows` documents the file; `masgym.audit.findings` lists the faults.
"""

from collections.abc import Iterator
from pathlib import Path

from masgym.audit import episodes, groups
from masgym.audit.advantages import Finish, finish_of, form_of_file
from masgym.audit.amounts import too_few
from masgym.audit.collect import Collected, collect
from masgym.audit.findings import Finding, Findings, text, to_json
from masgym.audit.rows import read
from masgym.errors import BadFile

__all__ = ["Finding", "Findings", "audit", "text", "to_json"]


def audit(path: str | Path) -> Findings:
    """What is wrong with a file of rollouts. Reads it once and keeps no texts.

    Raises BadFile, which names file, line and field.
    """
    found = collect(read(Path(path)))
    if not found.rows:
        raise BadFile(f"{path} is empty; one JSON object a line was expected, one for each sampled reply.")
    pairs = [groups.pair_of(group) for group in found.groups]
    finish = finish_of([advantage for _, given in pairs for advantage in given])
    form = form_of_file(pairs, finish)
    return Findings(
        file=str(path),
        rows=len(found.rows),
        groups=len(found.groups),
        tasks=len({row.task for row in found.rows}),
        episodes=len(found.episodes) or None,
        agents=tuple(dict.fromkeys(row.agent for row in found.rows)),
        advantage=form,
        same_reward=sum(group.same_reward for group in found.groups) / len(found.groups),
        findings=tuple(_findings(found, form, finish)),
        unchecked=tuple(_unchecked(found)),
    )


def _findings(found: Collected, form: str, finish: Finish) -> Iterator[Finding]:
    yield from groups.one_problem(found)
    yield from episodes.earlier_speakers_are_seen(found)
    yield from groups.rewards_that_vary(found)
    yield from episodes.prompts_that_move(found)
    yield from groups.likely(found)
    yield from episodes.no_failures(found)
    yield from episodes.terms_that_vary(found)
    yield from episodes.one_start(found)
    yield from episodes.all_turns(found)
    yield from groups.advantages_that_fit(found, form, finish)


NEEDS = {
    "episode": "prompts that move, turns that are kept, one start for each task",
    "event": "whether a later speaker sees an earlier one",
    "logps": "log-probs",
    "tokens": "whether log-probs go with what was sampled",
    "terms": "reward terms that are always zero",
}


def _unchecked(found: Collected) -> Iterator[str]:
    for field, what in NEEDS.items():
        lacking = sum(getattr(row, field) in (None, {}) for row in found.rows)
        if lacking:
            yield f"{what}: {lacking} of {len(found.rows)} rows have no field {field!r}"
    if unknown := groups.of_unknown_states(found):
        yield (
            f"whether candidates that are compared stood on one state: {unknown} groups hold different prompts, and "
            "only the field 'episode' says whether they are of several playthroughs; give 'episode'"
        )
    yield from too_few(found)
