"""Game = Domain (what the world is, what a reply does to it) x Workflow (who speaks when, who sees what). Pure.

    state --active--> {a1..aK} --observe--> prompts --(agents)--> outputs --calls, run by a driver--> results
    (state, outputs, results) --apply--> next state + reward terms

Division of labour is K = 1, co-evolution K > 1; nothing here knows the difference.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import reduce
from operator import or_
from typing import Any, Protocol

from masgym.errors import BadValue, UnknownName
from masgym.tasks import TaskSource
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
    World,
    value,
)


class Domain(Protocol):
    """What the world is. A frozen dataclass whose fields are JSON values: equal fields, equal domain. What it may tell
    besides: `masgym.optional`."""

    @property
    def name(self) -> str: ...
    @property
    def tasks(self) -> TaskSource: ...
    @property
    def titles(self) -> Mapping[str, str]:
        """Slot -> what the field calls its speaker ("planner"); the slots that the domain implements."""
        ...

    def initial(self, task: Task) -> World: ...
    def render(self, world: World, style: Style) -> str:
        """The CURRENT world as text."""
        ...

    def brief(self, slot: Slot) -> str:
        """Rules and reply grammar, for the system message of the full style."""
        ...

    def calls(self, slot: Slot, world: World, reply: str, results: tuple[ToolResult, ...]) -> tuple[ToolCall, ...]:
        """The next tool calls that judging `reply` needs; () when `results` suffice."""
        ...

    def effect(self, slot: Slot, world: World, reply: str, results: tuple[ToolResult, ...]) -> Effect:
        """Never raises on any `reply`."""
        ...

    def weights(self, slot: Slot) -> Mapping[str, float]:
        """Weights of the slot's local terms; they sum to 1."""
        ...

    def team(self, before: World, after: World) -> float:
        """The published team term (method, section 2), in [0, 1]."""
        ...

    def potential(self, world: World) -> float:
        """Phi: 0 at the start of a task, 1 when solved."""
        ...

    def legal(self, world: World, slot: Slot) -> tuple[str, ...]:
        """Short legal replies (the games: single moves); () where they cannot be listed."""
        ...

    def oracle(self, world: World, slot: Slot) -> str:
        """An optimal reply in the grammar of `slot`, from any world; from a dead one any well-formed reply."""
        ...


class Workflow(Protocol):
    """Who speaks when, who sees what. A frozen dataclass; never looks into a world."""

    @property
    def name(self) -> str: ...
    @property
    def agents(self) -> tuple[str, ...]: ...
    def slot(self, agent: str) -> Slot: ...
    def active(self, state: State) -> tuple[str, ...]: ...
    def visible(self, state: State, agent: str) -> tuple[Entry, ...]:
        """What of shared memory `agent` is shown. Total: any agent, any state."""
        ...

    def brief(self, agent: str, titles: Mapping[str, str]) -> str:
        """The agent's place in the team, for the system message of the full style."""
        ...

    def effect(self, state: State, agent: str, reply: str) -> Effect:
        """Parses the slots `judge` and `route`, which are the workflow's own. Never raises on any `reply`."""
        ...

    def weights(self, slot: Slot) -> Mapping[str, float]:
        """As `Domain.weights`, for `judge` and `route`."""
        ...

    def legal(self, state: State, agent: str) -> tuple[str, ...]:
        """As `Domain.legal`, for `judge` and `route`."""
        ...

    def oracle(self, state: State, agent: str) -> str:
        """As `Domain.oracle`, for `judge` and `route`."""
        ...

    def advance(self, state: State, effects: Mapping[str, Effect], last_turn: bool) -> tuple[Effect | None, int | None]:
        """(what is done to the world now or None, the next phase or None when the turn is over)."""
        ...


MOST_TURNS = 10**6  # as many as a domain knows
MOST_REWARD = 1e6  # of a weight, or of a cost in reward units: any return stays far below what a record may hold
OF_WORKFLOW: tuple[Slot, ...] = ("judge", "route")  # slots whose replies the workflow reads itself


def turns(number: int) -> str:
    """For people: "1 turn", "8 turns"."""
    return f"{number} turn{'' if number == 1 else 's'}"


def role_of(agent: str) -> str:
    """`tool_0` -> `tool`: an agent's id without its number."""
    return agent.rsplit("_", 1)[0]


@value
class Game:
    """One team on one kind of task. Every method is a pure function of its arguments."""

    domain: Domain
    workflow: Workflow
    T: int = 8  # the most turns an episode may take
    style: Style = "full"
    alpha: float = 1.0  # weight of the team term (Eq. 3)
    malformed: float = -0.5  # cost of a malformed reply
    outcome_only: bool = False  # local terms off, team = final outcome only

    def __post_init__(self) -> None:
        """Raises BadValue and UnknownName for fields that no game can have."""
        for name, part in (("domain", self.domain), ("workflow", self.workflow)):
            if not is_dataclass(part) or isinstance(part, type):
                raise BadValue(f"{name} is {part!r}; an instance of a frozen dataclass was expected (masgym.game).")
        _check(self, "T", int, 1, MOST_TURNS)
        _check(self, "alpha", int | float, 0, MOST_REWARD)
        _check(self, "malformed", int | float, -MOST_REWARD, 0)  # a cost
        _check(self, "outcome_only", bool, False, True)
        if self.style not in ("full", "compact"):
            raise UnknownName("style", self.style, ("full", "compact"))

    @property
    def name(self) -> str:
        return f"{self.domain.name}:{self.workflow.name}"

    @property
    def agents(self) -> tuple[str, ...]:
        return self.workflow.agents

    @property
    def roles(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(role_of(agent) for agent in self.agents))

    def slot(self, agent: str) -> Slot:
        if agent not in self.agents:
            raise UnknownName("agent", agent, self.agents)
        return self.workflow.slot(agent)

    def initial(self, task: Task) -> State:
        if task.domain != self.domain.name:
            raise BadValue(f"task {task.id} is of domain {task.domain!r}; this game plays {self.domain.name!r}.")
        return State(task=task, world=self.domain.initial(task))

    def active(self, state: State) -> tuple[str, ...]:
        """The active set S_e: the agents whose outputs the next transition consumes; () when the game is over."""
        return () if state.ended else self.workflow.active(state)

    def observe(self, state: State, agent: str) -> Observation:
        """What `agent` is shown in `state`. Total: any agent, any state, terminal ones too."""
        slot = self.slot(agent)
        board = self.domain.render(state.world, self.style)
        memory = self.workflow.visible(state, agent)
        if self.style == "compact":
            lines = [slot, board, *(f"{e.slot}:{'!' if e.effect.malformed else e.effect.brief}" for e in memory)]
            messages = (Message(role="user", content="\n".join(lines)),)
        else:
            lines = [self._clock(state), board]
            lines += [self._memory_line(entry, agent, state.world) for entry in memory]
            messages = (
                Message(role="system", content=self._brief(agent)),
                Message(role="user", content="\n\n".join(lines)),
            )
        return Observation(agent=agent, slot=slot, messages=messages)

    def calls(self, state: State, outputs: Outputs, results: Results) -> Calls:
        """The tool calls still to be run before `apply`; ask again with their results until it is empty."""
        todo = {
            agent: self.domain.calls(
                self.slot(agent), self._attended(state, agent), outputs[agent], results.get(agent, ())
            )
            for agent in self.active(state)
            if self.slot(agent) not in OF_WORKFLOW
        }
        return {agent: calls for agent, calls in todo.items() if calls}

    def foreseen(self, state: State, outputs: Outputs) -> Results:
        """What is known of the results of `calls` without running them: demonstrations cost no tool calls."""
        foresee = getattr(self.domain, "foresee", None)
        if foresee is None:
            return {}
        asked = [agent for agent in self.active(state) if self.slot(agent) not in OF_WORKFLOW]
        known = {a: foresee(self.slot(a), self._attended(state, a), outputs[a]) for a in asked}
        return {agent: results for agent, results in known.items() if results}

    def apply(self, state: State, outputs: Outputs, results: Results) -> Transition:
        """The one transition. `outputs` has exactly the active set's replies; a missing member is a BadValue."""
        members = self.active(state)
        if not members or set(outputs) != set(members):
            raise BadValue(f"outputs are of {sorted(outputs)}; the active set is {sorted(members)}.")
        effects = {a: self._effect(state, a, outputs[a], results.get(a, ())) for a in members}
        commit, phase = self.workflow.advance(state, effects, state.turn + 1 == self.T)
        world = _world_after(state, commit, effects)
        turn = state.turn + (phase is None)
        ended = "done" if commit and commit.done else "T" if turn == self.T else ""
        success = bool(ended) and self.domain.potential(world) >= 1  # at T too: the team's last answer may be right
        entries = tuple(Entry(turn=state.turn, agent=a, slot=self.slot(a), effect=effects[a]) for a in members)
        after = State(
            task=state.task,
            world=world,
            memory=state.memory + entries,
            phase=phase or 0,
            turn=turn,
            ended=ended,
            success=success,
            log=(*state.log, (dict(outputs), dict(results))),
        )
        return Transition(
            state=after,
            team=self.alpha * (success if self.outcome_only else self.domain.team(state.world, world)),
            gain=self.alpha * (success + (0.0 if self.outcome_only else self._phi_change(state.world, world))),
            effects=effects,
            rewards={a: self._terms(self.slot(a), effects[a]) for a in members},
        )

    def legal(self, state: State, agent: str) -> tuple[str, ...]:
        """Short legal replies of `agent` in `state`; () where they cannot be listed."""
        slot = self.slot(agent)
        return self.workflow.legal(state, agent) if slot in OF_WORKFLOW else self.domain.legal(state.world, slot)

    def oracle(self, state: State, agent: str) -> str:
        """An optimal reply of `agent` in `state`."""
        slot = self.slot(agent)
        return self.workflow.oracle(state, agent) if slot in OF_WORKFLOW else self.domain.oracle(state.world, slot)

    def hopeless(self, state: State) -> bool:
        """Whether no replies can solve the task any more, as far as the domain can tell."""
        return self._moves_left(state) is None

    def progress(self, state: State) -> float:
        """1 - moves left / the task's optimum: 1 when solved, 0 at the start, below 0 on detours; 0 when lost, and
        wherever the domain cannot tell. Unlike Phi it moves with every move."""
        left, optimum = self._moves_left(state), state.task.optimum
        return 0.0 if left is None or not optimum else 1.0 - left / optimum

    def spec(self) -> dict[str, JSON]:
        """The game as JSON: equal specs, equal games."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("domain", "workflow")}
        return {"domain": _spec(self.domain), "workflow": _spec(self.workflow), **own}

    @property
    def fingerprint(self) -> str:
        """A hash of `spec`: snapshots and checkpoints carry it."""
        return hashlib.sha256(json.dumps(self.spec(), sort_keys=True).encode()).hexdigest()[:16]

    def _brief(self, agent: str) -> str:
        """Who judges or routes is told what the proposers are told: the rules, and the grammar of what it will see."""
        slot, place = self.slot(agent), self.workflow.brief(agent, self.domain.titles)
        if slot not in OF_WORKFLOW:
            offers = _told(self.domain, "told_of_offers", slot) if len(self.agents) > 1 else ""
            return f"{place}\n\n{self.domain.brief(slot)}{offers}"
        told = self.domain.brief("draft")
        return f"What the {self.domain.titles['draft']} is told:\n---\n{told}\n---\n\n{place}"

    def _moves_left(self, state: State) -> int | None:
        """`Charted.remaining`; where the domain cannot tell, as many as at the start."""
        tell = getattr(self.domain, "remaining", None)
        return tell(state.world) if tell else state.task.optimum or 0

    def _clock(self, state: State) -> str:
        if state.ended:
            return f"The game is over, after {state.turn} of at most {turns(self.T)}."
        last = " It is the last one." if state.turn + 1 == self.T else ""
        return f"Turn {state.turn + 1} of at most {self.T}.{last}"

    def _memory_line(self, entry: Entry, agent: str, world: World) -> str:
        title = self.domain.titles.get(entry.slot, entry.slot)
        who = "Your last reply" if entry.agent == agent else f"The {title} ({entry.agent})"
        if not entry.effect.malformed:
            return f"{who}: {entry.effect.note}"
        form = self._form(agent, world) if entry.agent == agent else ""
        return f"{who} was malformed: {entry.effect.note}{form}"

    def _form(self, agent: str, world: World) -> str:
        """`Reminding.form`, or of the workflow's own slots its `form(agent)`."""
        slot = self.slot(agent)
        own = slot in OF_WORKFLOW
        return _told(self.workflow, "form", agent) if own else _told(self.domain, "form", slot, world)

    def _effect(self, state: State, agent: str, reply: str, results: tuple[ToolResult, ...]) -> Effect:
        slot = self.slot(agent)
        if slot in OF_WORKFLOW:
            return self.workflow.effect(state, agent, reply)
        return self.domain.effect(slot, self._attended(state, agent), reply, results)

    def _attended(self, state: State, agent: str) -> World:
        """The world as `agent` meets it: for an `Attentive` domain with the turn's offers that it sees; routes and
        verdicts are none."""
        attend = getattr(self.domain, "attend", None)
        if attend is None:
            return state.world
        seen = self.workflow.visible(state, agent)
        offers = (e for e in seen if e.turn == state.turn and e.agent != agent and e.slot not in OF_WORKFLOW)
        return attend(state.world, tuple(e.effect for e in offers))

    def _phi_change(self, before: World, after: World) -> float:
        return self.domain.potential(after) - self.domain.potential(before) if after != before else 0.0

    def _terms(self, slot: Slot, effect: Effect) -> RewardTerms:
        weights = (self.workflow if slot in OF_WORKFLOW else self.domain).weights(slot)
        local = {} if self.outcome_only else {name: w * effect.terms.get(name, 0.0) for name, w in weights.items()}
        malformed = self.malformed if effect.malformed else 0.0
        return RewardTerms(local=local, malformed=malformed, cost=-effect.cost if effect.cost else 0.0)


def _check(game: Game, name: str, kind: Any, least: float, most: float) -> None:
    """Raises BadValue for a field of another kind or range; nan is in none."""
    given: Any = getattr(game, name)
    if not isinstance(given, kind) or (isinstance(given, bool) and kind is not bool) or not least <= given <= most:
        number = f"a {'whole ' if kind is int else ''}number from {least:g} to {most:g}"
        told = "too large" if isinstance(given, int) and abs(given) > 1e100 else repr(given)  # Python shows no such one
        raise BadValue(f"{name} is {told}; {'True or False' if kind is bool else number} was expected.")


def _told(part: Any, name: str, *about: Any) -> str:
    """What a method that not every domain and workflow has says, on a line of its own."""
    tell = getattr(part, name, None)
    return f"\n{told}" if tell and (told := tell(*about)) else ""


def _world_after(state: State, commit: Effect | None, effects: Mapping[str, Effect]) -> World:
    """What is done, together with what lasts of the members' effects."""
    worlds = [commit.world] if commit else []
    worlds += [effect.world for effect in effects.values() if effect.lasting]
    return reduce(or_, worlds) if worlds else state.world


def _spec(part: Any) -> dict[str, JSON]:
    return {"name": part.name, **{f.name: getattr(part, f.name) for f in fields(part)}}
