"""What the three faces share: task choice, observations, infos, rendering, snapshots. Each face only translates."""

from collections.abc import Mapping
from functools import partial
from operator import index
from typing import Any, SupportsIndex

from masgym.errors import BadSnapshot, BadValue, UnknownName
from masgym.faces.spaces import UnicodeText, observation_space
from masgym.game import Game
from masgym.snapshot import Snapshot, answer, difference, start
from masgym.tags import clean
from masgym.tasks import SPLITS
from masgym.tools.driver import default_driver, step_sync
from masgym.types import JSON, Observation, Outputs, State, Task, Transition

RENDER_MODES = ("ansi", "human")


class Face:
    """One game being played: holds where it stands, a Snapshot, and moves it on."""

    def __init__(self, game: Game, render_mode: str | None = None) -> None:
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise UnknownName("render mode", render_mode, RENDER_MODES)
        self.game = game
        self.render_mode = render_mode
        self.metadata: dict[str, Any] = {
            "name": f"{game.domain.name}_v0",
            "render_modes": list(RENDER_MODES),
            "render_fps": 4,
        }
        self.state_space = UnicodeText()
        self._now: Snapshot | None = None
        self._index = -1  # of the last task
        self._seen: dict[str, Observation] = {}  # of the present state
        # each space is made once: it has to stay the same object, or seeding it would have no effect
        self.observation_spaces: dict[str, Any] = {a: observation_space() for a in game.agents}
        self.action_spaces: dict[str, Any] = {a: UnicodeText(partial(plausible, game, a)) for a in game.agents}

    @property
    def now(self) -> Snapshot:
        if self._now is None:
            raise BadValue("the environment was not reset; call reset() or restore() first.")
        return self._now

    def snapshot(self) -> Snapshot:
        """Where the game stands: an immutable value; nothing is copied."""
        return self.now

    def restore(self, snapshot: Snapshot) -> None:
        """Goes on from `snapshot`, also on a fresh environment. Raises BadSnapshot for one of another game."""
        if not isinstance(snapshot, Snapshot):  # pyright: ignore[reportUnnecessaryIsInstance]
            read = "read its JSON form with Snapshot.from_json(text, game)"
            raise BadSnapshot(f"restore takes a Snapshot, not a {type(snapshot).__name__}; {read}.")
        if snapshot.game != self.game:
            raise BadSnapshot(f"the snapshot is of another game: {difference(self.game, snapshot.game)}.")
        self._set(snapshot)

    def state(self) -> Any:
        """The world as text, for centralised training (PettingZoo's `state`)."""
        return self.game.domain.render(self.now.state.world, "full")

    def render(self) -> Any:
        """ "ansi": the world and what was said this turn, as text. "human": prints it."""
        if self.render_mode == "human":
            print(self._picture())
            return None
        return self._picture() if self.render_mode == "ansi" else None

    def close(self) -> None:
        """There is nothing to release."""

    def _begin(self, seed: int | None, options: Any) -> None:
        if options is not None and not isinstance(options, Mapping):
            raise BadValue(f"options is {options!r}; a mapping, which may hold 'task' and 'split', was expected.")
        self._set(start(self.game, self._choose(seed, options or {})))
        self._show()

    def _reply(self, *replies: object) -> None:
        """The next agents reply, the selected one first: all of them or, where anything is raised, none."""
        before = now = self.now
        for reply in replies:
            if not isinstance(reply, str):
                raise BadValue(f"a reply is a str; {now.selection} gave {type(reply).__name__}.")
            now = answer(now, clean(reply), self._transition)
        self._set(now)
        if self.now.state is not before.state:
            self._show()

    def _set(self, now: Snapshot) -> None:
        if self._now is None or now.state is not self._now.state:
            self._seen = {}
        self._now = now

    def _transition(self, game: Game, state: State, outputs: Outputs) -> Transition:
        return step_sync(game, state, outputs, default_driver().run)

    def _choose(self, seed: int | None, options: Mapping[str, Any]) -> Task:
        """`options`: "task" (a Task, or an index) and "split"; other keys are not ours and are ignored.

        Without them the seed is an index into split `train` (modulo a finite set's size); without a seed the next.
        """
        chosen, split, source = options.get("task"), options.get("split", "train"), self.game.domain.tasks
        if isinstance(chosen, Task):
            return chosen
        if split not in SPLITS:
            raise UnknownName("split", split, SPLITS)
        if chosen is not None:
            return source.get(split, _whole("options['task']", chosen))
        self._index = self._index + 1 if seed is None else _whole("seed", seed)
        size = source.size(split)
        return source.get(split, self._index % size if size else self._index)

    def _observation(self, agent: str) -> dict[str, str]:
        return {"text": self._observed(agent).text}

    def _observed(self, agent: str) -> Observation:
        if agent not in self._seen:
            self._seen[agent] = self.game.observe(self.now.state, agent)
        return self._seen[agent]

    def _info(self, agent: str) -> dict[str, JSON]:
        """Fresh objects at every call: users keep and change what they are given."""
        now = self.now
        return {
            "active": agent in self.game.active(now.state) and agent not in now.pending,
            "legal": list(self.game.legal(now.state, agent)),
            "messages": [{"role": m.role, "content": m.content} for m in self._observed(agent).messages],
            "reward_terms": reward_terms(now.transition, agent),
            "task": now.state.task.id,
            "success": now.state.success,
        }

    def _over(self) -> tuple[bool, bool]:
        """(terminated, truncated)"""
        return self.now.state.ended == "done", self.now.state.ended == "T"

    def _space(self, spaces: dict[str, Any], agent: str) -> Any:
        self.game.slot(agent)  # raises UnknownName
        return spaces[agent]

    def _show(self) -> None:
        if self.render_mode == "human":
            self.render()

    def _picture(self) -> str:
        state = self.now.state
        said = [f"{e.agent}: {e.effect.note}" for e in state.memory if e.turn >= state.turn - 1]
        head = f"{state.task.id}, turn {state.turn} of {self.game.T}" + (
            f", over: {state.ended}" if state.ended else ""
        )
        return "\n".join([head, self.game.domain.render(state.world, "full"), *said])


def plausible(game: Game, agent: str) -> tuple[str, ...]:
    """The legal replies of `agent` at the start of a few tasks."""
    source = game.domain.tasks
    size = source.size("train")
    states = [game.initial(source.get("train", i)) for i in range(4 if size is None else min(4, size))]
    return tuple(dict.fromkeys(reply for state in states for reply in game.legal(state, agent)))


def _whole(name: str, given: Any) -> int:
    """`given` as an int: numpy's are as good."""
    if isinstance(given, bool) or not isinstance(given, SupportsIndex) or index(given) < 0:
        raise BadValue(f"{name} is {given!r}; a whole number of at least 0 was expected.")
    return index(given)


def reward_terms(transition: Transition | None, agent: str) -> dict[str, JSON]:
    """The last transition's reward, term by term: both team forms, and a member's own terms."""
    if transition is None:
        return {}
    own = transition.rewards.get(agent)
    return {
        "gain": transition.gain,
        "team": transition.team,
        "malformed": own.malformed if own else 0.0,
        "cost": own.cost if own else 0.0,
        "local": dict(own.local) if own else {},
    }
