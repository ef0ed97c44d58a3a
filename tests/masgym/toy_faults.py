"""Lines (toy.py) with one planted fault each, named after it: what the contract test has to find."""

import os
from collections.abc import Mapping
from dataclasses import replace
from itertools import count

import numpy as np
from toy import Line

from masgym.tasks import Instance, Procedural
from masgym.types import Effect, value
from masgym.workflows.pair import Pair

calls = count()


class GlobalDice(Line):
    """Moves by numpy's global generator."""

    def effect(self, slot, world, reply, results) -> Effect:
        return replace(super().effect(slot, world, reply, results), note=str(np.random.random()))


class GlobalTasks(Line):
    """Draws its tasks from numpy's global generator."""

    @property
    def tasks(self) -> Procedural:
        def generate(rng: np.random.Generator) -> Instance:
            return super(GlobalTasks, self)._generate(np.random.default_rng(np.random.randint(2**31)))

        return Procedural(domain="line", params={}, generate=generate)


class HiddenState(Line):
    """What a reply does depends on how many came before, anywhere."""

    def effect(self, slot, world, reply, results) -> Effect:
        return replace(super().effect(slot, world, reply, results), note=f"call {next(calls)}")


class Cells(list):
    """A world that can be changed in place."""

    def __hash__(self) -> int:
        return 0


class ChangesInPlace(Line):
    """Moves the world that it was given."""

    def initial(self, task) -> Cells:
        return Cells(super().initial(task))

    def effect(self, slot, world, reply, results) -> Effect:
        made = super().effect(slot, tuple(world), reply, results)
        world[1] = made.world[1]
        return replace(made, world=Cells(made.world))


class ShowsTheStart(Line):
    """Every prompt shows where the walker began."""

    def render(self, world, style) -> str:
        return super().render((world[0], world[0], world[2]), style)


@value
class Deaf(Pair):
    """The actor does not hear the tool."""

    def visible(self, state, agent):
        return ()


class BreaksOnDigits(Line):
    """Takes what `isdigit` calls a number."""

    def effect(self, slot, world, reply, results) -> Effect:
        return super().effect(slot, world, "+" * int(reply) if reply.isdigit() else reply, results)


class EmptyIsFine(Line):
    """Saying nothing is no mistake."""

    def effect(self, slot, world, reply, results) -> Effect:
        made = super().effect(slot, world, reply, results)
        return made if reply.strip() else replace(made, malformed=False)


class Parrot(Line):
    """Keeps raw replies in shared memory."""

    def effect(self, slot, world, reply, results) -> Effect:
        return replace(super().effect(slot, world, reply, results), note=reply)


class TermOutOfRange(Line):
    def effect(self, slot, world, reply, results) -> Effect:
        made = super().effect(slot, world, reply, results)
        return replace(made, terms={**made.terms, "best": 3.0})


class NineTenths(Line):
    def weights(self, slot) -> Mapping[str, float]:
        return {"format": 0.1, "legal": 0.1, "best": 0.7}


class Negative(Line):
    def weights(self, slot) -> Mapping[str, float]:
        return {"format": -0.1, "legal": 0.3, "best": 0.8}


class TermNeverSet(Line):
    """`legal` has a weight, but no effect ever sets it (fault 9 of the list in the documentation)."""

    def effect(self, slot, world, reply, results) -> Effect:
        made = super().effect(slot, world, reply, results)
        return replace(made, terms={k: v for k, v in made.terms.items() if k != "legal"})


class TermWithoutWeight(Line):
    def effect(self, slot, world, reply, results) -> Effect:
        made = super().effect(slot, world, reply, results)
        return replace(made, terms={**made.terms, "legl": made.terms["legal"]})


class Slow(Line):
    """An oracle that would need more turns than there are."""

    def oracle(self, world, slot) -> str:
        return "+-" if world[1] > world[0] else "+"


class Mute(Line):
    """An oracle that says nothing once it was led astray."""

    def oracle(self, world, slot) -> str:
        return super().oracle(world, slot) if world[1] >= world[0] else ""


class HeadStart(Line):
    """The potential does not begin at 0."""

    def potential(self, world) -> float:
        return world[1] / world[2]


class BetterThanTheGoal(Line):
    """The last cell before the goal is worth more than the goal."""

    def potential(self, world) -> float:
        return 3.0 if world[1] == world[2] - 1 != world[0] else super().potential(world)


class TupleInContent(Line):
    """Content that JSON does not keep."""

    def _generate(self, rng) -> Instance:
        made = super()._generate(rng)
        return replace(made, content={**made.content, "pair": (1, 2)})


class KnowsItsProcess(Line):
    def effect(self, slot, world, reply, results) -> Effect:
        return replace(super().effect(slot, world, reply, results), note=f"process {os.getpid()}")


class MagicWord(Line):
    """A word that is worth more than the goal, and that no check makes up."""

    def effect(self, slot, world, reply, results) -> Effect:
        made = super().effect(slot, world, reply, results)
        return replace(made, world=(0, 9, 1), malformed=False) if reply == "xyzzy" else made
