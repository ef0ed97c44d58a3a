"""Somebody else's environment as a Domain: where it stands, a step of it, and going back by replaying its replies."""

import importlib
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import field
from math import isfinite
from typing import NoReturn

from masgym.errors import BadValue, MasgymError, UnknownName
from masgym.foreign.live import Live, Shown
from masgym.tags import printable
from masgym.tasks import Instance, Procedural
from masgym.theirs import told
from masgym.types import JSON, Effect, Outputs, Slot, Style, Task, ToolCall, ToolResult, value

ADAPTERS: Mapping[str, str] = {  # "kind:what" -> the module whose `live(what, params)` makes a running environment
    "pettingzoo": "masgym.foreign.pettingzoo",
    "textarena": "masgym.foreign.textarena",
}
SOLVED = 1.0  # the least return that counts as success where the environment does not say
NOTE = 500  # characters of a reply that others are shown


class Session:
    """A running environment and how many steps it has made."""

    def __init__(self, env: Live) -> None:
        self.env, self.steps = env, 0


@value
class World:
    """Where an episode stands: a seed and the joint replies so far. The rest follows from them."""

    seed: int
    outputs: tuple[tuple[tuple[str, str], ...], ...] = ()
    shown: Shown = field(compare=False)
    texts: Mapping[str, str] = field(compare=False)  # agent -> the last that it was shown
    returns: Mapping[str, float] = field(compare=False)
    session: Session = field(compare=False, repr=False)


@value
class ForeignDomain:
    """The environment `name` ("kind:what"), made with `params`. A task is a seed."""

    name: str
    params: Mapping[str, JSON] = field(default_factory=dict)
    player: str = ""  # whose success and return are reported; "": the first agent's
    seed: int = 0  # of the collection

    @property
    def tasks(self) -> Procedural:
        return Procedural(
            domain=self.name,
            params=dict(self.params),
            generate=lambda rng: Instance(content={"seed": int(rng.integers(2**31))}, level="default", optimum=None),
            seed=self.seed,
        )

    @property
    def titles(self) -> Mapping[str, str]:
        return {"act": "player"}

    def live(self) -> Live:
        kind, _, what = self.name.partition(":")
        if kind not in ADAPTERS:
            raise UnknownName("kind of foreign environment", kind, ADAPTERS)
        with self._asked("cannot be made"):
            return importlib.import_module(ADAPTERS[kind]).live(what, dict(self.params))

    def players(self) -> tuple[str, ...]:
        env = self.live()
        with self._asked("cannot be made"):
            agents = env.agents
            env.close()
        return agents

    @contextmanager
    def _asked(self, what: str) -> Generator[None]:
        """A boundary: whatever an environment raises before it is played is a BadValue."""
        try:
            yield
        except (MasgymError, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise BadValue(f"{self.name} {what}: {told(error)}.") from error

    def initial(self, task: Task) -> World:
        session, seed = Session(self.live()), int(task.content["seed"])
        with self._asked(f"cannot begin with seed {seed}"):
            shown = session.env.reset(seed)
        if not shown.active:
            raise BadValue(
                f"{self.name} begins with seed {seed} and waits for nobody's action; there is nothing to play."
            )
        returns = {a: shown.rewards.get(a, 0.0) for a in session.env.agents}
        return World(seed=seed, shown=shown, texts=dict(shown.texts), returns=returns, session=session)

    def step(self, world: World, outputs: Outputs) -> World | str:
        """The world after the joint reply, or why the environment does not take it.

        An environment that raises has seen a reply that it cannot stand: that is the reply's fault, and its state is
        not trusted any more.
        """
        session = world.session if world.session.steps == len(world.outputs) else self._replayed(world)
        try:
            shown = session.env.step(outputs)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            session.steps = -1
            return f"the environment failed on it: {type(error).__name__}: {error}"
        returns = {a: paid + shown.rewards.get(a, 0.0) for a, paid in world.returns.items()}
        if odd := [a for a, paid in returns.items() if not isfinite(paid)]:
            raise BadValue(
                f"{self.name} gave {odd[0]} rewards that sum to {returns[odd[0]]}; a finite sum was expected."
            )
        session.steps += 1
        if not shown.active:
            session.env.close()
        return World(
            seed=world.seed,
            outputs=(*world.outputs, tuple(outputs.items())),
            shown=shown,
            texts={**world.texts, **shown.texts},
            returns=returns,
            session=session,
        )

    def _replayed(self, world: World) -> Session:
        session = Session(self.live())
        shown = session.env.reset(world.seed)
        for outputs in world.outputs:
            shown = session.env.step(dict(outputs))
        session.steps = len(world.outputs)
        if (shown.active, shown.texts) != (world.shown.active, world.shown.texts):
            raise BadValue(
                f"{self.name} does not repeat itself from seed {world.seed}, so it cannot go back to an earlier "
                "position; play it forward only."
            )
        return session

    def render(self, world: World, style: Style) -> str:
        """What those are shown whose turn it is; after the end, what each was shown last."""
        return "\n\n".join(f"{agent}:\n{world.texts.get(agent, '')}" for agent in world.shown.active or world.texts)

    def brief(self, slot: Slot) -> str:
        return "Your reply as a whole is your action."

    def calls(self, slot: Slot, world: World, reply: str, results: tuple[ToolResult, ...]) -> tuple[ToolCall, ...]:
        return ()

    def effect(self, slot: Slot, world: World, reply: str, results: tuple[ToolResult, ...]) -> Effect:
        note = printable(reply[:NOTE], keep="\n")
        return Effect(world=world, terms={}, note=note, brief=note)

    def weights(self, slot: Slot) -> Mapping[str, float]:
        return {"return": 1.0}

    def team(self, before: World, after: World) -> float:
        """What `player` was paid."""
        paid = {a: after.returns[a] - before.returns[a] for a in after.returns}
        return paid[self.player or next(iter(paid))]

    def potential(self, world: World) -> float:
        """1 if the episode is over and was a success for `player`, else 0."""
        if world.shown.active:
            return 0.0
        player = self.player or next(iter(world.returns))
        return float(world.shown.success.get(player, world.returns[player] >= SOLVED))

    def legal(self, world: World, slot: Slot) -> tuple[str, ...]:
        """What the environment lists for the agents whose turn it is."""
        return tuple(dict.fromkeys(reply for agent in world.shown.active for reply in world.shown.legal.get(agent, ())))

    def oracle(self, world: World, slot: Slot) -> NoReturn:
        raise BadValue(
            f"{self.name} is a foreign environment: nobody knows an optimal reply. Play it with other agents."
        )
