"""The engine's protocol, and batching: prompts that wait are sampled together, across episodes and roles.

Coroutines await only `sample` and tools. `run` drives an event loop that tells the engine when nothing else can
move: then, and only then, the engine samples all that waits, sorted by key. So the order in which coroutines
happen to run changes nothing.
"""

import asyncio
import gc
import selectors
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from masgym.rng import Key, digest
from masgym.types import value
from mastrain.types import Completion, Prompt, Sampling

T = TypeVar("T")


class SamplingFailed(RuntimeError):
    """A request that did not give all its completions. `outcome` is its name ("timeout", "context overflow", ...): a
    failure is counted and never trained on.

    `sampled`: what there is of each of the completions (None = missing); () when there is none.
    """

    def __init__(self, outcome: str, sampled: "tuple[Completion | None, ...]" = ()) -> None:
        super().__init__(outcome)
        self.outcome, self.sampled = outcome, sampled


@value
class Request:
    """`n` completions of one prompt. The draws of completion c are keyed by (*key, agent, c)."""

    policy: str
    prompt: Prompt
    n: int
    key: Key
    sampling: Sampling


class Engine(Protocol):
    """Samples for every policy it was given."""

    async def sample(self, request: Request) -> tuple[Completion, ...]:
        """Raises SamplingFailed."""
        ...

    def idle(self) -> bool:
        """Called when no coroutine can run; True when it did something that lets one run."""
        ...

    def logps(self, policy: str, prompt: Prompt, completion: Completion, temperature: float) -> tuple[float, ...]:
        """The engine's own log-probs of `completion.ids` after `prompt`: the probe after a weight sync."""
        ...

    def sync(self, policy: str, version: int) -> None:
        """The policy's weights have changed: from now on samples come from `version`."""
        ...


class BatchingEngine:
    """Collects requests until the loop is idle, then hands them to `generate` as one sorted batch."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Request, asyncio.Future[tuple[Completion, ...]]]] = []

    def generate(self, requests: Sequence[Request]) -> Sequence[tuple[Completion, ...] | SamplingFailed]:
        """One answer per request. Subclasses define it."""
        raise NotImplementedError

    async def sample(self, request: Request) -> tuple[Completion, ...]:
        future: asyncio.Future[tuple[Completion, ...]] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        return await future

    def idle(self) -> bool:
        if not self._waiting:
            return False
        batch = sorted(self._waiting, key=lambda item: (digest(item[0].key), item[0].policy, item[0].prompt.agent))
        self._waiting = []
        for (_, future), answer in zip(batch, self.generate([request for request, _ in batch]), strict=True):
            if future.cancelled():
                continue
            if isinstance(answer, SamplingFailed):
                future.set_exception(answer)
            else:
                future.set_result(answer)
        return True


class _IdleSelector(selectors.DefaultSelector):
    """asyncio asks its selector to wait (timeout is not 0) exactly when no coroutine is runnable."""

    def __init__(self, on_idle: Callable[[], bool]) -> None:
        super().__init__()
        self._on_idle = on_idle

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout != 0 and self._on_idle():
            timeout = 0
        return super().select(timeout)


def run(main: Coroutine[Any, Any, T], engine: Engine, outstanding: Callable[[], int] = lambda: 0) -> T:
    """`asyncio.run(main)` with `engine.idle` called whenever nothing can run and no tool call is outstanding.

    The cyclic garbage collector rests meanwhile: it would walk the same thousands of live candidates again and again.
    """

    def on_idle() -> bool:
        return outstanding() == 0 and engine.idle()

    with (
        _garbage_collector_resting(),
        asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(_IdleSelector(on_idle))) as runner,
    ):
        return runner.run(main)


@contextmanager
def _garbage_collector_resting() -> Generator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
