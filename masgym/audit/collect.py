"""Rows by group and by episode."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from masgym.audit.rows import Id, Row
from masgym.types import value

Action: TypeAlias = tuple[Row, ...]  # the replies that got one reward together: mostly one


@value
class Group:
    """Actions that are compared with each other."""

    actions: tuple[Action, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        return tuple(row for action in self.actions for row in action)

    @property
    def flat(self) -> bool:
        """Over several playthroughs of a task, where prompts may differ; else over one state, where they may not."""
        episodes = [action[0].episode for action in self.actions]
        return None not in episodes and len(set(episodes)) == len(episodes)

    @property
    def of_one_state(self) -> bool:
        """Known to be: of one event, or by their episodes, which are not all different."""
        rows = self.rows
        told = all(row.episode is not None for row in rows)
        return not self.flat and (told or (rows[0].event is not None and len({row.event for row in rows}) == 1))

    @property
    def agents(self) -> frozenset[str]:
        return frozenset(row.agent for row in self.rows)

    @property
    def same_reward(self) -> bool:
        return len({action[0].reward for action in self.actions}) == 1

    @property
    def same_reply(self) -> bool:
        """Of actions in which anything could be done: malformed replies rightly earn the same."""
        some = [action for action in self.actions if not all(row.malformed for row in action)]
        return len({tuple(row.reply for row in action) for action in some}) <= 1


@value
class Collected:
    """All rows of a file."""

    rows: tuple[Row, ...]
    groups: tuple[Group, ...]
    episodes: Mapping[tuple[Id, Id], Sequence[Row]]  # (task, episode) -> its rows, as they stand in the file
    first_turn: int  # what the file counts turns from


def collect(rows: Iterable[Row]) -> Collected:
    kept = tuple(rows)
    groups: dict[Id, dict[object, list[Row]]] = defaultdict(dict)
    episodes: dict[tuple[Id, Id], list[Row]] = defaultdict(list)
    for row in kept:
        action = ("line", row.line) if row.action is None else ("action", row.action)
        groups[row.group].setdefault(action, []).append(row)
        if row.episode is not None:
            episodes[row.task, row.episode].append(row)
    made = tuple(Group(actions=tuple(map(tuple, actions.values()))) for actions in groups.values())
    first = min((1, *(row.turn for row in kept)))
    return Collected(rows=kept, groups=made, episodes=episodes, first_turn=first)
