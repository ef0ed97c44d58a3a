"""The progress display: a live bar on a terminal, a line now and then elsewhere."""

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

LINES = 20  # how many lines a whole run prints where there is no terminal


class Progress:
    """`stage` says what goes on, `step` what the last step measured."""

    def __init__(self, console: Console, steps: int, done: int) -> None:
        self._console, self._steps, self._held_out = console, steps, ""
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Bar(*columns, console=console, disable=not console.is_terminal)
        self._task = self._bar.add_task("training", total=steps, completed=done)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def stage(self, what: str) -> None:
        self._bar.update(self._task, description=what)
        if not self._console.is_terminal:
            self._console.print(what)

    def step(self, step: int, metrics: Mapping[str, float]) -> None:
        validated = "validation/success" in metrics
        if validated:
            self._held_out = f"  held out {metrics['validation/success']:.2f}"
        text = summary(metrics)
        self._bar.update(self._task, completed=step, description=text + self._held_out)  # the last one stays
        due = step % max(1, self._steps // LINES) == 0 or step == self._steps or validated
        if due and not self._console.is_terminal:
            self._console.print(f"step {step}/{self._steps}  {text}{self._held_out if validated else ''}")


def summary(metrics: Mapping[str, float]) -> str:
    """The few numbers that tell whether a run learns."""
    shown = [
        ("solved in training", "sample/success"),
        ("groups without variance", "groups/zero_variance"),
    ]
    parts = [f"{label} {metrics[name]:.2f}" for label, name in shown if name in metrics]
    entropies = [(name.split("/")[0], x) for name, x in metrics.items() if name.endswith("/entropy")]
    return "  ".join([*parts, *(f"entropy {policy} {x:.2f}" for policy, x in entropies)])
