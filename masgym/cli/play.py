"""`masgym play ENV`: a person plays one role or all; the others are played by agents by name."""

import argparse
import asyncio
from collections.abc import Mapping
from typing import Any

from masgym.agents.base import Agent, Request
from masgym.agents.human import read_reply
from masgym.cli.arguments import add_agents, add_game, command, game_of, options_of, team_of
from masgym.cli.ending import close
from masgym.cli.screen import shown
from masgym.cli.show import add_task, oracle_of
from masgym.errors import BadValue, Stopped, UnknownName
from masgym.evaluate import assign
from masgym.faces import RawAEC
from masgym.game import Game, role_of, turns
from masgym.snapshot import Snapshot
from masgym.types import Transition

HELP = """\
/hint    what the solver would reply now
/legal   short legal replies
/undo    back to before your last reply
/prompt  all that you are told, rules too
/quit    leave
Anything else is your reply: one that begins with ``` goes on to the next ```, one that ends in \\ in the next line."""
EXAMPLE = """\
masgym play sokoban --workflow solo --level easy
masgym play sudoku --workflow pair --role actor --agent oracle
masgym play search --workflow verify --role verifier --agent solver=openai:qwen3 --base-url http://localhost:8000/v1"""


def add(commands: Any) -> None:
    parser = command(commands, "play", "play in the terminal, with undo and hints", EXAMPLE, run)
    add_game(parser)
    add_task(parser)
    parser.add_argument("--role", metavar="ROLE", help="the role or agent that you are (default: all of them)")
    add_agents(parser, default="oracle")


def run(arguments: argparse.Namespace) -> int:
    options_of(arguments)  # a number out of range is told at once
    game = game_of(arguments)
    mine = members_of(game, arguments.role)
    others: Mapping[str, Agent] = {}
    if len(mine) < len(game.agents):
        arguments.agent = arguments.agent or ["oracle"]
        others = team_of(arguments)
        game = game_of(arguments, others)
        others = {
            a: agent for a, agent in assign(game, {**others, **dict.fromkeys(mine, _Nobody())}).items() if a not in mine
        }
    elif arguments.agent:
        raise BadValue("you play all roles; say which one is yours with --role, and --agent plays the others.")
    env = RawAEC(game)
    env.reset(options={"task": arguments.task, "split": arguments.split})
    with asyncio.Runner() as runner:
        try:
            Session(env, mine, others, runner).play()
        except Stopped:
            print()
        finally:
            runner.run(close(list(others.values())))
    return 0


def members_of(game: Game, role: str | None) -> tuple[str, ...]:
    """The agents of a role, one agent by its id, or all. Raises UnknownName."""
    if role is None:
        return game.agents
    found = tuple(agent for agent in game.agents if role in (agent, role_of(agent)))
    if not found:
        raise UnknownName("role or agent", role, (*game.roles, *game.agents))
    return found


class _Nobody:
    """Stands for the person where agents are assigned."""

    async def act(self, request: Request) -> Any: ...


class Session:
    """One game at the terminal. Undo restores the snapshot that was taken before the person's last reply."""

    def __init__(self, env: RawAEC, mine: tuple[str, ...], others: Mapping[str, Agent], runner: asyncio.Runner) -> None:
        self._env, self._game, self._mine, self._others, self._runner = env, env.game, mine, others, runner
        self._points: list[tuple[Snapshot, float]] = []  # before each reply of the person, with what was earned by then
        self._earned = 0.0
        self._briefed: set[str] = set()

    def play(self) -> None:
        state = self._env.now.state
        print(f"{self._game.name}, task {state.task.id}, level {state.task.level}. /help says what you can do.")
        while self._turn():
            pass

    def _turn(self) -> bool:
        """One agent's reply, or one command; False when it is time to leave."""
        agent, over = self._env.agent_selection, bool(self._env.now.state.ended)
        if not over and agent not in self._mine:
            self._step(agent, self._asked(agent))
            return True
        if over:
            self._print_end()
        else:
            self._print_prompt(agent)
        while True:
            try:
                said = read_reply("over; /undo or leave> " if over else f"{agent}> ")
            except KeyboardInterrupt:
                print()
                return False
            if said.strip() == "/undo" and self._points:
                self._undo()
                return True
            if said.strip() == "/quit" or over:
                return False
            if not said.lstrip().startswith("/"):
                self._points.append((self._env.snapshot(), self._earned))
                self._step(agent, said)
                return True
            self._command(agent, said.strip())

    def _undo(self) -> None:
        point, self._earned = self._points.pop()
        self._env.restore(point)
        print("back to before your last reply")

    def _command(self, agent: str, said: str) -> None:
        state = self._env.now.state
        if said == "/hint":
            print(shown(oracle_of(self._game, state, agent) or "this environment knows no solution"))
        elif said == "/legal":
            print(shown("  ".join(self._game.legal(state, agent)) or "they cannot be listed"))
        elif said == "/prompt":
            print(shown(self._game.observe(state, agent).text))
        elif said == "/undo":
            print("there is no reply of yours to take back")
        else:
            print(HELP)

    def _asked(self, agent: str) -> str:
        """What the agent replies. Raises BadValue for one that gives no reply."""
        now = self._env.now
        key = ("play", now.state.task.id, len(now.state.log), agent)
        request = Request(game=self._game, state=now.state, observation=self._game.observe(now.state, agent), key=key)
        reply = self._runner.run(_awaited(self._others[agent], request))
        if reply.failure:
            raise BadValue(f"{agent} gave no reply: {reply.failure}.")
        print(f"\n{agent} replies:\n{_quoted(reply.text)}")
        return reply.text

    def _step(self, agent: str, said: str) -> None:
        before = self._env.now.state
        self._env.step(said)
        done = self._env.now.transition
        if done is not None and self._env.now.state is not before:
            self._earned += done.gain + done.penalty
            print("\n".join(judged(done)))

    def _print_prompt(self, agent: str) -> None:
        """All of it the first time, then what is new."""
        seen = self._game.observe(self._env.now.state, agent)
        print(f"\n{shown(seen.text if agent not in self._briefed else seen.messages[-1].content)}")
        self._briefed.add(agent)

    def _print_end(self) -> None:
        state = self._env.now.state
        print(f"\n{shown(self._game.domain.render(state.world, 'full'))}")
        how = "solved" if state.success else "not solved"
        print(f"{how} in {state.turn} of {turns(self._game.T)}; return {self._earned:g}")


async def _awaited(agent: Agent, request: Request) -> Any:
    return await agent.act(request)


def judged(done: Transition) -> list[str]:
    """What each reply amounted to, and what it earned."""
    lines: list[str] = []
    for agent, effect in done.effects.items():
        own = done.rewards[agent]
        terms = {**own.local, **({"malformed": own.malformed} if own.malformed else {})}
        earned = ", ".join(f"{name} {term:.2g}" for name, term in terms.items())
        lines.append(f"{agent}{' was malformed' if effect.malformed else ''}: {_first(effect.note)} [{earned}]")
    return lines


def _first(note: str) -> str:
    """One line of it."""
    lines = shown(note).strip().splitlines()
    return lines[0] + (" ..." if len(lines) > 1 else "") if lines else "-"


def _quoted(text: str) -> str:
    return "\n".join(f"  | {line}" for line in shown(text).splitlines() or [""])
