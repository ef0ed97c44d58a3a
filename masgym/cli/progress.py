"""How an evaluation gets on: a bar with the running success, on a terminal only."""

import sys
from collections.abc import Iterable, Sequence
from types import TracebackType

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from masgym.agents.base import Agent
from masgym.agents.human import HumanAgent
from masgym.cli.screen import console
from masgym.episodes import EpisodeRecord


class Progress:
    """Counts episodes. It shows nothing where standard error is no terminal, or a person plays there."""

    def __init__(self, agents: Iterable[Agent] = ()) -> None:
        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.description}", markup=False),
            TimeRemainingColumn(),
        )
        quiet = not sys.stderr.isatty() or any(isinstance(agent, HumanAgent) for agent in agents)
        self._bar = Bar(*columns, console=console(stderr=True), transient=True, disable=quiet)
        self._job = self._bar.add_task("", total=None)
        self.begun = False
        self._stage = ""
        self._played, self._solved, self._failed = 0, 0, 0

    def __enter__(self) -> "Progress":
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bar.stop()

    def stage(self, name: str) -> None:
        """A part of several begins: `name` stands before its counts."""
        self._stage = name

    def start(self, done: Sequence[EpisodeRecord], total: int) -> None:
        """Counts from nothing: `total` episodes, of which `done` are there already."""
        self.begun = True
        self._played, self._solved, self._failed = 0, 0, 0
        self._bar.reset(self._job, total=total)
        for record in done:
            self.episode(record)

    def episode(self, record: EpisodeRecord) -> None:
        self._played += 1
        self._solved += record.success
        self._failed += record.ended not in ("done", "T")
        self._bar.update(self._job, advance=1, description=self.text)

    @property
    def text(self) -> str:
        """ "41 of 66 solved, 62.1 %, 2 cut short" """
        cut = f", {self._failed} cut short" if self._failed else ""
        share = 100 * self._solved / max(1, self._played)
        return f"{self._stage}{self._solved} of {self._played} solved, {share:.1f} %{cut}"
