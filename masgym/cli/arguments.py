"""Arguments that several commands have: the parser whose errors are one line, and from words to a game and a team."""

import argparse
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from masgym.agents.base import Agent
from masgym.agents.names import Options, forms, make_team
from masgym.cli.screen import one_line
from masgym.errors import BadValue
from masgym.game import Game, Workflow
from masgym.registry import game as make_game
from masgym.registry import list_workflows, make_workflow
from masgym.types import JSON

ENV = "sokoban or another name of `masgym list`, also as masgym/sokoban_v0; reasoning_gym/NAME; pettingzoo:MODULE; \
textarena:GAME"


OWN: Mapping[str, str] = {  # what a game is made of -> the argument that says it
    **{"name": "ENV", "workflow": "--workflow", "T": "--turns", "max_cycles": "--turns"},
    **{"style": "--style", "level": "--level", "tasks": "--task-file"},
}
THEIRS = frozenset(("max_cycles", "level", "tasks"))  # of these, what may be a foreign environment's own


class Parser(argparse.ArgumentParser):
    """argparse, with one line for an error, no abbreviations, and an example below the help."""

    def __init__(self, *, example: str, **given: Any) -> None:
        text = "examples:\n" + "\n".join(f"  {line}" for line in example.splitlines())
        style = argparse.RawDescriptionHelpFormatter
        super().__init__(epilog=text, formatter_class=style, allow_abbrev=False, **given)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {one_line(message)}. See {self.prog} --help\n")


def command(
    commands: Any, name: str, about: str, example: str, run: Callable[[argparse.Namespace], int]
) -> argparse.ArgumentParser:
    """A subcommand's parser."""
    made = commands.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}.", example=example)
    made.set_defaults(run=run)
    return made


def path(text: str) -> str:
    """The type of an argument that names a file or a folder."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty (an unset variable?); a path was expected")
    return text


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def add_game(parser: argparse.ArgumentParser, env: str | None = "ENV") -> None:
    """ENV and what a game is made of."""
    if env:
        parser.add_argument("env", metavar=env, help=ENV)
    parser.add_argument(
        "--workflow",
        metavar="W",
        help=f"who speaks when: {', '.join(list_workflows())}, with arguments as in 'name(n=3)'",
    )
    parser.add_argument(
        "--level", metavar="L", help="difficulty, as `masgym list` names them (default: the domain's own)"
    )
    parser.add_argument("--turns", type=int, metavar="T", help="the most turns of an episode (default: 8)")
    parser.add_argument(
        "--style", choices=("full", "compact"), help="of prompts (default: what the agents learned, else full)"
    )
    parser.add_argument(
        "--task-file", metavar="FILE", type=path, help="play the tasks of a file, such as `masgym import` writes"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a field of the domain or the environment; repeatable",
    )


def add_agents(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """--agent and what agents that ask a model need."""
    known, own = Options(), "(default: the server's own; hf: {})"
    parser.add_argument(
        "--agent",
        action="append",
        required=default is None,
        metavar="[ROLE=]A",
        help=f"who plays: {', '.join(forms())}; with ROLE= only that role or agent; repeatable"
        + (f" (default: {default})" if default else ""),
    )
    models = parser.add_argument_group("agents that ask a model")
    models.add_argument(
        "--base-url", metavar="URL", help="an OpenAI-compatible endpoint, such as http://localhost:8000/v1"
    )
    models.add_argument("--temperature", type=float, metavar="X", help=f"of sampling {own.format(1)}")
    models.add_argument("--max-tokens", type=int, metavar="N", help=f"of one reply {own.format(512)}")
    for name, metavar, what in (
        ("timeout", "SECONDS", "for one try of a request, and for one reply of python:"),
        ("retries", "N", "tries after a failed one"),
        ("concurrency", "N", "requests open at once to an endpoint"),
    ):
        default_of = getattr(known, name)
        models.add_argument(
            f"--{name}",
            type=type(default_of),
            default=default_of,
            metavar=metavar,
            help=f"{what} (default: {default_of:g})",
        )


def options_of(arguments: argparse.Namespace) -> Options:
    names: Sequence[str] = Options.__slots__  # type: ignore[attr-defined]
    return Options(**{name: getattr(arguments, name) for name in names})


def settings_of(arguments: argparse.Namespace) -> dict[str, JSON]:
    """What `run.json` has to say beyond game and agents: what changes the replies."""
    options = options_of(arguments)
    found = {name: getattr(options, name) for name in ("base_url", "temperature", "max_tokens")}
    return {name: given for name, given in found.items() if given is not None}


def team_of(arguments: argparse.Namespace) -> dict[str, Agent]:
    return make_team(arguments.agent, options_of(arguments))


def game_of(arguments: argparse.Namespace, agents: Mapping[str, Agent] | None = None) -> Game:
    """The game that the arguments name, in the style that the agents learned where no other is asked for."""
    fields = parse_settings(arguments.set)
    named = {"T": arguments.turns, "level": arguments.level, "tasks": arguments.task_file}
    given = {name: found for name, found in named.items() if found is not None}
    free = THEIRS - set(given) if ":" in arguments.env else set[str]()
    if taken := [name for name in fields if name in OWN and name not in free]:
        raise BadValue(f"--set {taken[0]}: {OWN[taken[0]]} says that; --set gives what has no argument of its own.")
    fields |= given
    fields["style"] = arguments.style or learned(agents or {})
    return resolve(arguments.env, None if arguments.workflow is None else workflow_of(arguments.workflow), fields)


def resolve(env: str, workflow: Workflow | None, fields: Mapping[str, JSON]) -> Game:
    """ENV -> what is played: the one place that knows how environments are written.

    Raises UnknownName for an environment that does not exist, BadValue for fields that it cannot have.
    """
    given: dict[str, Any] = dict(fields)
    if ":" in env:  # what others made
        from masgym.foreign import resolve as resolve_foreign

        return resolve_foreign(env, workflow, **given)
    return make_game(env, workflow or "pair", **given)


def workflow_of(text: str) -> Workflow:
    """'pair', or with arguments 'ensemble(n=3, schedule=[[tool_0], [worker_0]])'. Raises BadValue and UnknownName."""
    found = re.fullmatch(r"\s*(\w+)\s*(?:\((.*)\))?\s*", text)
    if not found:
        raise BadValue(f"{text!r} is no workflow; write NAME or 'NAME(argument=value, ...)'.")
    given = parse_settings(re.split(r",(?=\s*\w+\s*=)", found[2]) if found[2] else [])
    if "name" in given:
        raise BadValue(f"{text!r}: 'name' is no argument of a workflow; its name comes first, as in {found[1]}(...).")
    return make_workflow(found[1], **given)


def parse_settings(words: Sequence[str]) -> dict[str, JSON]:
    """NAME=VALUE each; a value that is JSON is read as such, in a list also without quotes; any other is a text.

    Raises BadValue, also for a name that is given twice.
    """
    found: dict[str, JSON] = {}
    for word in words:
        name, equals, text = map(str.strip, word.partition("="))
        if not equals or not name.isidentifier():
            raise BadValue(f"{word!r} is no setting; NAME=VALUE was expected.")
        if name in found:
            raise BadValue(f"{name} is given twice, as {found[name]!r} and in {word!r}; give it once.")
        found[name] = _value(text)
    return found


def _value(text: str) -> JSON:
    quoted = re.sub(r"(?<=[\[,])\s*([A-Za-z_]\w*)\s*(?=[\],])", r'"\1"', text)  # [[tool_0], [worker_0]]
    for read in (text, quoted):
        with suppress(ValueError, RecursionError):
            return json.loads(read)
    return text


def learned(agents: Mapping[str, Agent]) -> str:
    """The style of prompts that models were trained on. Raises BadValue where two differ."""
    styles = {style for agent in agents.values() if (style := getattr(agent, "style", None))}
    if len(styles) > 1:
        raise BadValue("the agents were trained on prompts of different styles; say --style full or --style compact.")
    return styles.pop() if styles else "full"
