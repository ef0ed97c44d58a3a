"""How an evaluation ends: connections closed, what stopped it or was lost, and how it goes on."""

import argparse
import asyncio
import shlex
import sys
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

from masgym.agents.base import Agent
from masgym.cli.progress import Progress
from masgym.cli.screen import shown
from masgym.errors import MasgymError, Stopped
from masgym.outages import lost_of
from masgym.runs import RunReport


async def close(agents: Sequence[Agent]) -> None:
    """Connections of those that have some."""
    for agent in {id(agent): agent for agent in agents}.values():
        if ending := getattr(agent, "aclose", None):
            await ending()


@contextmanager
def resumable(arguments: argparse.Namespace, progress: Progress) -> Generator[None]:
    """What stops a run that has begun says how it goes on."""
    try:
        yield
    except (KeyboardInterrupt, Stopped):
        raise KeyboardInterrupt(way_on(arguments)) from None
    except asyncio.CancelledError as error:  # Ctrl-C is none: only who is played with has got at all tasks
        raise MasgymError(f"an agent cancelled the evaluation. {way_on(arguments)}") from error
    except RuntimeError as error:
        if "Event loop stopped" not in str(error):
            raise
        raise MasgymError(f"an agent stopped the event loop. {way_on(arguments)}") from error
    except MasgymError as error:
        if not progress.begun:
            raise
        raise MasgymError(f"{error} {way_on(arguments)}") from error


def way_on(arguments: argparse.Namespace) -> str:
    """How an interrupted run goes on."""
    if not arguments.out:
        return "Nothing is kept; a run with --out DIR can be resumed."
    return f"What was over is kept; go on with: {_resuming(arguments)}"


def way_again(arguments: argparse.Namespace) -> str:
    """How lost episodes are played again."""
    if not arguments.out:
        return "Nothing is kept; in a run with --out DIR, --resume plays them again."
    return f"--resume plays them again: {_resuming(arguments)}"


def _resuming(arguments: argparse.Namespace) -> str:
    return shlex.join(["masgym", *(word for word in arguments.words if word != "--resume"), "--resume"])


def status_of(outs: Sequence[RunReport], arguments: argparse.Namespace) -> int:
    """Says on one line of standard error what was lost, and how it is played again. 1 where no episode could be played
    to its end."""
    episodes, failures, lost = sum(out.report.episodes for out in outs), Counter[str](), Counter[str]()
    for out in outs:
        failures.update(out.report.failures)
        lost.update(lost_of(out.run, out.records))
    again = way_again(arguments)
    if failures.total() == episodes:
        more = f" {lost.total()} of {episodes} were lost to the endpoint. {again}" if lost and arguments.out else ""
        line = f"no episode could be played to its end: {_counted(failures)}. {mend(failures)}{more}"
        print(f"masgym: {shown(line)}", file=sys.stderr)
        return 1
    if lost:
        line = f"{lost.total()} of {episodes} episodes were lost to the endpoint: {_counted(lost)}. {again}"
        print(f"masgym: {shown(line)}", file=sys.stderr)
    return 0


def _counted(failures: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(failures.items()))


def mend(failures: Mapping[str, int]) -> str:
    """What to do about the most frequent failure."""
    worst = max(failures, key=lambda name: failures[name])
    return {
        "connection": "Is a server at --base-url?",
        "timeout": "Give --timeout more seconds, or --workers fewer episodes.",
        "rate_limited": "Lower --concurrency, or raise --retries.",
        "unauthorized": "Set the environment variable OPENAI_API_KEY.",
        "not_found": "Check the model's name and --base-url.",
        "bad_response": "What --base-url answers is no chat completion.",
        "bad_request": "What the server said of it stands in the run folder (--out): `masgym view` shows it.",
        "server_error": "What the server said of it stands in the run folder (--out): `masgym view` shows it.",
        "context_overflow": "Lower --max-tokens, or take --style compact.",
    }.get(worst, "What the agent asks answers so; look at it first.")
