"""`masgym show ENV`: one task, and what each role is told about it: rules, grammar, and an optimal reply."""

import argparse
from dataclasses import replace
from typing import Any

from masgym.cli.arguments import add_game, add_json, command, game_of
from masgym.cli.screen import print_json, printing_only, shown
from masgym.errors import BadValue
from masgym.game import Game, turns
from masgym.tasks import SPLITS
from masgym.tools.driver import default_driver, step_sync
from masgym.types import JSON, State, Task

STYLES = ("full", "compact")


def add(commands: Any) -> None:
    about = "show a task of an environment, and each role's prompts in both styles"
    parser = command(commands, "show", about, "masgym show sudoku --workflow verify --level hard --task 3", run)
    add_game(parser)
    add_task(parser)
    add_json(parser)


def add_task(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--task", type=int, default=0, metavar="N", help="which task of the split (default: 0)")
    parser.add_argument("--split", choices=SPLITS, default="test", help="(default: test)")


def run(arguments: argparse.Namespace) -> int:
    with printing_only(result=arguments.json):
        game = game_of(arguments)
        task = game.domain.tasks.get(arguments.split, arguments.task)
        found = description(game, task, (arguments.style,) if arguments.style else STYLES)
    if arguments.json:
        print_json(found)
        return 0
    print(f"{found['game']}, task {task.id}, level {task.level}", end="")
    print("" if task.optimum is None else f", solved in {task.optimum} at best")
    print(f"agents: {', '.join(game.agents)}; at most {turns(game.T)}")
    for agent, told in found["agents"].items():
        for style, prompt in told["prompts"].items():
            print(f"\n--- {agent} ({told['slot']}), {style} style ---\n{shown(prompt)}")
        print(f"\n--- {agent}: an optimal reply ---\n{shown(told['oracle'] or '(not known)')}")
    return 0


def description(game: Game, task: Task, styles: tuple[str, ...]) -> dict[str, JSON]:
    """What `--json` prints. Each agent is shown the state in which it first speaks when all play optimally."""
    states = first_states(game, task)
    return {
        "game": game.name,
        "task": {"id": task.id, "level": task.level, "optimum": task.optimum},
        "T": game.T,
        "agents": {agent: _agent(game, states.get(agent, game.initial(task)), agent, styles) for agent in game.agents},
    }


def first_states(game: Game, task: Task) -> dict[str, State]:
    """agent -> the first state that it is asked in; who is never asked is left out."""
    state, found, run = game.initial(task), dict[str, State](), default_driver().run
    while len(found) < len(game.agents) and (members := game.active(state)):
        found = {**dict.fromkeys(members, state), **found}
        replies = {agent: oracle_of(game, state, agent) for agent in members}
        state = step_sync(game, state, {agent: reply or "" for agent, reply in replies.items()}, run).state
    return found


def oracle_of(game: Game, state: State, agent: str) -> str | None:
    """An optimal reply; None where the environment knows none (those of others)."""
    try:
        return game.oracle(state, agent)
    except BadValue:
        return None


def _agent(game: Game, state: State, agent: str, styles: tuple[str, ...]) -> dict[str, JSON]:
    prompts = {style: replace(game, style=style).observe(state, agent).text for style in styles}
    return {
        "slot": game.slot(agent),
        "prompts": prompts,
        "legal": list(game.legal(state, agent)),
        "oracle": oracle_of(game, state, agent),
    }
