"""What an environment costs, in one run on one core: masgym, its PettingZoo face, the installed peers, and a floor.

    python tests/benchmarks/test_env_speed.py [--episodes 300]

Peers: `pip install gem-llm textarena reasoning-gym`; one that is not installed is left out with a message.

step      one legal move and the text that is shown after it; levels are made outside of the timing
snapshot  put the environment aside and bring it back, so that it can be brought back again
level     one random level, of an index not met before. masgym's carry their exact optimum, which costs a search

A cell is the time of one operation and, in brackets, how many times masgym's own it takes. pytest runs it all, briefly.
"""

import argparse
import copy
import random
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table
from test_floor import PATH_STEPS, Floor, FloorPath

import masgym

MOVES = 8  # timed steps of an episode
NEW = 100_000  # the first index of the levels that are timed: no step was played on these, so nothing of them is cached
LEVELS = {"level 6x6, 1 box": 1, "level 6x6, 2 boxes": 2}
COLUMNS = ("step sokoban", "step plan_path", "snapshot + restore", *LEVELS, "level plan_path")


@dataclass(frozen=True)
class Playable:
    """An environment as four functions of it; `step` returns it after the move (the same object, or a new value)."""

    fresh: Callable[[int], Any]  # index of a level -> the environment at its start
    legal: Callable[[Any], list[Any]]  # the actions that move; [] when the game is over
    step: Callable[[Any, Any], Any]  # plays the action and makes the text that is shown next
    save: Callable[[Any], Any] = copy.deepcopy
    restore: Callable[[Any, Any], Any] = lambda env, saved: copy.deepcopy(saved)


@dataclass(frozen=True)
class Subject:
    name: str
    playable: dict[str, Playable] = field(default_factory=dict)  # by its column, "step ..."
    levels: dict[str, Callable[[int], Any]] = field(default_factory=dict)  # by its column, "level ..."


def masgym_games() -> Subject:
    def playable(name, **options):
        game = masgym.game(name, "solo", style="compact", **options)

        def step(state, move):
            state = game.apply(state, {"actor_0": move}, {}).state
            game.observe(state, "actor_0")
            return state

        return Playable(
            fresh=lambda index: game.initial(game.domain.tasks.get("train", index)),
            legal=lambda state: [] if state.ended else list(game.domain.legal(state.world, "act")),
            step=step,
            save=lambda state: state,
            restore=lambda state, saved: saved,
        )

    def levels(name, **options):
        tasks = masgym.game(name, "solo", **options).domain.tasks
        return lambda index: tasks.get("train", index)

    return Subject(
        name="masgym: Game",
        playable={
            "step sokoban": playable("sokoban", boxes=2),
            "step plan_path": playable("plan_path"),
        },
        levels={
            **{column: levels("sokoban", boxes=boxes) for column, boxes in LEVELS.items()},
            "level plan_path": levels("plan_path"),
        },
    )


def masgym_face() -> Subject:
    def playable(name, **options):
        def fresh(index):
            env = masgym.make(name, workflow="solo", style="compact", **options)
            env.reset(seed=index)
            return env

        def legal(env):
            state = env.snapshot().state
            return [] if state.ended else list(env.unwrapped.game.domain.legal(state.world, "act"))

        def step(env, move):
            env.step(move)
            env.last()
            return env

        def restore(env, saved):
            env.restore(saved)
            return env

        return Playable(fresh=fresh, legal=legal, step=step, save=lambda env: env.snapshot(), restore=restore)

    return Subject(
        name="masgym: PettingZoo AEC",
        playable={"step sokoban": playable("sokoban", boxes=2), "step plan_path": playable("plan_path")},
    )


def gem() -> Subject:
    name = f"gem-llm {version('gem-llm')}"
    from gem.envs.game_env.sokoban import SokobanEnv

    env = SokobanEnv(dim_room=(6, 6), num_boxes=2, max_turns=10**6)

    def fresh(index):
        env.reset(seed=index)
        return copy.deepcopy(env)

    def step(env, move):
        env.step(f"\\boxed{{{move}}}")
        return env

    def legal(env):
        return [move for move in env.action_space if not env._would_collide_with_wall(move)]

    def levels(boxes):
        made = SokobanEnv(dim_room=(6, 6), num_boxes=boxes)
        return lambda index: made.reset(seed=index)

    return Subject(
        name=name,
        playable={"step sokoban": Playable(fresh=fresh, legal=legal, step=step)},
        levels={column: levels(boxes) for column, boxes in LEVELS.items()},
    )


def textarena() -> Subject:
    name = f"textarena {version('textarena')}"
    from textarena.envs.Sokoban.env import SokobanEnv

    def reset(index, boxes=2):
        env = SokobanEnv(dim_room=(6, 6), num_boxes=boxes, max_turns=10**6)
        env.reset(num_players=1, seed=index)
        return env

    def step(env, move):
        env.step(f"[{move}]")
        env.get_observation()
        return env

    def legal(env):
        if env.state.done:
            return []
        return [move for move in env.action_space if not env._would_collide_with_wall(move)]

    return Subject(
        name=name,
        playable={"step sokoban": Playable(fresh=reset, legal=legal, step=step)},
        levels={column: lambda index, boxes=boxes: reset(index, boxes) for column, boxes in LEVELS.items()},
    )


def reasoning_gym() -> Subject:
    name = f"reasoning-gym {version('reasoning-gym')}"
    import reasoning_gym

    def sokoban(boxes):
        shape = {"min_w": 6, "max_w": 6, "min_h": 6, "max_h": 6, "min_boxes": boxes, "max_boxes": boxes}
        return reasoning_gym.create_dataset("sokoban", size=10**6, seed=1, **shape).__getitem__

    shape = {"min_rows": 10, "max_rows": 10, "min_cols": 10, "max_cols": 10, "p_blocked": 0.22}
    paths = reasoning_gym.create_dataset("shortest_path", size=10**6, seed=1, **shape)
    levels = {column: sokoban(boxes) for column, boxes in LEVELS.items()}
    return Subject(name=name, levels={**levels, "level plan_path": paths.__getitem__})


def floor() -> Subject:
    def step(env, move):
        env.step(move)
        return env

    def restore(env, saved):
        env.boxes, env.player = saved
        return env

    sokoban = Playable(
        fresh=Floor, legal=Floor.legal, step=step, save=lambda env: (env.boxes, env.player), restore=restore
    )
    path = Playable(
        fresh=FloorPath, legal=lambda env: [m for m, d in PATH_STEPS.items() if env.at + d in env.free], step=step
    )
    return Subject(
        name="plain Python (floor)",
        playable={"step sokoban": sokoban, "step plan_path": path},
        levels={
            **{column: lambda index, boxes=boxes: Floor(index, boxes) for column, boxes in LEVELS.items()},
            "level plan_path": FloorPath,
        },
    )


def available(makers: tuple[Callable[[], Subject], ...], say: Callable[[str], None]) -> list[Subject]:
    subjects = []
    for make in makers:
        try:
            subjects.append(make())
        except PackageNotFoundError as missing:
            say(f"{missing.name} is not installed and is left out; pip install {missing.name} to see it here.")
    return subjects


def script(playable: Playable, index: int) -> tuple[Any, list[Any]]:
    """(an environment at its start, up to MOVES legal actions from there)."""
    env, rng, actions = playable.fresh(index), random.Random(index), []
    probe = copy.deepcopy(env)
    while len(actions) < MOVES and (choices := playable.legal(probe)):
        actions.append(rng.choice(choices))
        probe = playable.step(probe, actions[-1])
    return env, actions


def time_step(playable: Playable, episodes: int) -> float:
    """Seconds a step."""
    spent, steps = 0.0, 0
    for index in range(episodes):
        env, actions = script(playable, index)
        start = time.perf_counter()
        for action in actions:
            env = playable.step(env, action)
        spent, steps = spent + time.perf_counter() - start, steps + len(actions)
    return spent / steps


def time_snapshot(playable: Playable, episodes: int) -> float:
    """Seconds for one save and one restore, in the middle of an episode."""
    env, actions = script(playable, 0)
    for action in actions[: MOVES // 2]:
        env = playable.step(env, action)
    start = time.perf_counter()
    for _ in range(10 * episodes):
        env = playable.restore(env, playable.save(env))
    return (time.perf_counter() - start) / (10 * episodes)


def time_level(make: Callable[[int], Any], episodes: int) -> float:
    """Seconds a level."""
    start = time.perf_counter()
    for index in range(NEW, NEW + episodes):
        make(index)
    return (time.perf_counter() - start) / episodes


def measure(subject: Subject, episodes: int) -> dict[str, float]:
    """Column -> seconds, for the columns that the subject has."""
    row = {column: time_step(playable, episodes) for column, playable in subject.playable.items()}
    if "step sokoban" in subject.playable:
        row["snapshot + restore"] = time_snapshot(subject.playable["step sokoban"], episodes)
    return row | {column: time_level(make, episodes) for column, make in subject.levels.items()}


def table(rows: dict[str, dict[str, float]]) -> Table:
    """Times, each beside its ratio to the first row's."""
    shown = Table("", *COLUMNS, title="Environments: time of one operation (times masgym's)")
    base = next(iter(rows.values()))
    for name, row in rows.items():
        shown.add_row(name, *(_cell(row[c], base[c]) if c in row else "" for c in COLUMNS))
    return shown


def _cell(seconds: float, base: float) -> str:
    amount = f"{seconds * 1e3:.2f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.2f} us"
    ratio = seconds / base
    return f"{amount} ({ratio:.0f}x)" if ratio >= 10 else f"{amount} ({ratio:.2g}x)"


MAKERS = (masgym_games, masgym_face, gem, textarena, reasoning_gym, floor)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=300, help="levels per row and column (default 300)")
    episodes = parser.parse_args().episodes
    warnings.simplefilter("ignore")
    console = Console(width=170)
    subjects = available(MAKERS, console.print)
    console.print(table({subject.name: measure(subject, episodes) for subject in subjects}))


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
@pytest.mark.filterwarnings("ignore")
def test_every_subject_can_be_measured(make):
    said = []
    for subject in available((make,), said.append):
        row = measure(subject, 2)
        assert set(row) >= set(subject.playable) | set(subject.levels)
        assert all(seconds > 0 for seconds in row.values())
        assert table({subject.name: row}).row_count == 1
    assert not said or "is not installed" in said[0]


def test_a_peer_that_is_not_installed_is_left_out_with_a_message():
    def absent():
        return Subject(name=version("no-such-package-anywhere"))

    said = []
    assert available((absent, floor), said.append)[0].name == "plain Python (floor)"
    assert "no-such-package-anywhere is not installed" in said[0]


if __name__ == "__main__":
    main()
