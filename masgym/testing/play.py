"""What the checks share: playthroughs, and the replies that are tried at a state."""

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from masgym.agents.random import random_reply
from masgym.game import OF_WORKFLOW, Game
from masgym.rng import keyed
from masgym.snapshot import Snapshot, answer, leave, start
from masgym.tasks import SPLITS
from masgym.tools.driver import default_driver, step_sync
from masgym.types import Calls, Outputs, Results, Slot, Split, State, Task, ToolCall, ToolResult, Transition

Player: TypeAlias = Callable[[State, str], str]  # (state, agent) -> reply
Run: TypeAlias = Callable[[Calls], Results]  # tool calls -> their results

FUZZ = (
    *("", " ", "\n", "\x00", "\ud800", "\udfff\ud800x", "A" * 100_000, "U " * 100_000, "ab\u0300" * 50_000),
    *("<answer>", "<answer></answer>", "</answer>U<answer>", "<answer>U</answer><answer>D</answer>"),
    *("<answer><answer>U</answer></answer>", "<answer>" * 5_000, "<route>0,2</route>", "<verify>approve</verify>"),
    *("```python\nprint('U')\n```", "```", "\\boxed{", "{}", "[[[[", "%s%n{0}", "None", "nan", "1e999", "-0"),
    *("\u0661\u0662\u0663", "\u00b2", "\uff35\uff24", "\u017f\u0130", "\u202eU", "\u200bU", "\U0001f600", "\r\n\t"),
)


def must(holds: bool, broken: str) -> None:
    """Raises AssertionError; not an `assert`, which -O would strip."""
    if not holds:
        raise AssertionError(broken)


def slots(game: Game) -> tuple[Slot, ...]:
    return tuple({game.slot(agent): None for agent in game.agents})


def weights(game: Game, slot: Slot) -> Mapping[str, float]:
    return (game.workflow if slot in OF_WORKFLOW else game.domain).weights(slot)


def step(game: Game, state: State, outputs: Outputs, run: Run | None = None) -> Transition:
    return step_sync(game, state, outputs, run or default_driver().run)


def remembering() -> Run:
    """Runs each different tool call once. For sweeps: while one member tries everything, others repeat themselves."""
    run, known = default_driver().run, dict[str, ToolResult]()

    def result(call: ToolCall) -> ToolResult:
        key = json.dumps([call.tool, call.arguments], sort_keys=True)
        if key not in known:
            ((known[key],),) = run({"": (call,)}).values()
        return known[key]

    return lambda calls: {agent: tuple(map(result, wanted)) for agent, wanted in calls.items()}


def first_tasks(game: Game, count: int) -> tuple[Task, ...]:
    """Up to `count` tasks, of the first split that has any."""
    source = game.domain.tasks
    filled: list[Split] = [name for name in SPLITS if source.size(name) != 0]
    split = filled[0] if filled else SPLITS[0]
    size = source.size(split)
    return tuple(source.get(split, i) for i in range(count if size is None else min(size, count)))


def players(game: Game, task: Task) -> dict[str, Player]:
    def at_random(state: State, agent: str) -> str:
        return random_reply(game, state, agent, keyed("testing", task.id, len(state.log), agent))

    return {"random": at_random, "oracle": game.oracle}


def walk(game: Game, task: Task, player: Player) -> Iterator[tuple[State, Outputs, Transition]]:
    """One playthrough, transition by transition."""
    state = game.initial(task)
    while members := game.active(state):
        outputs = {agent: player(state, agent) for agent in members}
        done = step(game, state, outputs)
        yield state, outputs, done
        state = done.state


def walk_replies(game: Game, task: Task, player: Player) -> Iterator[tuple[Snapshot, str | None]]:
    """One playthrough, reply by reply as the faces see it; (before, reply), None where an agent leaves."""
    now = start(game, task)
    while now.agents:
        reply = None if now.state.ended else player(now.state, now.selection)
        yield now, reply
        now = leave(now) if reply is None else answer(now, reply, step)


def returns(transitions: Sequence[Transition]) -> float:
    """The return form: gains and the malformed costs of all members."""
    return sum(t.gain + t.penalty for t in transitions)


def tried(game: Game, state: State, agent: str, extra: Sequence[str], rng: np.random.Generator) -> tuple[str, ...]:
    """A spread of replies: optimal, empty, each legal one, lists that begin legally and go on at random, `extra`."""
    legal, start_legal = game.legal(state, agent), game.legal(game.initial(state.task), agent)
    any_of = tuple(dict.fromkeys((*legal, *start_legal)))
    lists = [" ".join([first, *(any_of[i] for i in rng.integers(len(any_of), size=3))]) for first in legal]
    return (game.oracle(state, agent), "", *legal, *lists, *extra)


def disturb() -> None:
    """Moves the global generators on: a game that draws from them shows it."""
    random.random()
    np.random.random()
