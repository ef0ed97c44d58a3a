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
import importlib
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from inspect import isawaitable, iscoroutinefunction
from pathlib import Path
from threading import Thread
from typing import Any

from masgym.agents.base import Reply, Request
from masgym.agents.names import Options
from masgym.errors import BadValue, MasgymError, UnknownName


class PythonAgent:
    """Asks `theirs.act(observation)`. What it raises is a BadValue that names the place: a program's fault."""

    def __init__(self, theirs: Any, name: str, timeout: float) -> None:
        if not callable(getattr(theirs, "act", None)):
            raise BadValue(f"{name} has no method act(observation); it is {theirs!r}.")
        self._act, self._name, self._timeout = theirs.act, name, timeout

    async def act(self, request: Request) -> Reply:
        limit = asyncio.timeout(self._timeout)
        try:
            async with limit:
                answer = await self._asked(request)
        except MasgymError:
            raise
        except (Exception, SystemExit, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) and _is_stopping():
                raise
            if isinstance(error, TimeoutError) and limit.expired():
                return Reply(text="", failure="timeout")
            raise BadValue(f"{self._name} raised {_told(error)}.") from error
        if isinstance(answer, Reply):
            return answer
        if not isinstance(answer, str):
            raise BadValue(f"{self._name}.act gave {type(answer).__name__}; a text was expected, or a Reply.")
        return Reply(text=answer)

    async def _asked(self, request: Request) -> Any:
        if iscoroutinefunction(self._act):
            return await self._act(request.observation)
        answer = await _in_thread(lambda: self._act(request.observation))
        return await answer if isawaitable(answer) else answer


def _is_stopping() -> bool:
    """Whether it is us who cancel; their program may do so inside of itself."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


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
    found = _import(module)
    if not hasattr(found, attribute):
        raise UnknownName(f"class of {module}", attribute, (name for name in vars(found) if not name.startswith("_")))
    theirs = getattr(found, attribute)
    try:
        return PythonAgent(theirs() if isinstance(theirs, type) else theirs, argument, options.timeout)
    except MasgymError:
        raise
    except (Exception, SystemExit) as error:
        raise BadValue(f"{argument}() raised {_told(error)}; it is made without arguments.") from error


def _import(module: str) -> Any:
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        return importlib.import_module(module)
    except (Exception, SystemExit) as error:  # a module is a program
        raise BadValue(
            f"the module {module!r} cannot be imported: {_told(error)}. Looked for in {here} and sys.path."
        ) from error
    finally:
        sys.path.remove(here)


def _told(error: BaseException) -> str:
    """What and where, in one line."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if not frame.filename.startswith("<frozen")]
    place = f" ({Path(theirs[-1].filename).name}, line {theirs[-1].lineno})" if theirs else ""
    return " ".join(f"{type(error).__name__}: {error}{place}".split())
