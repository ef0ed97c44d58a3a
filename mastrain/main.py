"""One run from its config to its table."""

import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from transformers.utils.logging import disable_progress_bar

from masgym.errors import BadFile, MasgymError
from masgym.files import locked
from masgym.report import Report, table, to_json
from masgym.tools.driver import sandbox_of
from masgym.types import JSON
from mastrain import checkpoint, runlog
from mastrain.assemble import Run, assemble
from mastrain.config import RunConfig, parse
from mastrain.evaluation import evaluate_run
from mastrain.games import check_runs, eval_command
from mastrain.progress import Progress
from mastrain.report.reading import reports_in
from mastrain.trainer import load, save, train


class Interrupt:
    """Ctrl-C. While steps are made the first one asks to stop after the step; any other time, and the second time, it
    stops at once: nothing is lost but what has not reached a checkpoint."""

    def __init__(self, say: Console) -> None:
        self.asked, self.training, self._say = False, False, say

    def __call__(self, *_: Any) -> None:
        if self.asked or not self.training:
            raise KeyboardInterrupt
        self.asked = True
        self._say.print("\nstopping after this step, then saving; Ctrl-C again stops at once", style="yellow")


def main(config: RunConfig, data: Mapping[str, Any]) -> int:
    """-> exit status: 0 done, 130 interrupted. Raises MasgymError before time is spent."""
    console = Console(width=None if sys.stdout.isatty() else 120)  # a table is not broken in a log
    folder = Path(config.resume or config.run_dir)
    if config.resume is not None:
        config = parse(runlog.read_config(folder))
    check_runs([config])
    if data["resume"] is None:
        runlog.create(folder, data)
    torch.set_num_threads(config.torch_threads)
    disable_progress_bar()  # transformers' own, at every save
    interrupt = Interrupt(console)
    previous = signal.signal(signal.SIGINT, interrupt)
    try:
        with locked(folder):  # all the time: a process that comes second is told before it spends or writes anything
            return _run_or_undo(config, folder, interrupt, console, fresh=data["resume"] is None)
    except KeyboardInterrupt:
        console.print(f"interrupted; go on from the last checkpoint with: resume={folder}")
        return 130
    finally:
        signal.signal(signal.SIGINT, previous)


def _run_or_undo(config: RunConfig, folder: Path, interrupt: Interrupt, console: Console, fresh: bool) -> int:
    try:
        return _run(config, folder, interrupt, console)
    except MasgymError:
        if fresh and not (folder / "checkpoints").exists():
            (folder / runlog.CONFIG).unlink(missing_ok=True)  # nothing is lost, and the folder can be used again
        raise


def _run(config: RunConfig, folder: Path, interrupt: Interrupt, console: Console) -> int:
    begun = bool(checkpoint.all_of(folder / "checkpoints"))  # a run killed before its first checkpoint begins again
    if not begun:
        runlog.check_unbegun(folder)
    run = assemble(config, folder, say=console.print, fresh=not begun)
    done = load(run) if begun else save(run, 0)
    log, settings = runlog.RunLog(folder, done), config.train
    console.print(f"[bold]{run.game.name}[/bold], {_who(run.policies)}, run folder {folder}")
    with Progress(console, settings.steps, done) as progress:
        before = _before(run, log, progress, console)
        interrupt.training = True
        done = train(run, log, done, lambda: interrupt.asked, progress.step)
        interrupt.training = False
        if done < settings.steps and interrupt.asked:
            console.print(f"stopped after step {done} of {settings.steps}; go on with: resume={folder}")
            log.close()
            return 130
        progress.stage("evaluating after training")
        after = _after(run, before)
    log.report("after.json", _json(run, after))
    log.close()
    console.print(table(_rows(before, after), f"{run.game.name}: {settings.eval_tasks} held-out tasks"))
    _say_places(config, folder, console)
    return 0


def _say_places(config: RunConfig, folder: Path, console: Console) -> None:
    for what, where in (
        ("checkpoints", folder / "checkpoints"),
        ("metrics", folder / runlog.METRICS),
        ("TensorBoard", folder / "tensorboard"),
        ("resolved config", folder / runlog.CONFIG),
    ):
        console.print(f"{what:>16}: {where}")
    console.print(
        f"next: python -m mastrain.report {folder}", f"      {eval_command(config, f'hf:{folder}')}", sep="\n"
    )


def _who(policies: Mapping[str, str]) -> str:
    return ", ".join(f"{role} by policy {policy}" for role, policy in policies.items())


def _before(run: Run, log: runlog.RunLog, progress: Progress, console: Console) -> Mapping[str, Report]:
    """The evaluation before training: as it was kept, or made now."""
    kept = run.folder / "before.json"
    if kept.exists():
        return _read_reports(kept)
    progress.stage("evaluating before training")
    found = evaluate_run(run, run.config.train.eval_tasks)
    log.report("before.json", _json(run, found))
    console.print("before training: " + ", ".join(f"{r.success} % {name}" for name, r in found.items()))
    return found


def _after(run: Run, before: Mapping[str, Report]) -> Mapping[str, Report]:
    """What the run comes to. Without training nothing has changed but the number of attempts."""
    algorithm, tasks = run.algorithm, run.config.train.eval_tasks
    if algorithm.trains:
        return evaluate_run(run, tasks)
    return before if algorithm.attempts == 1 else evaluate_run(run, tasks, greedy=(False,), attempts=algorithm.attempts)


def _json(run: Run, reports: Mapping[str, Report]) -> dict[str, JSON]:
    """Reports as they are written: with where programs ran."""
    sandbox = sandbox_of(run.team.run_calls)
    return {name: {"sandbox": sandbox, **to_json(report)} for name, report in reports.items()}


def _read_reports(path: Path) -> dict[str, Report]:
    try:
        found = reports_in(path)
        if set(found) != {"sampled", "greedy"}:
            raise ValueError(f"it has {sorted(found)}; sampled and greedy were expected")
        return found
    except (OSError, ValueError, AttributeError) as error:  # a BadFile of from_json is a ValueError too
        raise BadFile(f"{path} holds no reports ({error}); remove it, and resume evaluates anew.") from error


def _rows(before: Mapping[str, Report], after: Mapping[str, Report]) -> dict[str, Report]:
    rows = {f"before, {name}": report for name, report in before.items()}
    return rows | {f"after, {name}": report for name, report in after.items()}
