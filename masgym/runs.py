"""A run: an evaluation with all that is needed to play it again, and what it came to. Values and pure functions."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np

from masgym.agents.names import parts_of
from masgym.episodes import EpisodeRecord, plain
from masgym.errors import BadFile, BadValue
from masgym.evaluate import check_count, check_game, count_of
from masgym.faces.catalogue import pettingzoo_id
from masgym.game import Game
from masgym.registry import game as make_game
from masgym.registry import list_domains, make_workflow
from masgym.report import Report, summarise
from masgym.tools.sandbox import Backend, Sandbox, backend_name
from masgym.types import JSON, Split, Task, value


@value
class Run:
    """What `run.json` holds: equal runs play the same episodes."""

    masgym: str  # version of this package
    environment: str  # its id, which has its version
    game: Mapping[str, JSON]  # `Game.spec`
    fingerprint: str  # of the game
    agents: Mapping[str, str]  # id, role or "*" -> the agent's name
    settings: Mapping[str, JSON]  # what else the caller had to say, such as a temperature
    split: Split
    tasks: int
    samples: int  # episodes a task
    seed: int  # of the agents' draws
    task_hash: str  # of the contents of all tasks, in order, and of what they are played with
    sandbox: Backend  # where programs ran


@value
class Plan:
    """A run that can be played."""

    run: Run
    game: Game
    tasks: tuple[Task, ...]


@value
class Latency:
    """Seconds an episode took."""

    p50: float
    p95: float


@value
class RunReport:
    """What a finished run came to."""

    run: Run
    report: Report
    latency: Latency
    records: tuple[EpisodeRecord, ...]  # by task and sample


def plan(
    game: Game,
    names: Mapping[str, str],
    *,
    tasks: int,
    split: Split = "test",
    samples: int = 1,
    seed: int = 0,
    settings: Mapping[str, JSON] | None = None,
    sandbox: Sandbox = "auto",
) -> Plan:
    """The first `tasks` tasks of `split` (all of a smaller finite set), `samples` episodes each.

    names: who plays, as `run.json` shall say it. Raises BadValue and UnknownName for arguments that cannot be.
    """
    check_game(game)
    check_count("tasks", tasks, 1)
    found = tuple(game.domain.tasks.get(split, index) for index in range(count_of(game, tasks, split)))
    return plan_of(game, names, found, samples=samples, seed=seed, settings=settings, sandbox=sandbox)


def plan_of(
    game: Game,
    names: Mapping[str, str],
    tasks: Sequence[Task],
    *,
    samples: int = 1,
    seed: int = 0,
    settings: Mapping[str, JSON] | None = None,
    sandbox: Sandbox = "auto",
) -> Plan:
    """As `plan`, for the first tasks of a split, which are there already."""
    if not tasks:
        raise BadValue("there are no tasks to play; the split that was asked for is empty.")
    run = run_of(
        game,
        names,
        split=tasks[0].split,
        tasks=len(tasks),
        task_hash=task_hash(tasks),
        samples=samples,
        seed=seed,
        settings=settings,
        sandbox=sandbox,
    )
    return Plan(run=run, game=game, tasks=tuple(tasks))


def run_of(
    game: Game,
    names: Mapping[str, str],
    *,
    split: Split,
    tasks: int,
    task_hash: str,
    samples: int,
    seed: int,
    settings: Mapping[str, JSON] | None,
    sandbox: Sandbox,
) -> Run:
    """What `run.json` is to say. Raises BadValue and UnknownName."""
    check_count("samples", samples, 1)
    check_count("seed", seed, 0)
    return Run(
        masgym=version("masgym"),
        environment=_environment(game.domain.name),
        game=plain(game.spec()),
        fingerprint=game.fingerprint,
        agents=dict(names),
        settings=plain(settings or {}),
        split=split,
        tasks=tasks,
        samples=samples,
        seed=seed,
        task_hash=task_hash,
        sandbox=backend_name(sandbox),
    )


def _environment(domain: str) -> str:
    """The id under which PettingZoo knows a registered domain; other domains say themselves what they are."""
    return pettingzoo_id(domain) if domain in list_domains() else domain


def task_hash(tasks: Sequence[Task]) -> str:
    """What tells whether the same tasks were played in the same order: a hash of their contents, and of the material
    that they are played with (`Task.params`)."""
    listed = [[task.domain, task.content_hash, *filter(None, [task.params.get("material")])] for task in tasks]
    return hashlib.sha256(json.dumps(listed).encode()).hexdigest()


def report_on(run: Run, records: Sequence[EpisodeRecord]) -> RunReport:
    """All episodes of a run, in any order -> what it came to."""
    p50, p95 = np.quantile([record.latency for record in records], [0.5, 0.95])
    return RunReport(
        run=run,
        report=summarise(records),
        latency=Latency(p50=float(p50), p95=float(p95)),
        records=tuple(sorted(records, key=lambda record: (record.index, record.sample))),
    )


def differing(one: Run, other: Run) -> tuple[str, ...]:
    """The keys in which two runs differ. Where a model is served says nothing of what is played: a server may move."""
    names: tuple[str, ...] = Run.__slots__  # type: ignore[attr-defined]
    a, b = _without_place(one), _without_place(other)
    return tuple(name for name in names if getattr(a, name) != getattr(b, name))


def _without_place(run: Run) -> Run:
    """Without the address in "openai:MODEL@URL" and the one that all have (--base-url)."""
    return replace(
        run,
        agents={who: ":".join(parts_of(name)[:2]) for who, name in run.agents.items()},
        settings={name: given for name, given in run.settings.items() if name != "base_url"},
    )


def game_of(run: Run) -> Game:
    """The game that was played. Raises BadFile where this version of masgym makes another one of it, and what the
    registry raises for domains and workflows that are not registered here."""
    own: dict[str, Any] = dict(run.game)
    domain, workflow = dict(own.pop("domain")), dict(own.pop("workflow"))
    made = make_game(domain.pop("name"), make_workflow(**workflow), **own, **domain)
    if made.fingerprint != run.fingerprint:
        raise BadFile(
            f"the run's game {run.fingerprint} of masgym {run.masgym} is {made.fingerprint} in this version; "
            "what it played cannot be made again here."
        )
    return made
