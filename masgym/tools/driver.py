"""Runs ToolCalls, outside of the pure game. Results go into the state, so a restored state runs nothing again."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from masgym.errors import BadValue, UnknownName
from masgym.game import Game
from masgym.tools.math_verify import math_verify
from masgym.tools.python import Python
from masgym.tools.retrieval import search
from masgym.tools.sandbox import Sandbox, backend_name
from masgym.types import JSON, Calls, Outputs, Results, State, ToolCall, ToolResult, Transition, value

Tool: TypeAlias = Callable[[JSON], ToolResult]  # arguments -> result; may block, may run in a thread
RunCalls: TypeAlias = Callable[[Calls], Awaitable[Results]]


@value
class Driver:
    """Named tools. `await driver(calls)` runs the calls in threads; `driver.run(calls)` runs them here."""

    tools: Mapping[str, Tool]

    @property
    def sandbox(self) -> str:
        """Where programs run, for reports: "bubblewrap", "unsafe", or "none" without the tool python."""
        python = self.tools.get("python")
        return python.backend if isinstance(python, Python) else "none"

    def run(self, calls: Calls) -> Results:
        return {agent: tuple(self._tool(c.tool)(c.arguments) for c in wanted) for agent, wanted in calls.items()}

    async def __call__(self, calls: Calls) -> Results:
        answers = await asyncio.gather(*(self._answers(wanted) for wanted in calls.values()))
        return dict(zip(calls, answers, strict=True))

    async def _answers(self, calls: tuple[ToolCall, ...]) -> tuple[ToolResult, ...]:
        jobs = (asyncio.to_thread(self._tool(call.tool), call.arguments) for call in calls)
        return tuple(await asyncio.gather(*jobs))

    def _tool(self, name: str) -> Tool:
        if name not in self.tools:
            raise UnknownName("tool", name, self.tools)
        return self.tools[name]


_REGISTERED: dict[str, Tool] = {}


def register_tool(name: str, tool: Tool) -> None:
    """Makes `name` known to every `default_driver`: the module of a domain does so for tools of its own.

    `tool` answers whatever the domain's `calls` hold, from any thread, and returns what went wrong as an outcome.
    Raises BadValue for a name that is taken.
    """
    if name in (*default_driver().tools, *_REGISTERED) and _REGISTERED.get(name) is not tool:
        raise BadValue(f"there is a tool {name!r} already; choose another name.")
    _REGISTERED[name] = tool


def default_driver(sandbox: Sandbox = "auto") -> Driver:
    """All tools that this installation has, and those registered.

    `sandbox` is where programs run: "unsafe" isolates nothing. Raises UnknownName for another one.
    """
    python = Python(backend=backend_name(sandbox))
    return Driver(tools={"math_verify": math_verify, "python": python, "search": search, **_REGISTERED})


def sandbox_of(run: RunCalls) -> str:
    """Where the programs that `run` is given run, for reports; "unknown" where it does not say."""
    return run.sandbox if isinstance(run, Driver) else "unknown"


async def step(
    game: Game, state: State, outputs: Outputs, run: RunCalls, known: Results = MappingProxyType({})
) -> Transition:
    """One transition: ask for calls until none is left, run them, apply. known: results that are there already."""
    results = known
    while calls := game.calls(state, outputs, results):
        results = _join(results, await run(calls))
    return game.apply(state, outputs, results)


def step_sync(game: Game, state: State, outputs: Outputs, run: Callable[[Calls], Results]) -> Transition:
    """As `step`, for callers without an event loop (the PettingZoo faces)."""
    results: Results = {}
    while calls := game.calls(state, outputs, results):
        results = _join(results, run(calls))
    return game.apply(state, outputs, results)


def _join(old: Results, new: Results) -> Results:
    return {**old, **{agent: old.get(agent, ()) + answers for agent, answers in new.items()}}
