"""routed: a router chooses who speaks; they do so at once, then the aggregator acts (SRPO's adaptive mode, arXiv
2609.08452, section 4). Members that were not chosen are not asked.

route  := text with exactly one <route>chosen</route> | chosen | digits
chosen := STOP | number ("," number)*      (STOP in either case; each number once)
digits := the numbers without commas, a bare reply's short form: each is a single digit

STOP lets the aggregator act at once; the game ends after it. A malformed route is penalised and loses the turn: it
never means STOP.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

from masgym.errors import BadValue
from masgym.game import MOST_REWARD
from masgym.rng import keyed
from masgym.tags import Malformed, inside
from masgym.types import Effect, Entry, Slot, State, value
from masgym.workflows.team import AGGREGATOR, Team, follow, undone

ROUTER, STOP = "router_0", "STOP"


@value
class Routed(Team):
    """{route}, {the chosen of draft or tool x n}, {judge} where asked, {act}"""

    route_cost: float = 0.0  # what each chosen member costs, in reward units

    def __post_init__(self) -> None:
        """Raises BadValue for a team or a cost that cannot be."""
        Team.__post_init__(self)
        cost: Any = self.route_cost
        if not isinstance(cost, int | float) or isinstance(cost, bool) or not 0 <= cost <= MOST_REWARD:
            raise BadValue(f"route_cost is {cost!r}; a number from 0 to {MOST_REWARD:g} was expected.")

    @property
    def name(self) -> str:
        return "routed"

    @property
    def agents(self) -> tuple[str, ...]:
        return (ROUTER, *self.members, *(agent for event in self.closing for agent in event))

    def slot(self, agent: str) -> Slot:
        return "route" if agent == ROUTER else Team.slot(self, agent)

    def active(self, state: State) -> tuple[str, ...]:
        if state.phase == 1:
            return tuple(self.members[int(number)] for number in _route(state))
        return (ROUTER,) if state.phase == 0 else self.closing[state.phase - 2]

    def visible(self, state: State, agent: str) -> tuple[Entry, ...]:
        """As in every team. Where nothing was done in the last turn the router is shown all of that turn, and so is an
        aggregator whom STOP left without proposals of this one."""
        last = tuple(entry for entry in state.memory if entry.turn == state.turn - 1)
        if undone(last) and (agent == ROUTER or (agent == AGGREGATOR and _route(state) == STOP)):
            return (*last, *(entry for entry in state.memory if entry.turn == state.turn))
        return Team.visible(self, state, agent)

    def brief(self, agent: str, titles: Mapping[str, str]) -> str:
        if agent != ROUTER:
            return f"{self.told(agent, titles)} A router chooses who speaks in a turn."
        numbered = ", ".join(f"{i} {a} ({titles[self.slot(a)]})" for i, a in enumerate(self.members))
        cost = f" Each one costs {self.route_cost:g}." if self.route_cost else ""
        return (
            "You are the router of a team: choose whom to ask in this turn. They speak at the same time, then the "
            f"aggregator ({titles['act']}) sees what they said and acts.{self.told_of_verifier} The members: "
            f"{numbered}.{cost}\n"
            f"Reply with their numbers, for example {self._example}, or with "
            "<route>STOP</route>: then nobody is asked, the aggregator acts at once, and that ends the game. You may "
            "think first; there must be exactly one <route>."
        )

    def effect(self, state: State, agent: str, reply: str) -> Effect:
        if agent != ROUTER:
            return Team.effect(self, state, agent, reply)
        route = parse_route(reply, self.n)
        if isinstance(route, Malformed):
            return Effect(world=state.world, terms={"format": 0.0}, note=route.reason, malformed=True)
        chosen = () if route == STOP else [self.members[int(number)] for number in route]
        return Effect(
            world=state.world,
            terms={"format": 1.0},
            note=", ".join(chosen) or STOP,
            brief=route,
            cost=self.route_cost * len(chosen),
        )

    def form(self, agent: str) -> str:
        return f"Reply like {self._example}." if agent == ROUTER else Team.form(self, agent)

    def weights(self, slot: Slot) -> Mapping[str, float]:
        return {"format": 1.0} if slot == "route" else Team.weights(self, slot)

    def legal(self, state: State, agent: str) -> tuple[str, ...]:
        """Every subset, and STOP."""
        return (*self._subsets(), STOP) if agent == ROUTER else Team.legal(self, state, agent)

    def oracle(self, state: State, agent: str) -> str:
        """STOP where a solution was proposed and not acted on. Else any subset is as good, if there is a draft in it
        for the verifier, and one member the cheapest: which one is drawn, so that demonstrations show them all."""
        if agent != ROUTER:
            return Team.oracle(self, state, agent)
        last = tuple(entry for entry in state.memory if entry.turn == state.turn - 1)
        if undone(last) and any(e.effect.right and e.effect.done for e in last if e.slot in ("draft", "tool")):
            return STOP
        drafts = "".join(str(i) for i, member in enumerate(self.members) if self.slot(member) == "draft")
        good = [s for s in self._subsets() if not self.verifier or set(s) & set(drafts)]
        good = [s for s in good if len(s) == 1] if self.route_cost else good
        return good[int(keyed("route", state.task.id, state.turn).integers(len(good)))]

    def advance(self, state: State, effects: Mapping[str, Effect], last_turn: bool) -> tuple[Effect | None, int | None]:
        if ROUTER in effects:
            route = effects[ROUTER]
            return None, (None if route.malformed else 1 + len(self.closing) if route.brief == STOP else 1)
        if AGGREGATOR in effects and _route(state) == STOP:
            acted = effects[AGGREGATOR]
            return replace(acted, world=state.world if acted.malformed else acted.world, done=True), None
        return follow(effects, state.phase, last_turn)

    @property
    def _example(self) -> str:
        return f"<route>{','.join('012'[: min(2, self.n)])}</route>"

    def _subsets(self) -> tuple[str, ...]:
        """In the short form."""
        numbers = [str(number) for number in range(self.n)]
        return tuple("".join(some) for size in range(1, self.n + 1) for some in combinations(numbers, size))


def parse_route(reply: str, n: int) -> str | Malformed:
    """STOP, or the numbers in order as digits ("02"), or why it is neither."""
    text = inside(reply, "route")
    if isinstance(text, Malformed):
        return text
    if text.upper() == STOP:
        return STOP
    short = text.isascii() and text.isdigit() and "<route>" not in reply
    numbers = list(text) if short else [part.strip(" ") for part in text.split(",")]
    known = [str(number) for number in range(n)]
    if not all(number in known for number in numbers):
        return Malformed(reason=f"the route is neither {STOP} nor numbers from 0 to {n - 1}")
    if len(set(numbers)) < len(numbers):
        return Malformed(reason="the route names a member twice")
    return "".join(sorted(numbers))


def _route(state: State) -> str:
    """This turn's, as `parse_route` gives it; "" before there is one."""
    routes = [e.effect.brief for e in state.memory if e.turn == state.turn and e.slot == "route"]
    return routes[-1] if routes else ""
