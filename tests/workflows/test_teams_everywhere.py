"""Teams of every kind in all six domains: their oracle solves every task, random replies hardly any.

By default on a few tasks; `pytest -m slow tests/workflows` plays 500 of each (100 at random, where it runs programs).
"""

import asyncio

import pytest

import masgym
from masgym.agents.base import Reply, Request
from masgym.agents.random import RandomAgent
from masgym.evaluate import evaluate
from masgym.game import OF_WORKFLOW, Game
from masgym.report import summarise
from masgym.tools.driver import default_driver, step
from masgym.types import State, Task
from masgym.workflows.ensemble import Ensemble
from masgym.workflows.routed import Routed

TEAMS = {
    "verified": Ensemble(n=3, tools=1, verifier=True),
    "drafts": Ensemble(n=5, tools=0),
    "tools": Ensemble(n=2, tools=2),
    "mixed": Ensemble(n=3, tools=1, verifier=True, schedule=[["tool_0"], ["worker_0", "worker_1"]]),
    "divided": Ensemble(n=3, tools=1, schedule=[["tool_0"], ["worker_0"], ["worker_1"]]),
    "routed": Routed(n=5, tools=2, verifier=True),
    "routed tools": Routed(n=3, tools=3),
}
FEW, MANY = 3, 500

every_team = pytest.mark.parametrize("team", TEAMS)
every_domain = pytest.mark.parametrize("domain", masgym.list_domains()[:6])
few_or_many = pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])


def tasks_of(game: Game, count: int) -> list[Task]:
    size = game.domain.tasks.size("train")
    return [game.domain.tasks.get("train", i) for i in range(count if size is None else min(count, size))]


async def solved(game: Game, task: Task) -> State:
    """The end of what the oracle plays; no reply of its own is malformed. What is known of its programs is not run."""
    state = game.initial(task)
    while members := game.active(state):
        outputs = {agent: game.oracle(state, agent) for agent in members}
        done = await step(game, state, outputs, default_driver(), game.foreseen(state, outputs))
        assert not any(effect.malformed for effect in done.effects.values())
        state = done.state
    return state


@few_or_many
@every_team
@every_domain
def test_the_oracle_solves_every_task(domain: str, team: str, count: int) -> None:
    game = masgym.game(domain, TEAMS[team])
    for task in tasks_of(game, count):
        assert asyncio.run(solved(game, task)).success, task.id


class Guesser:
    """Replies without a search for what is right: random ones, or where none can be listed something well-formed."""

    async def act(self, request: Request) -> Reply:
        game, slot = request.game, request.observation.slot
        if slot in OF_WORKFLOW or game.legal(request.state, request.observation.agent):
            return await RandomAgent().act(request)
        return Reply(text={"code": "0", "search": "=nobody"}[game.domain.name])


@few_or_many
@pytest.mark.parametrize("team", ["verified", "routed"])
@every_domain
def test_random_replies_solve_less_than_one_in_twenty(domain: str, team: str, count: int) -> None:
    """On few tasks: no more than chance lets such a player solve. Sokoban's own settings are easier than any level."""
    level = "easy" if domain == "sokoban" else None
    game = masgym.game(domain, TEAMS[team], level=level, T=2 if domain == "code" else 8)
    tasks = min(count, 100) if domain == "code" else max(count, 10)
    report = summarise(asyncio.run(evaluate(game, {"*": Guesser()}, tasks=tasks)))
    assert (report.success.low if count == FEW else report.success.mean) < 0.05
