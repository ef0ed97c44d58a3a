"""What every domain, level and workflow has to show: its oracle solves every task, random replies hardly any.

By default on 10 tasks each; `pytest -m slow -s tests/masgym/test_domains_shown.py` plays 500, or all of a smaller set,
and prints what was measured.
"""

import asyncio

import numpy as np
import pytest

import masgym
from masgym.agents.base import Agent, Reply, Request
from masgym.agents.oracle import OracleAgent
from masgym.agents.random import RandomAgent
from masgym.episodes import EpisodeRecord
from masgym.evaluate import evaluate
from masgym.game import Game
from masgym.report import Report, summarise
from masgym.rng import keyed
from masgym.tasks import SPLITS
from masgym.types import World

LEVELS = [(domain, level) for domain in masgym.list_domains() for level in masgym.list_levels(domain)]
FEW, MANY = 10, 500

every_level = pytest.mark.parametrize(("domain", "level"), LEVELS)
few_or_many = pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])


class Guesser:
    """Well-formed replies drawn without thought, for the domains whose legal replies cannot be listed."""

    async def act(self, request: Request) -> Reply:
        draw = {"code": guessed_program, "search": guessed_words}[request.game.domain.name]
        return Reply(text=draw(request.state.world, keyed(*request.key)))


def guessed_program(world: World, rng: np.random.Generator) -> str:
    names = world.problem.parameters or ("0",)
    leaves = (*names, *names, "0", "1", "2", "True", "''", "[]")
    one, other = (leaves[i] for i in rng.integers(len(leaves), size=2))
    forms = (one, f"{one}+{other}", f"{one}*{other}", f"{one}-{other}", f"len({one})", f"{one}=={other}", f"max({one})")
    expression = forms[rng.integers(len(forms))]
    return expression if world.problem.form == "function" else f"```python\nprint({expression})\n```"


def guessed_words(world: World, rng: np.random.Generator) -> str:
    """Three in four are searches; both are of one or two words of what is shown."""
    shown = [*world.question.text.split(), *(word for passage in world.passages for word in str(passage).split())]
    words = " ".join(shown[i] for i in rng.integers(len(shown), size=rng.integers(1, 3)))
    tag = "search" if rng.random() < 0.75 else "answer"
    return f"<{tag}>{words}</{tag}>"


def played(game: Game, agent: Agent, count: int) -> Report:
    """On test tasks; where they are fewer than `count`, on those of the other splits as well."""
    records: tuple[EpisodeRecord, ...] = ()
    for split in reversed(SPLITS):
        records += asyncio.run(evaluate(game, {"*": agent}, tasks=count - len(records), split=split))
    return summarise(records)


def say(game: Game, level: str, agent: Agent, report: Report) -> None:
    print(f"\n{game.name:18} {level:8} {type(agent).__name__:12} {report.tasks:4} tasks  {report.success}", end="")


@few_or_many
@pytest.mark.parametrize("workflow", masgym.list_workflows())
@every_level
def test_the_oracle_solves_every_task(domain: str, level: str, workflow: str, count: int) -> None:
    game = masgym.game(domain, workflow, level=level)
    report = played(game, OracleAgent(), count)
    say(game, level, OracleAgent(), report)
    sizes = [game.domain.tasks.size(split) for split in SPLITS]
    assert report.tasks == (count if None in sizes else min(count, sum(sizes)))
    assert (report.success.mean, report.malformed_rate) == (1, 0)


@few_or_many
@pytest.mark.parametrize("workflow", ["solo", "pair"])
@every_level
def test_random_replies_solve_less_than_one_in_twenty(domain: str, level: str, workflow: str, count: int) -> None:
    """On few tasks: no more than chance lets such a player solve, in fewer turns where each of them runs programs."""
    game = masgym.game(domain, workflow, level=level, T=2 if (domain, count) == ("code", FEW) else 8)
    for agent in (RandomAgent(), *([Guesser()] if domain in ("code", "search") else [])):
        report = played(game, agent, count)
        say(game, level, agent, report)
        assert (report.success.low if count == FEW else report.success.mean) < 0.05
