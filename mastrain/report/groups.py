"""The groups in rollouts.jsonl: what was compared with what, what came of it, and where in the viewer's page it is."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from masgym.game import role_of
from masgym.types import value
from masgym.viewer import training


@value
class SampledGroup:
    """Actions that were compared with each other."""

    step: int
    task: str
    level: str
    turn: int  # counted from 1
    roles: tuple[str, ...]  # more than one where sets are compared
    rewards: tuple[float, ...]  # one for each action
    replies: int  # different ones (of sets: different sets)
    malformed: int  # actions of which a reply is malformed
    reasons: Mapping[str, Mapping[str, int]]  # role -> reason of a malformed reply -> how often
    solved: int  # actions that ended with the task solved
    place: tuple[int, int]  # (episode, event) in the viewer's page

    @property
    def flat(self) -> bool:
        """Nothing is learned from it: no reward differs from another."""
        return max(self.rewards) == min(self.rewards)

    @property
    def cause(self) -> str:
        """Why it is flat: what its actions have in common."""
        if len(self.rewards) == 1:
            return "single"
        if self.malformed == len(self.rewards):
            return "malformed"
        if self.replies == 1:
            return "same reply"
        return "solved" if self.solved == len(self.rewards) else "same score"


def read_groups(folder: Path) -> tuple[SampledGroup, ...]:
    """In the order of the file; () where there is none. Raises BadFile."""
    episodes = training.sampled(folder)
    first_turn = min((row["turn"] for rows in episodes for row in rows), default=0)
    found: dict[Any, list[tuple[tuple[int, int], training.Fields]]] = {}
    for number, rows in enumerate(episodes):
        for place, row in _placed(number, rows):
            found.setdefault((row.get("step"), row["group"]), []).append((place, row))
    return tuple(_group(placed, first_turn) for placed in found.values())


def worst(groups: Sequence[SampledGroup], most: int = 12) -> list[SampledGroup]:
    """Of the last step that was kept: groups of more than one action, without signal first, then by what they earned;
    not more than two of a task, so that one hard task does not fill the list."""
    last = max((group.step for group in groups), default=0)
    latest = [group for group in groups if group.step == last and len(group.rewards) > 1]
    latest.sort(key=lambda group: (not group.flat, sum(group.rewards) / len(group.rewards)))
    shown, of_task = list[SampledGroup](), Counter[str]()
    for group in latest:
        of_task[group.task] += 1
        if of_task[group.task] <= 2:
            shown.append(group)
    return shown[:most]


def _placed(number: int, rows: Sequence[training.Fields]) -> Iterator[tuple[tuple[int, int], training.Fields]]:
    for at, event in enumerate(training.events_of(rows)):
        for row in event:
            yield (number, at), row


def _group(placed: Sequence[tuple[tuple[int, int], training.Fields]], first_turn: int) -> SampledGroup:
    actions: dict[Any, list[training.Fields]] = {}
    for at, (_, row) in enumerate(placed):
        actions.setdefault(at if row.get("action") is None else row["action"], []).append(row)
    rows, (place, first) = [row for _, row in placed], placed[0]
    reasons: dict[str, Counter[str]] = {}
    for row in rows:
        if row.get("malformed"):
            reasons.setdefault(role_of(row["agent"]), Counter())[str(row.get("note", ""))] += 1
    step = first.get("step")
    return SampledGroup(
        step=step if type(step) is int else 0,
        task=str(first["task"]),
        level=str(first.get("level") or ""),
        turn=first["turn"] + 1 - min(1, first_turn),
        roles=tuple(dict.fromkeys(role_of(row["agent"]) for row in rows)),
        rewards=tuple(float(members[0]["reward"]) for members in actions.values()),
        replies=len({tuple((row["agent"], row["reply"]) for row in members) for members in actions.values()}),
        malformed=sum(any(row.get("malformed") for row in members) for members in actions.values()),
        reasons=reasons,
        solved=sum(bool(members[0].get("solved")) for members in actions.values()),
        place=place,
    )
