"""One game, event by event, as text: who spoke, what it was shown, what it replied, what that earned.

python -m masgym.transcript sokoban --workflow pair --seed 3 --agent oracle
"""

import argparse
import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import NoReturn

from masgym.agents.base import Agent, Request
from masgym.agents.oracle import OracleAgent
from masgym.agents.random import RandomAgent
from masgym.errors import MasgymError
from masgym.faces import RawAEC
from masgym.game import Game, turns
from masgym.registry import game, list_domains, list_workflows
from masgym.tools.driver import default_driver, step_sync
from masgym.types import Outputs, State, Transition

AGENTS: Mapping[str, type[Agent]] = {"oracle": OracleAgent, "random": RandomAgent}


def transcript(game: Game, seed: int, agent: Agent) -> Iterator[str]:
    """The lines of the game in which `agent` is everybody. `seed` chooses the task as it does for `reset`."""
    env, run, earned = RawAEC(game), default_driver().run, 0.0
    env.reset(seed=seed)
    state = env.now.state
    yield f"{game.name}, task {state.task.id}, {state.task.level}"
    while members := game.active(state):
        outputs = {member: _reply(game, state, member, agent, seed) for member in members}
        done = step_sync(game, state, outputs, run)
        yield from _event(game, state, outputs, done)
        state, earned = done.state, earned + done.gain + done.penalty
    yield ""
    yield f"{'solved' if state.success else 'not solved'} in {state.turn} of {turns(game.T)}; return {_number(earned)}"


def _reply(game: Game, state: State, member: str, agent: Agent, seed: int) -> str:
    key = ("transcript", seed, len(state.log), member)
    request = Request(game=game, state=state, observation=game.observe(state, member), key=key)
    return asyncio.run(agent.act(request)).text


def _event(game: Game, state: State, outputs: Outputs, done: Transition) -> Iterator[str]:
    for member, reply in outputs.items():
        yield from ("", f"turn {state.turn + 1}: {member} is shown", *_quoted(game.observe(state, member).text))
        yield from ("and replies", *_quoted(reply), f"which earns {_earned(done, member)}")


def _quoted(text: str) -> Iterator[str]:
    """A bar before every line: what is quoted cannot pass for a line of the transcript."""
    return (f"  | {line}".rstrip() for line in text.splitlines() or [""])


def _earned(done: Transition, member: str) -> str:
    """Its own weighted terms; then what is the team's: the published form, and the return form."""
    own = done.rewards[member]
    costs = {"malformed": own.malformed, "cost": own.cost}
    terms = {**own.local, **{name: cost for name, cost in costs.items() if cost}}
    listed = ", ".join(f"{name} {_number(term)}" for name, term in terms.items())
    return f"{listed}; team {_number(done.team)}; gain {_number(done.gain)}"


def _number(earned: float) -> str:
    return f"{round(earned, 2) + 0.0:g}"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {' '.join(message.split())}\n")


def main(words: Sequence[str] | None = None) -> None:
    """Prints a transcript. What cannot be played is one line on standard error, and exit status 2."""
    parser = _Parser(prog="python -m masgym.transcript", description="Plays one game and prints it, event by event.")
    parser.add_argument("domain", help=f"one of {', '.join(list_domains())}")
    parser.add_argument("--workflow", default="pair", help=f"one of {', '.join(list_workflows())} (default: pair)")
    parser.add_argument("--level", help="as the domain names it (default: the domain's own settings)")
    parser.add_argument("--seed", type=int, default=0, help="which task (default: 0)")
    parser.add_argument("--agent", choices=AGENTS, default="oracle", help="who plays everybody (default: oracle)")
    parser.add_argument("--style", choices=("full", "compact"), default="compact", help="of prompts (default: compact)")
    asked = parser.parse_args(words)
    try:
        made = game(asked.domain, asked.workflow, level=asked.level, style=asked.style)
        print("\n".join(transcript(made, asked.seed, AGENTS[asked.agent]())))
    except MasgymError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
