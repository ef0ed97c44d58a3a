"""Frozen suites: fixed tasks of every domain and level under several workflows, and a protocol.

A suite is a data file (envs_data/suites): for each level the hashes of its tasks, for each workflow a row. A cell is a
level under a workflow.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from masgym.episodes import EpisodeRecord
from masgym.errors import BadFile, UnknownName
from masgym.game import Game
from masgym.paths import SHIPPED, bytes_of
from masgym.registry import game as make_game
from masgym.registry import make_workflow
from masgym.runs import task_hash
from masgym.tasks import object_of
from masgym.types import HASH_IN_ID, JSON, Split, Style, Task, value

SUITES: Mapping[str, str] = {"v1": "v1.json"}


@value
class Level:
    """Tasks of one difficulty: the first ones of the suite's split."""

    domain: str
    level: str
    task_hash: str  # `masgym.runs.task_hash` of all of them
    contents: tuple[str, ...]  # the first 16 hex digits of each one's content hash: to say which one has changed


@value
class Cell:
    """A level under a workflow."""

    level: Level
    workflow: str  # of Suite.workflows

    @property
    def name(self) -> str:
        return f"{self.level.domain}-{self.level.level}-{self.workflow}"


@value
class Suite:
    """A protocol and what it is played on. Nothing here may change once it is published."""

    name: str
    version: str
    split: Split
    samples: int
    seed: int
    T: int
    workflows: Mapping[str, Mapping[str, JSON]]  # label -> arguments of `make_workflow`
    levels: tuple[Level, ...]
    hash: str  # of the whole data file's content

    @property
    def cells(self) -> tuple[Cell, ...]:
        return tuple(Cell(level=level, workflow=workflow) for workflow in self.workflows for level in self.levels)

    def game(self, cell: Cell, style: Style) -> Game:
        """Prompts are the entrant's choice of style; all else is fixed."""
        team: dict[str, Any] = dict(self.workflows[cell.workflow])
        workflow = make_workflow(**team)
        return make_game(cell.level.domain, workflow, level=cell.level.level, T=self.T, style=style)

    def check_played(self, cell: Cell, records: Iterable[EpisodeRecord], where: object) -> None:
        """Raises BadFile, which names `where`, for an episode of a task that is not the cell's. Draws no task: hashes
        say which one was played."""
        frozen = cell.level
        for record in records:
            content = frozen.contents[record.index][:HASH_IN_ID] if record.index < len(frozen.contents) else "none"
            own = f"{frozen.domain}/{self.split}/{record.index}/{content}"
            if record.task != own:
                raise BadFile(
                    f"{where} has an episode of {record.task[:80]!r}; task {record.index} of the suite's cell "
                    f"{cell.name} is {own!r}. Its episodes are another run's; remove the folder, and play it."
                )

    def tasks(self, level: Level) -> tuple[Task, ...]:
        """Raises BadFile where this installation makes other tasks than those that were frozen."""
        source = make_game(level.domain, "solo", level=level.level, T=self.T).domain.tasks
        found = tuple(source.get(self.split, index) for index in range(len(level.contents)))
        changed = [t.id for t, frozen in zip(found, level.contents, strict=True) if t.content_hash[:16] != frozen]
        if changed or task_hash(found) != level.task_hash:
            raise BadFile(
                f"{len(changed)} of {len(found)} tasks of {level.domain}, {level.level} are not those of {self.name} "
                f"{self.version} ({', '.join(changed[:3])}): this version of masgym, or of numpy, draws others. "
                "Take the versions that the suite was made with."
            )
        return found


def load_suite(version: str) -> Suite:
    """The suite that is shipped under that name. Raises UnknownName."""
    if version not in SUITES:
        raise UnknownName("suite", version, SUITES)
    where = f"suite {version}"
    data = object_of(bytes_of(SUITES[version], where, _shipped).decode(), where)
    levels: list[Any] = [{**row, "contents": tuple(row["contents"])} for row in data["levels"]]
    return Suite(
        name=data["name"],
        version=data["version"],
        workflows=data["workflows"],
        levels=tuple(Level(**row) for row in levels),
        hash=hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest(),
        **data["protocol"],
    )


def _shipped(file: str) -> Path:
    """The package's own file: a frozen suite is never read from where the user stands."""
    places = [folder / "suites" / file for folder in SHIPPED]
    return next((path for path in places if path.is_file()), places[0])
