"""`human`: a person at the terminal. A reply is a line; one that begins with ``` goes on to the next ```, one that
ends in a backslash goes on in the next line."""

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from masgym.agents.base import Reply, Request
from masgym.agents.names import Options
from masgym.errors import Stopped
from masgym.tags import printable


class HumanAgent:
    """Shows what the agent is shown and reads the reply. Raises Stopped on Ctrl-C and at the end of the input."""

    async def act(self, request: Request) -> Reply:
        seen = request.observation
        print(f"\n--- {seen.agent} is asked ({request.state.task.id}) ---\n{printable(seen.text, keep=chr(10))}")
        try:
            with _interruptible():
                return Reply(text=read_reply(f"{seen.agent}> "))
        except KeyboardInterrupt:  # in a task it would leave the others behind
            raise Stopped("the person who plays has stopped.") from None


def read_reply(prompt: str, line: Callable[[str], str] | None = None) -> str:
    """One reply, of one line or more. Raises KeyboardInterrupt at the end of the input."""
    ask = line or input
    try:
        lines = [ask(prompt)]
        while _goes_on(lines):
            lines.append(ask("... "))
    except EOFError:
        raise KeyboardInterrupt from None
    fenced = lines[0].lstrip().startswith("```")
    return "\n".join(text if fenced else text.removesuffix("\\") for text in lines)


def _goes_on(lines: list[str]) -> bool:
    if lines[0].lstrip().startswith("```"):
        return "\n".join(lines).count("```") < 2
    return lines[-1].endswith("\\")


@contextmanager
def _interruptible() -> Generator[None]:
    """Ctrl-C stops `input`: the handler of asyncio's runner would wait for it instead."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def make(argument: str, options: Options) -> HumanAgent:
    """See `masgym.agents.names`."""
    return HumanAgent()
