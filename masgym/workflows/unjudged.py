"""What workflows share that have no slot of their own to parse."""

from collections.abc import Mapping
from typing import NoReturn

from masgym.errors import BadValue
from masgym.types import Effect, Slot, State


class Unjudged:
    """The judge's and the router's part of a Workflow, for one without them: asking for it is a BadValue."""

    __slots__ = ()

    def effect(self, state: State, agent: str, reply: str) -> Effect:
        self._refuse()

    def weights(self, slot: Slot) -> Mapping[str, float]:
        self._refuse()

    def legal(self, state: State, agent: str) -> tuple[str, ...]:
        self._refuse()

    def oracle(self, state: State, agent: str) -> str:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise BadValue(f"{type(self).__name__.lower()} has no judge and no route slot.")
