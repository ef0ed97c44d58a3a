"""Agents by name, as the command line gives them, and teams of them.

    random | oracle | human | scripted:FILE | openai:MODEL[@URL] | hf:PATH | python:module:Class

Each kind is one file, imported when it is asked for, since some need optional packages.
"""

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any

from masgym.agents.base import Agent
from masgym.errors import BadValue, UnknownName
from masgym.types import value


@value
class Options:
    """What agents that ask a model need to know; the others ignore it. None: the model's or the server's own."""

    base_url: str | None = None  # of an OpenAI-compatible endpoint
    temperature: float | None = None
    max_tokens: int | None = None  # of one reply
    timeout: float = 120.0  # seconds for one try, and for a reply of `python:`
    retries: int = 4  # tries after the first one
    concurrency: int = 64  # requests open at once

    def __post_init__(self) -> None:
        """Raises BadValue for what no request can have, and for a URL with a secret: run folders keep it."""
        if self.base_url and re.search("[@?#]", self.base_url):
            raise BadValue(
                "the base URL has a user, a password or a query, which the run folder would keep. Give the key in the "
                "environment variable OPENAI_API_KEY, and the URL without it, as http://HOST:PORT/v1."
            )
        for name, least, most in (
            ("temperature", 0, 100),
            ("max_tokens", 1, inf),
            ("timeout", 1e-3, inf),
            ("retries", 0, 100),
            ("concurrency", 1, inf),
        ):
            given: Any = getattr(self, name)
            if given is not None and not least <= given <= most:
                raise BadValue(f"{name} is {given}; a number from {least} to {most} was expected.")


KINDS: Mapping[str, tuple[str, str]] = {  # kind -> how it is written, who makes one from (argument, Options)
    "random": ("random", "masgym.agents.random:make"),
    "oracle": ("oracle", "masgym.agents.oracle:make"),
    "human": ("human", "masgym.agents.human:make"),
    "scripted": ("scripted:FILE", "masgym.agents.scripted:make"),
    "openai": ("openai:MODEL[@URL]", "masgym.agents.openai:make"),
    "hf": ("hf:PATH", "mastrain.hf_agent:make"),
    "python": ("python:module:Class", "masgym.agents.python:make"),
}
_NO_SCHEME = r"(.+?)@([^@/]*(?::\d{1,5}(?:/.*)?|/v\d.*))"  # MODEL@HOST:PORT/v1; a model's own "@" has no such end
_EXTRAS = {"openai": "openai", "hf": "train"}  # kind -> the extra that brings what it needs


def forms() -> tuple[str, ...]:
    """How each kind is written."""
    return tuple(form for form, _ in KINDS.values())


def make_agent(name: str, options: Options | None = None) -> Agent:
    """The agent of that name. Raises UnknownName, BadValue and BadFile."""
    kind, argument, url = parts_of(name)
    if kind not in KINDS:
        raise UnknownName("agent", name, forms())
    form = KINDS[kind][0]
    if (":" in form) != bool(argument.strip()) or (":" in name and not argument.strip()):
        raise BadValue(f"{name!r} is no agent; write {form}.")
    if kind == "openai" and not url and (found := re.fullmatch(_NO_SCHEME, argument)):
        raise BadValue(f"{name!r} is no agent: the URL lacks its scheme; write openai:{found[1]}@http://{found[2]}.")
    given = options or Options()
    return _maker(kind)(argument, replace(given, base_url=url) if url else given)


def parts_of(name: str) -> tuple[str, str, str | None]:
    """ "openai:MODEL@URL" -> ("openai", "MODEL", "URL"); "hf:PATH" -> ("hf", "PATH", None); "random" -> ("random", "",
    None)."""
    kind, _, argument = name.partition(":")
    found = re.fullmatch(r"(.*?)@([a-zA-Z][\w+.-]*://.*)", argument, re.DOTALL) if kind == "openai" else None
    return (kind, found[1], found[2]) if found else (kind, argument, None)


def make_team(names: Sequence[str], options: Options | None = None) -> dict[str, Agent]:
    """ "NAME" for everybody ("*"), "ROLE=NAME" or "AGENT_ID=NAME" for some. Equal names share one agent.

    Raises BadValue for a role that is given twice.
    """
    chosen = by_role(names)
    made = {name: make_agent(name, options) for name in dict.fromkeys(chosen.values())}
    return {who: made[name] for who, name in chosen.items()}


def by_role(names: Sequence[str]) -> dict[str, str]:
    """As `make_team`, without making them."""
    chosen: dict[str, str] = {}
    for written in names:
        who, name = split_role(written)
        if who in chosen:
            raise BadValue(f"two agents for {who!r}: {chosen[who]!r} and {name!r}; give one for each role.")
        chosen[who] = name
    return chosen


def split_role(written: str) -> tuple[str, str]:
    """ "tool=openai:a" -> ("tool", "openai:a"); "random" -> ("*", "random")."""
    found = re.fullmatch(r"(?:(\*|\w+)=)?(.*)", written, re.DOTALL)
    return (found[1] or "*", found[2]) if found else ("*", written)


def _maker(kind: str) -> Callable[[str, Options], Agent]:
    module, _, attribute = KINDS[kind][1].partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ImportError as error:
        if kind not in _EXTRAS:
            raise
        raise BadValue(
            f"agents of kind {kind!r} need {error.name or error}, which is not installed: "
            f'pip install "masgym[{_EXTRAS[kind]}]"'
        ) from error
