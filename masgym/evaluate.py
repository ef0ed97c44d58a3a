"""Play tasks with given agents -> records. The one evaluator: the trainer's policies are agents to it too."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from masgym.agents.base import Agent
from masgym.episodes import EpisodeRecord, EventTrace
from masgym.errors import BadValue, UnknownName
from masgym.game import Game, role_of
from masgym.play import play, together
from masgym.rng import Key
from masgym.tools.driver import RunCalls, default_driver
from masgym.types import Split, Task

MOST_EPISODES = 10**7  # of one evaluation: their records are in memory
Done: TypeAlias = Callable[[EpisodeRecord, Sequence[EventTrace]], None]


def assign(game: Game, agents: Mapping[str, Agent]) -> dict[str, Agent]:
    """Agent id -> who plays it. Keys are ids or roles; "*" is everybody else. Raises UnknownName, BadValue."""
    given: Any = agents
    if not isinstance(given, Mapping):
        raise BadValue(f'agents is {given!r}; a mapping was expected, from ids, roles or "*" to who plays them.')
    for name, agent in given.items():
        if name not in (*game.agents, *game.roles, "*"):
            raise UnknownName("agent or role", name, (*game.agents, *game.roles, "*"))
        if not callable(getattr(agent, "act", None)):
            raise BadValue(f"{name!r} is played by {agent!r}, which has no method act (see masgym.agents.base.Agent).")
    found = {a: agents.get(a) or agents.get(role_of(a)) or agents.get("*") for a in game.agents}
    missing = [a for a, agent in found.items() if agent is None]
    if missing:
        raise BadValue(
            f"nobody is given who plays {', '.join(missing)}; agents are given for {', '.join(agents) or 'nobody'}. "
            'Name one for each role or id, or "*" for all others.'
        )
    team = {a: agent for a, agent in found.items() if agent is not None}
    for a, agent in team.items():
        roles: Any = getattr(agent, "roles", None)
        if isinstance(roles, frozenset) and role_of(a) not in roles:
            raise BadValue(
                f"{a} is to be played by an agent that was made for the roles {', '.join(sorted(roles))} alone; give "
                f"{role_of(a)} an agent of its own, or choose a workflow that has those roles."
            )
    return team


async def evaluate(
    game: Game,
    agents: Mapping[str, Agent],
    *,
    tasks: int,
    split: Split = "test",
    samples: int = 1,
    key: Key = ("evaluate", 0),
    run: RunCalls | None = None,
    workers: int | None = None,
    on_episode: Callable[[EpisodeRecord], None] = lambda record: None,
) -> tuple[EpisodeRecord, ...]:
    """The first `tasks` tasks of `split` (all of a smaller finite set), `samples` episodes each, in task order.

    At most `workers` episodes are played at a time (None: all of them); it changes nothing but the time. What an agent
    raises ends the evaluation, the other episodes with it; `on_episode` has had those that were over. Raises BadValue
    and UnknownName for arguments that cannot be.
    """
    check_game(game)
    check_count("samples", samples, 1)
    played = count_of(game, tasks, split)
    check_size(played, samples)
    jobs = [(index, sample) for index in range(played) for sample in range(samples)]

    def task(index: int) -> Task:
        return game.domain.tasks.get(split, index)

    def done(record: EpisodeRecord, events: Sequence[EventTrace]) -> None:
        on_episode(record)

    return await play_jobs(
        game, assign(game, agents), jobs, task, key=key, run=run or default_driver(), workers=workers, done=done
    )


async def play_jobs(
    game: Game,
    team: Mapping[str, Agent],
    jobs: Iterable[tuple[int, int]],
    task: Callable[[int], Task],
    *,
    key: Key,
    run: RunCalls,
    workers: int | None,
    done: Done,
    trace: bool = False,
) -> tuple[EpisodeRecord, ...]:
    """One episode for each (task index, sample), in that order. `done` gets every record as its episode ends, with the
    traces of its events if `trace`."""
    if workers is not None:
        check_count("workers", workers, 1)
    if not isinstance(key, tuple):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadValue(f"key is {key!r}; a tuple of integers and strings was expected.")
    wanted = list(jobs)
    gate, stopped = asyncio.Semaphore(workers or max(1, len(wanted))), _stop_of_this_task()

    async def one(index: int, sample: int) -> EpisodeRecord:
        async with gate:
            if stopped():
                raise asyncio.CancelledError
            events: list[EventTrace] = []
            watch = events.append if trace else None
            record = await play(game, task(index), team, (*key, index, sample), run, watch, stopped)
            done(record, events)
            return record

    return await together(one(index, sample) for index, sample in wanted)


def _stop_of_this_task() -> Callable[[], bool]:
    """Whether the task that calls this has been cancelled since. The loop tells the episodes only when it comes round,
    and thousands of them whose agents never wait keep it for minutes: Ctrl-C must not wait for that."""
    task = asyncio.current_task()
    before = task.cancelling() if task else 0
    return lambda: task is not None and task.cancelling() > before


def count_of(game: Game, tasks: int, split: Split) -> int:
    """How many tasks are played where `tasks` are asked for. Raises BadValue, UnknownName."""
    check_count("tasks", tasks, 0)
    size = game.domain.tasks.size(split)
    count = tasks if size is None else min(tasks, size)
    check_size(count, 1)
    return count


def check_game(game: Any) -> None:
    if not isinstance(game, Game):
        raise BadValue(f"game is {game!r}; a Game was expected, such as masgym.game('sokoban', 'pair').")


def check_size(tasks: int, samples: int) -> None:
    """Raises BadValue for more episodes than are kept."""
    if tasks * samples > MOST_EPISODES:
        raise BadValue(
            f"{tasks} tasks with {samples} samples each are too many: at most {MOST_EPISODES:g} episodes are played."
        )


def check_count(name: str, given: Any, least: int) -> None:
    """Raises BadValue for what is no whole number of at least `least`."""
    if not isinstance(given, int) or isinstance(given, bool) or given < least:
        raise BadValue(f"{name} is {given!r}; a whole number of at least {least} was expected.")
