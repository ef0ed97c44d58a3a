"""Where one game stands between two replies: the state with the bookkeeping of the faces. Values and pure functions.

    start -> answer (one member's reply) -> ... -> answer -> leave (an agent whose game is over) -> ... -> leave

The JSON form holds the task and the log of what was fed to `apply`; reading it replays `apply`. So no domain needs a
codec, a state that no play reaches cannot be read, and no tool runs again. A task that is one of the game's own must be
what its source makes; of one that was given by hand, only kinds and ranges can be told.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, TypeAlias

from masgym.errors import BadSnapshot, BadValue, MasgymError
from masgym.game import Game
from masgym.tags import clean
from masgym.tasks import SPLITS, content_hash, split_of
from masgym.types import JSON, Outputs, Results, State, Task, ToolResult, Transition, value

FORMAT = 1
_TASK: Mapping[str, Any] = {  # what the fields of a task are
    **dict.fromkeys(("domain", "split", "content_hash", "level"), str),
    **dict.fromkeys(("params", "content"), dict),
    **dict.fromkeys(("seed", "index"), int),
    "optimum": int | None,
}

Run: TypeAlias = Callable[[Game, State, Outputs], Transition]  # how a complete set becomes a transition


@value
class Snapshot:
    """One game between two replies. Taking one copies nothing; every face of an equal game can go on from it.

    Rewards are in the return form: each agent gets `Transition.gain`, a member its own malformed cost as well.
    """

    game: Game
    state: State
    agents: tuple[str, ...]  # who is still there; all are until the game is over
    pending: Mapping[str, str]  # outputs of an unfinished set, in the order of the active set
    rewards: Mapping[str, float]  # from the last reply, of the agents still there
    owed: Mapping[str, float]  # rewards since each agent's last turn: what PettingZoo's `last()` delivers
    transition: Transition | None  # the last one; None at the start

    @property
    def selection(self) -> str:
        """Who replies next; when the game is over, who leaves next."""
        waiting = [a for a in self.game.active(self.state) if a not in self.pending]
        return (waiting or self.agents or self.game.agents[-1:])[0]

    def to_json(self) -> str:
        task = {f.name: getattr(self.state.task, f.name) for f in fields(self.state.task)}
        return json.dumps(
            {
                "format": FORMAT,
                "fingerprint": self.game.fingerprint,
                "game": self.game.spec(),
                "task": {**task, "params": dict(self.state.task.params), "content": dict(self.state.task.content)},
                "log": [[dict(outputs), _plain(results)] for outputs, results in self.state.log],
                "pending": dict(self.pending),
                "left": len(self.game.agents) - len(self.agents),
            }
        )

    @staticmethod
    def from_json(text: str, game: Game) -> "Snapshot":
        """Reads what `to_json` wrote, by replay. Raises BadSnapshot: other format or game, or impossible content."""
        record = _parse(text, game)
        try:
            now = start(game, _task(record["task"], game))
            for outputs, results in record["log"]:
                now = _replay(now, outputs, _results(results))
            for agent, reply in record["pending"].items():
                now = answer(now, _expected(now, agent, reply), _never)
            for _ in range(_count(record, "left")):
                now = leave(now)
        except BadSnapshot:
            raise
        except (
            MasgymError,
            ArithmeticError,
            AttributeError,
            LookupError,
            RecursionError,
            TypeError,
            ValueError,
        ) as error:
            raise BadSnapshot(f"the snapshot cannot be replayed: {type(error).__name__}: {error}.") from error
        return now


def start(game: Game, task: Task) -> Snapshot:
    zero = dict.fromkeys(game.agents, 0.0)
    return Snapshot(
        game=game,
        state=game.initial(task),
        agents=game.agents,
        pending={},
        rewards=zero,
        owed=zero,
        transition=None,
    )


def answer(now: Snapshot, reply: str, run: Run) -> Snapshot:
    """`now.selection` replies. The last member's reply runs the transition; the others' are only stored."""
    agent, members = now.selection, now.game.active(now.state)
    if not members:
        raise BadValue("the game is over: no reply is awaited. Reset the environment to play again.")
    pending, owed = {**now.pending, agent: reply}, {**now.owed, agent: 0.0}
    if len(pending) < len(members):
        zero = dict.fromkeys(now.agents, 0.0)
        return _moved(now, state=now.state, pending=pending, rewards=zero, owed=owed, transition=now.transition)
    done = run(now.game, now.state, pending)
    rewards = {a: done.gain + (done.rewards[a].penalty if a in done.rewards else 0.0) for a in now.agents}
    owed = {a: owed[a] + rewards[a] for a in now.agents}
    return _moved(now, state=done.state, pending={}, rewards=rewards, owed=owed, transition=done)


def leave(now: Snapshot) -> Snapshot:
    """`now.selection`, whose game is over, leaves."""
    if not now.state.ended or not now.agents:
        raise BadValue("an agent leaves only after the game is over, and once.")
    agents = now.agents[1:]
    return Snapshot(
        game=now.game,
        state=now.state,
        agents=agents,
        pending={},
        rewards=dict.fromkeys(agents, 0.0),
        owed={a: now.owed[a] for a in agents},
        transition=now.transition,
    )


def difference(one: Game, other: Game) -> str:
    """Where two games differ, for messages: "domain.size: 6 here, 8 there"."""
    return _difference(one.spec(), other.spec()) or "equal specs, but another kind of domain or workflow"


def _moved(
    now: Snapshot,
    *,
    state: State,
    pending: Mapping[str, str],
    rewards: Mapping[str, float],
    owed: Mapping[str, float],
    transition: Transition | None,
) -> Snapshot:
    return Snapshot(
        game=now.game,
        agents=now.agents,
        state=state,
        pending=pending,
        rewards=rewards,
        owed=owed,
        transition=transition,
    )


def _parse(text: str, game: Game) -> dict[str, JSON]:
    """The record, of this format and this game."""
    try:
        record: Any = json.loads(text)
    except (RecursionError, TypeError, ValueError) as error:
        raise BadSnapshot(f"a snapshot is JSON text; this is not: {error}.") from error
    found = record.get("format") if isinstance(record, dict) else None
    if type(found) is not int or found != FORMAT:
        raise BadSnapshot(f"the snapshot is of format {found!r}; this version reads format {FORMAT}.")
    missing = {"fingerprint", "game", "task", "log", "pending", "left"} - set(record)
    if missing:
        raise BadSnapshot(f"the snapshot lacks {', '.join(sorted(missing))}.")
    spec = json.loads(json.dumps(game.spec()))
    if record["fingerprint"] != game.fingerprint or record["game"] != spec:
        raise BadSnapshot(f"the snapshot is of another game: {_difference(spec, record['game']) or 'its fingerprint'}.")
    if not isinstance(record["log"], list):
        raise BadSnapshot(f"the snapshot's log is {type(record['log']).__name__}; a list was expected.")
    return record


def _difference(here: JSON, there: JSON, path: str = "") -> str:
    if isinstance(here, dict) and isinstance(there, dict):
        names = [*here, *(name for name in there if name not in here)]
        found = (_difference(here.get(n), there.get(n), f"{path}.{n}" if path else str(n)) for n in names)
        return ", ".join(filter(None, found))
    return "" if here == there else f"{path or 'game'}: {here!r} here, {there!r} there"


def _task(record: dict[str, JSON], game: Game) -> Task:
    task = Task(**record)
    for name, kind in _TASK.items():
        if not isinstance(record[name], kind) or isinstance(record[name], bool):
            raise BadSnapshot(f"the task's {name} is {record[name]!r}, which it cannot be.")
    for name in ("seed", "index", *(["optimum"] if task.optimum is not None else [])):
        _count(record, name)
    if clean(task.level) != task.level or not task.level.isprintable():
        raise BadSnapshot(f"the task's level is {task.level!r}; a text that can be printed was expected.")
    if content_hash(task.content) != task.content_hash:
        raise BadSnapshot(f"the task's content was changed: its hash is not {task.content_hash}.")
    if task.split not in SPLITS:
        raise BadSnapshot(f"the task is of split {task.split!r}; the splits are {', '.join(SPLITS)}.")
    if "file" not in task.params and split_of(task.content_hash) != task.split:  # a line of a file may say its split
        raise BadSnapshot(f"the task is of split {split_of(task.content_hash)!r} by its content, not {task.split!r}.")
    _check_made(task, game)
    return task


def _check_made(task: Task, game: Game) -> None:
    """Raises BadSnapshot for a task that says it is one of the game's own and is not, or not as its source makes it."""
    made = _made(task, game)
    if made is None or (made.content_hash != task.content_hash and _text(made.params) != _text(task.params)):
        return
    for name in ("index", "content_hash", *_TASK):
        here, there = getattr(made, name), getattr(task, name)
        if name != "content" and _text(here) != _text(there):
            raise BadSnapshot(f"the task's {name} is {there!r}; that of the game's own {made.id} is {here!r}.")


def _made(task: Task, game: Game) -> Task | None:
    """What the game's source has in the task's place, or first in its split; None where it has none."""
    domain: Any = game.domain
    if domain.name != task.domain:
        return None
    try:
        source = (replace(domain, seed=task.seed) if hasattr(domain, "seed") else domain).tasks
        size = source.size(task.split)
        return source.get(task.split, task.index if size is None or task.index < size else 0)
    except MasgymError:
        return None


def _text(found: JSON) -> str:
    """True, 1 and 1.0 are equal, but no such texts are."""
    return json.dumps(found, sort_keys=True, default=dict)


def _count(record: Mapping[str, JSON], name: str) -> int:
    found = record[name]
    if type(found) is not int or found < 0:
        raise BadSnapshot(f"{name} is {found!r}; a whole number of at least 0 was expected.")
    return found


def _replay(now: Snapshot, outputs: dict[str, JSON], results: Results) -> Snapshot:
    def recorded(game: Game, state: State, _: Outputs) -> Transition:
        return game.apply(state, outputs, results)

    members = now.game.active(now.state)
    if set(outputs) != set(members):
        raise BadSnapshot(f"the log holds outputs of {sorted(outputs)} where {sorted(members)} were active.")
    for agent in members[:-1]:
        now = answer(now, _expected(now, agent, outputs[agent]), _never)
    last = _expected(now, members[-1], outputs[members[-1]])
    _check_results(now, outputs, results)
    return answer(now, last, recorded)


def _check_results(now: Snapshot, outputs: Outputs, results: Results) -> None:
    """The results must be those of the calls that the outputs ask for, round by round; none less and none more."""
    fed: Results = {}
    while calls := now.game.calls(now.state, outputs, fed):
        counts = {a: len(found) for a, found in fed.items()}
        counts |= {a: counts.get(a, 0) + len(asked) for a, asked in calls.items()}
        if short := [a for a, count in counts.items() if a not in results or len(results[a]) < count]:
            raise BadSnapshot(f"the log lacks results of tool calls of {short}.")
        fed = {a: results[a][:count] for a, count in counts.items()}
    if fed != results:
        raise BadSnapshot(f"the log holds results of {sorted(results)} beyond the calls that were made.")


def _expected(now: Snapshot, agent: str, reply: JSON) -> str:
    if agent != now.selection or not isinstance(reply, str):
        raise BadSnapshot(f"the snapshot holds {type(reply).__name__} of {agent!r} for a reply of {now.selection!r}.")
    if clean(reply) != reply:
        raise BadSnapshot(f"the snapshot's reply of {agent!r} holds lone surrogates, which no reply has.")
    return reply


def _never(game: Game, state: State, outputs: Outputs) -> Transition:
    raise BadSnapshot(f"the pending outputs of {sorted(outputs)} are a whole active set; they belong into the log.")


def _plain(results: Results) -> JSON:
    return {a: [{"outcome": r.outcome, "value": r.value} for r in answers] for a, answers in results.items()}


def _results(record: dict[str, JSON]) -> Results:
    return {a: tuple(map(_result, rows)) for a, rows in record.items()}


def _result(record: dict[str, JSON]) -> ToolResult:
    if not isinstance(record["outcome"], str):
        raise BadSnapshot(f"a result's outcome is {record['outcome']!r}; a text was expected.")
    return ToolResult(outcome=record["outcome"], value=record["value"])
