"""What the policies are worth alone: one candidate a turn, no search, on tasks never trained on."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from masgym.agents.base import Request
from masgym.episodes import EpisodeRecord
from masgym.evaluate import evaluate
from masgym.report import Report, summarise
from masgym.types import Split
from mastrain import visits
from mastrain.assemble import Run
from mastrain.engines.base import run as run_loop
from mastrain.measure import of_report
from mastrain.players import EnginePlayer

_COSTS = ("event_count", "replies", "tool_calls", "tokens", "prompt_tokens", "latency")  # of an EpisodeRecord


def validate(run: Run) -> dict[str, float]:
    """What the policies are worth alone on validation tasks, and in which states they speak there."""
    asked = list[Request]()
    tasks = run.config.train.validate_tasks
    report = evaluate_run(run, tasks, "validation", greedy=(False,), watch=asked.append)["sampled"]
    return of_report(report) | visits.of_validation(run.game, asked, report.episodes)


def evaluate_run(
    run: Run,
    tasks: int,
    split: Split = "test",
    greedy: Sequence[bool] = (False, True),
    attempts: int = 1,
    watch: Callable[[Request], None] = lambda request: None,
) -> dict[str, Report]:
    """ "sampled" (temperature 1) and "greedy" reports on held-out tasks: one candidate a turn, no search. Of several
    attempts at a task the best counts."""
    reports: dict[str, Report] = {}
    for is_greedy in greedy:
        sampling = replace(run.team.sampling, temperature=1.0, greedy=is_greedy)
        player = EnginePlayer(
            engine=run.engine, policies=run.policies, encode=run.team.encode, sampling=sampling, watch=watch
        )
        key = (run.config.seed, "evaluate", split)
        played = evaluate(
            run.game, {"*": player}, tasks=tasks, split=split, samples=attempts, key=key, run=run.team.run_calls
        )
        reports["greedy" if is_greedy else "sampled"] = summarise(best_of(run_loop(played, run.engine)))
    return reports


def best_of(records: Sequence[EpisodeRecord]) -> list[EpisodeRecord]:
    """The best attempt at each task, by success, then by return; it cost what all attempts cost."""
    tasks: dict[tuple[int, str], list[EpisodeRecord]] = {}
    for record in records:
        tasks.setdefault((record.index, record.task), []).append(record)
    return [
        replace(
            max(attempts, key=lambda one: (one.success, one.returns)),
            **{name: sum(getattr(one, name) for one in attempts) for name in _COSTS},
            malformed=tuple(reason for one in attempts for reason in one.malformed),
        )
        for attempts in tasks.values()
    ]
