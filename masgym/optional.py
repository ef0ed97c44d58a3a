"""What a domain may tell besides (`masgym.game.Domain`): `Game` asks for it where it is there."""

from typing import Protocol

from masgym.game import Domain
from masgym.types import Effect, Slot, ToolResult, World


class Attentive(Domain, Protocol):
    """A domain that judges a reply by what teammates offered in the same turn (math: an answer; code: tests)."""

    def attend(self, world: World, offers: tuple[Effect, ...]) -> World:
        """`world` with `offers` in it, for `calls` and `effect`: what the speaker's teammates, as far as it sees
        them, have committed to shared memory in this turn, malformed ones too. Pure."""
        ...

    def told_of_offers(self, slot: Slot) -> str:
        """What `brief` has to add of that where there are teammates; "" for nothing. May be left out."""
        ...


class Reminding(Domain, Protocol):
    """A domain that says once more what a reply looks like, to whoever's last one was malformed."""

    def form(self, slot: Slot, world: World) -> str:
        """One short sentence, for the full style: "Reply like <answer>U R</answer>."."""
        ...


class Charted(Domain, Protocol):
    """A domain that can tell how far a world is from solved; its tasks carry an optimum."""

    def remaining(self, world: World) -> int | None:
        """Fewest moves that solve the task from here; None when none do any more (Sokoban: a dead position)."""
        ...


class Foreseeing(Domain, Protocol):
    """A domain that knows of some right replies what their tools answer (code: the reference passes)."""

    def foresee(self, slot: Slot, world: World, reply: str) -> tuple[ToolResult, ...]:
        """What `calls` would come to; () where only running them tells."""
        ...
