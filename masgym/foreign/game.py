"""Somebody else's environment as a Game, so that the one evaluator plays it: agents see its text, reply, and are paid.

It has no saved points. A state here is a seed and the replies so far; the running environment stands at the latest such
state only, and going on from an earlier one replays its replies in a fresh environment. That holds for environments
that repeat themselves from their seed; of others, earlier states are refused (BadValue).

Departures from a Game of ours: an agent's reward is the environment's own; there is no potential and no oracle; success
is what the environment says in infos["success"], else a return of at least 1, both of the agent `player`; the last
transition names every agent in `effects` and `rewards`, with its return of the episode.
"""

import importlib
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from math import isfinite
from typing import NoReturn

from masgym.errors import BadValue, MasgymError, UnknownName
from masgym.foreign.live import Live, Shown
from masgym.game import Game
from masgym.tags import printable
from masgym.tasks import Instance, Procedural
from masgym.theirs import told
from masgym.types import (
    JSON,
    Calls,
    Effect,
    Entry,
    Message,
    Observation,
    Outputs,
    Results,
    RewardTerms,
    Slot,
    State,
    Style,
    Task,
    ToolCall,
    ToolResult,
    Transition,
    value,
)

ADAPTERS: Mapping[str, str] = {  # "kind:what" -> the module whose `live(what, params)` makes a running environment
    "pettingzoo": "masgym.foreign.pettingzoo",
    "textarena": "masgym.foreign.textarena",
}
SOLVED = 1.0  # the least return that counts as success where the environment does not say
_NOTE = 500  # characters of a reply that others are shown


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
        note = printable(reply[:_NOTE], keep="\n")
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


@value
class ForeignTable:
    """Who speaks when is the environment's business."""

    agents: tuple[str, ...]

    @property
    def name(self) -> str:
        return "own"

    def slot(self, agent: str) -> Slot:
        return "act"

    def active(self, state: State) -> tuple[str, ...]:
        return state.world.shown.active

    def visible(self, state: State, agent: str) -> tuple[Entry, ...]:
        """The agent's own last reply if the environment did not take it; all else is the environment's to show."""
        own = [entry for entry in state.memory if entry.agent == agent]
        return tuple(entry for entry in own[-1:] if entry.effect.malformed)

    def brief(self, agent: str, titles: Mapping[str, str]) -> str:
        others = ", ".join(other for other in self.agents if other != agent)
        return f"You are {agent}; the others are {others}." if others else f"You are {agent}."

    def effect(self, state: State, agent: str, reply: str) -> NoReturn:
        raise BadValue("a foreign environment has no judge and no route slot.")

    def weights(self, slot: Slot) -> NoReturn:
        raise BadValue("a foreign environment has no judge and no route slot.")

    def legal(self, state: State, agent: str) -> NoReturn:
        raise BadValue("a foreign environment has no judge and no route slot.")

    def oracle(self, state: State, agent: str) -> NoReturn:
        raise BadValue("a foreign environment has no judge and no route slot.")

    def advance(self, state: State, effects: Mapping[str, Effect], last_turn: bool) -> tuple[Effect | None, int | None]:
        """Unused: `ForeignGame.apply` steps the environment with all replies at once."""
        return None, None


class ForeignGame(Game):
    """A Game whose world is a foreign environment. One transition is one step of it."""

    __slots__ = ()

    def observe(self, state: State, agent: str) -> Observation:
        slot, text = self.slot(agent), state.world.texts.get(agent, "")
        told = [f"Your last reply was not taken: {e.effect.note}" for e in self.workflow.visible(state, agent)]
        messages = (Message(role="user", content="\n\n".join([text, *told])),)
        if self.style == "full":
            brief = f"{self.workflow.brief(agent, self.domain.titles)} {self.domain.brief(slot)}"
            messages = (Message(role="system", content=brief), *messages)
        return Observation(agent=agent, slot=slot, messages=messages)

    def calls(self, state: State, outputs: Outputs, results: Results) -> Calls:
        return {}

    def legal(self, state: State, agent: str) -> tuple[str, ...]:
        self.slot(agent)
        return state.world.shown.legal.get(agent, ())

    def apply(self, state: State, outputs: Outputs, results: Results) -> Transition:
        """Steps the environment; a joint reply with a part that it does not take is malformed, and leaves it as it was.

        A missing member is a BadValue.
        """
        members = self.active(state)
        if not members or set(outputs) != set(members):
            raise BadValue(f"outputs are of {sorted(outputs)}; the active set is {sorted(members)}.")
        world, faults = self._stepped(state.world, {agent: outputs[agent] for agent in members})
        effects = {agent: self._effect(state, agent, outputs[agent], ()) for agent in members}
        effects |= {a: replace(effects[a], malformed=True, note=printable(faults[a][:_NOTE])) for a in faults}
        turn = state.turn + 1
        over = not world.shown.active
        ended = "T" if (over and world.shown.truncated) or (not over and turn == self.T) else "done" if over else ""
        success = bool(ended) and self.domain.potential(world) >= 1
        entries = tuple(Entry(turn=state.turn, agent=a, slot="act", effect=effects[a]) for a in members)
        after = State(
            task=state.task,
            world=world,
            memory=state.memory + entries,
            turn=turn,
            ended=ended,
            success=success,
            log=(*state.log, (dict(outputs), dict(results))),
        )
        paid = self.alpha * (float(success) if self.outcome_only else self.domain.team(state.world, world))
        rewards = {a: RewardTerms(local={}, malformed=self.malformed if a in faults else 0.0) for a in members}
        if ended:
            silent = Effect(world=world, terms={}, note="")
            effects = {**dict.fromkeys(self.agents, silent), **effects}
            cost = {a: rewards[a].malformed if a in rewards else 0.0 for a in self.agents}
            rewards = {a: RewardTerms(local={"return": world.returns[a]}, malformed=cost[a]) for a in self.agents}
        return Transition(state=after, team=paid, gain=paid, effects=effects, rewards=rewards)

    def _stepped(self, world: World, outputs: Outputs) -> tuple[World, dict[str, str]]:
        """(the world after, whose replies were not taken and why)"""
        domain = self.domain
        assert isinstance(domain, ForeignDomain)
        refused = {agent: world.session.env.refuses(agent, reply) for agent, reply in outputs.items()}
        faults = {agent: why for agent, why in refused.items() if why}
        after = world if faults else domain.step(world, outputs)
        return (world, dict.fromkeys(outputs, after)) if isinstance(after, str) else (after, faults)


def foreign_game(name: str, *, T: int = 200, style: Style = "full", player: str = "", **params: JSON) -> ForeignGame:
    """The environment `name` ("pettingzoo:module", "textarena:Game-v0"), made with `params`, as a Game.

    T: the most steps of an episode, replies that are not taken among them. player: whose success and return are
    reported. Raises UnknownName and BadValue for what does not exist, cannot be made, or does not speak in text.
    """
    domain = ForeignDomain(name=name, params=params, player=player)
    agents = domain.players()
    if player and player not in agents:
        raise UnknownName("player", player, agents)
    return ForeignGame(domain=domain, workflow=ForeignTable(agents=agents), T=T, style=style)
