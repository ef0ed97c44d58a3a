"""`python:module:Class`: anyone's class, or an object of a module. A whole team of another framework fits behind its
one method, which may be `async` or not:

    class Mine:
        def act(self, observation):              # masgym.Observation: agent, slot, messages, text
            return "<answer>U R</answer>"        # or a masgym.agents.base.Reply, with token counts or a named failure

There is one object for all episodes, which are played at the same time: it must keep nothing from call to call.
A method that is not `async` is called in threads, a new one for each call. A reply that does not come within
`--timeout` seconds is the named failure "timeout"; a thread that hangs is left alone.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from inspect import isawaitable, iscoroutinefunction
from threading import Thread
from typing import Any

from masgym.agents.base import Reply, Request
from masgym.agents.names import Options
from masgym.errors import BadValue, MasgymError, UnknownName
from masgym.theirs import import_theirs, told


class PythonAgent:
    """Asks `theirs.act(observation)`. What it raises is a BadValue that names the place: a program's fault."""

    def __init__(self, theirs: Any, name: str, timeout: float) -> None:
        if not callable(getattr(theirs, "act", None)):
            raise BadValue(f"{name} has no method act(observation); it is of type {type(theirs).__name__}.")
        self._act, self._name, self._timeout = theirs.act, name, timeout

    async def act(self, request: Request) -> Reply:
        try:
            async with asyncio.timeout(self._timeout):
                answer, error = await _alone(lambda: self._asked(request))
        except TimeoutError:
            return Reply(text="", failure="timeout")
        if isinstance(error, MasgymError):
            raise error
        if error is not None or answer is None:
            raise BadValue(f"{self._name} raised {told(error)}.") from error
        return answer

    async def _asked(self, request: Request) -> Reply:
        if iscoroutinefunction(self._act):
            answer = await self._act(request.observation)
        else:
            answer = await _in_thread(lambda: self._act(request.observation))
            if not isinstance(answer, str | Reply) and isawaitable(answer):
                answer = await answer
        if isinstance(answer, str):
            return Reply(text=str.__str__(answer))
        if not isinstance(answer, Reply):
            raise BadValue(f"{self._name}.act gave {type(answer).__name__}; a text was expected, or a Reply.")
        return _exact(answer, self._name)


async def _alone(theirs: Callable[[], Coroutine[Any, Any, Reply]]) -> tuple[Reply | None, BaseException | None]:
    """What it returns, and what it raises, in a task of its own: it may cancel that, and nothing it raises gets out."""

    async def kept() -> tuple[Reply | None, BaseException | None]:
        try:
            return await theirs(), None
        except BaseException as error:
            return None, error

    task = asyncio.ensure_future(kept())
    try:
        await asyncio.wait({task})
    finally:
        task.cancel()
    return (None, asyncio.CancelledError()) if task.cancelled() else task.result()


def _exact(reply: Reply, name: str) -> Reply:
    """The same of Python's own types: the methods of a subclass are a program's."""
    found: dict[str, Any] = {}
    exact: dict[type, Callable[[Any], Any]] = {str: str.__str__, int: int.__int__, bool: bool}
    for part, kind in (("text", str), ("failure", str), ("tokens", int), ("prompt_tokens", int), ("cut", bool)):
        given: Any = getattr(reply, part)
        if not issubclass(type(given), kind) or (type(given) is bool and kind is not bool):
            raise BadValue(f"{name} gave a Reply whose {part} is {type(given).__name__}; {kind.__name__} was expected.")
        found[part] = exact[kind](given)
    return Reply(**found)


async def _in_thread(call: Callable[[], Any]) -> Any:
    """What `call` returns or raises. As asyncio.to_thread, but nobody waits for a thread that hangs: neither Ctrl-C nor
    the end of the process."""
    loop = asyncio.get_running_loop()
    over: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

    def settle(answer: Any, error: BaseException | None) -> None:
        if not over.done():
            over.set_result((answer, error))

    def run() -> None:
        answer, error = None, None
        try:
            answer = call()
        except BaseException as raised:
            error = raised
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, answer, error)

    Thread(target=run, daemon=True).start()
    answer, error = await over
    if error is not None:
        raise error
    return answer


def make(argument: str, options: Options) -> PythonAgent:
    """See `masgym.agents.names`. `argument` is "module:Class"; the module may lie in the working directory."""
    module, _, attribute = argument.partition(":")
    if not module or not attribute:
        raise BadValue(f"'python:{argument}' is no agent; write python:module:Class.")
    found = import_theirs(module)
    try:
        if not hasattr(found, attribute):
            public = (name for name in vars(found) if not name.startswith("_"))
            raise UnknownName(f"class of {module}", attribute, public)
        theirs = getattr(found, attribute)
        return PythonAgent(theirs() if isinstance(theirs, type) else theirs, argument, options.timeout)
    except (MasgymError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise BadValue(f"{argument}() raised {told(error)}; it is made without arguments.") from error
