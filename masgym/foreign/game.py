"""Somebody else's environment as a Game, so that the one evaluator plays it: agents see its text, reply, and are paid.

It has no saved points. A state here is a seed and the replies so far; the running environment stands at the latest such
state only, and going on from an earlier one replays its replies in a fresh environment. That holds for environments
that repeat themselves from their seed; of others, earlier states are refused (BadValue).

Departures from a Game of ours: an agent's reward is the environment's own; there is no potential and no oracle; success
is what the environment says in infos["success"], else a return of at least 1, both of the agent `player`; the last
transition names every agent in `effects` and `rewards`, with its return of the episode.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import NoReturn

from masgym.errors import BadValue, UnknownName
from masgym.foreign.domain import NOTE, ForeignDomain, World
from masgym.game import Game
from masgym.tags import printable
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
    Transition,
    value,
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
        effects |= {a: replace(effects[a], malformed=True, note=printable(faults[a][:NOTE])) for a in faults}
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
