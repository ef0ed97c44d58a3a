"""Does an environment score as it must? The oracle, random replies and canaries play it; the contract is tested too.

Canaries are replies that no environment may pay for: nothing, the prompt again, every option at once, noise, far too
much. What a game raises is a failed check; only a missing sandbox is not the game's fault.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import isclose
from typing import TypeAlias

from rich.table import Table

from masgym import testing
from masgym.agents.base import Agent, Reply, Request
from masgym.agents.oracle import OracleAgent
from masgym.agents.random import RandomAgent
from masgym.episodes import EpisodeRecord, plain
from masgym.errors import NoSandbox
from masgym.estimates import paired_difference
from masgym.evaluate import check_count, check_game, check_size, evaluate
from masgym.game import Game
from masgym.report import Report, summarise
from masgym.rng import keyed
from masgym.tables import Block, rich_table
from masgym.testing.play import first_tasks
from masgym.types import JSON, Task, value

BY_CHANCE = 0.05  # the largest share of tasks that a canary may solve
EMPTY, LISTED = "empty replies", "every option listed"
_HUGE = 100_000  # characters
_NUMBERS = 1000  # options that are listed where a game lists none

Played: TypeAlias = tuple[EpisodeRecord, ...]


@value
class Check:
    """One thing that must hold."""

    name: str
    passed: bool
    detail: str


@value
class Validation:
    """What was checked of a game."""

    game: str
    fingerprint: str
    tasks: int
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    def to_json(self) -> dict[str, JSON]:
        return {**plain(self), "passed": self.passed}


@value
class Canary:
    """Replies what a function makes of the request, whoever is asked."""

    says: Callable[[Request], str]

    async def act(self, request: Request) -> Reply:
        return Reply(text=self.says(request))


def options(request: Request) -> tuple[str, ...]:
    """All legal replies; where none are listed, the first whole numbers."""
    return request.game.legal(request.state, request.observation.agent) or tuple(map(str, range(_NUMBERS)))


def tagged(request: Request) -> str:
    return "".join(f"<answer>{option}</answer> \\boxed{{{option}}}\n" for option in options(request))


def noise(request: Request) -> str:
    """Characters of all planes of Unicode, marks and controls among them."""
    return "".join(chr(i) for i in keyed(*request.key).integers(0x110000, size=200))


CANARIES: Mapping[str, Canary] = {
    EMPTY: Canary(says=lambda request: ""),
    "the prompt echoed": Canary(says=lambda request: request.observation.text),
    LISTED: Canary(says=lambda request: " ".join(options(request))),
    "every option tagged": Canary(says=tagged),
    "Unicode noise": Canary(says=noise),
    "huge replies": Canary(says=lambda request: "A" * _HUGE),
}


async def validate(game: Game, *, tasks: int = 20) -> Validation:
    """Plays `tasks` test tasks with each player, and puts the game through `masgym.testing` on one.

    Raises BadValue for a game without tasks, NoSandbox where its programs cannot be isolated.
    """
    check_game(game)
    check_count("tasks", tasks, 1)
    check_size(tasks, 1)
    players: Mapping[str, Agent] = {"oracle": OracleAgent(), "random": RandomAgent(), **CANARIES}
    played: dict[str, Played | str] = {}
    for name, agent in players.items():
        played[name] = await _played(game, agent, tasks)
    again = await _played(game, RandomAgent(), tasks)
    checks = [
        *_of_oracle(game, played["oracle"]),
        *_of_random(played["random"], again, played["oracle"]),
        *(_of_canary(name, played[name], played["random"]) for name in CANARIES),
        *await _of_contract(game),
    ]
    return Validation(game=game.name, fingerprint=game.fingerprint, tasks=tasks, checks=tuple(checks))


def table(validation: Validation) -> Table:
    """For the screen."""
    rows = tuple((check.name, "yes" if check.passed else "NO", check.detail) for check in validation.checks)
    verdict = "scores as it must" if validation.passed else "does NOT score as it must"
    return rich_table(
        Block(title=f"{validation.game} {verdict}", header=("check", "holds", "what was seen"), rows=rows)
    )


async def _played(game: Game, agent: Agent, tasks: int) -> Played | str:
    """The episodes, or what the game raised."""
    try:
        return await evaluate(game, {"*": agent}, tasks=tasks, workers=tasks)
    except NoSandbox:
        raise
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _check(name: str, holds: bool, detail: str) -> Check:
    return Check(name=name, passed=holds, detail=detail)


def _of_oracle(game: Game, played: Played | str) -> list[Check]:
    most = game.alpha * (1.0 if game.outcome_only else 2.0)  # Phi from 0 to 1, and success
    if isinstance(played, str):
        return [_check("oracle: solves every task", False, played)]
    report = summarise(played)
    earned = sorted({round(record.returns, 6) for record in played})
    return [
        _check("oracle: solves every task", report.success.mean == 1, _solved(report)),
        _check("oracle: no reply is malformed", report.malformed_rate == 0, _malformed(report)),
        _check(
            f"oracle: earns {most:g}, the most there is",
            all(isclose(returns, most, abs_tol=1e-6) for returns in earned),
            f"returns from {earned[0]:g} to {earned[-1]:g}",
        ),
    ]


def _of_random(played: Played | str, again: Played | str, best: Played | str) -> list[Check]:
    if isinstance(played, str) or isinstance(best, str):
        return [_check("random: solves less than the oracle", False, played if isinstance(played, str) else str(best))]
    report, top = summarise(played), max(record.returns for record in best)
    gap = paired_difference([[r.success] for r in best], [[r.success] for r in played])
    return [
        _check(
            "random: solves less than the oracle",
            gap.low > 0,
            f"{_solved(report)}; {gap} points less, the interval has to lie above 0",
        ),
        _check(
            "random: earns no more than the oracle",
            all(record.returns <= top + 1e-6 for record in played),
            f"{max(record.returns for record in played):g} at most; the oracle {top:g}",
        ),
        _check("random: equal replies, equal episodes", played == again, "played twice"),
    ]


def _of_canary(name: str, played: Played | str, chance: Played | str) -> Check:
    """A list of all moves is a way to go as good as any: it may solve what random replies do."""
    if isinstance(played, str):
        return _check(f"canary: {name}", False, played)
    report, most = summarise(played), BY_CHANCE
    if name == LISTED and not isinstance(chance, str):
        most = max(most, summarise(chance).success.mean)
    holds = report.success.mean <= most and (name != EMPTY or report.malformed_rate == 1)
    bound = f"at most {int(most * report.episodes + 1e-9)} may be"
    wanted = ", all have to be" if name == EMPTY else ""
    detail = f"{_solved(report)}, {bound}; {_malformed(report)}{wanted}; return {report.returns:.2f}"
    return _check(f"canary: {name}", holds, detail)


async def _of_contract(game: Game) -> list[Check]:
    (task,) = first_tasks(game, 1)
    checks: dict[str, Callable[[], None]] = {
        "the weights of a slot sum to 1": partial(testing.check_weights, game),
        "every reward term varies": partial(testing.check_terms, game, replies=_TRIED),
        **{name: partial(check, game, task) for name, check in _CONTRACT.items()},
        "no replies out-earn the oracle": partial(testing.check_returns, game, task, beam=4, replies=_TRIED),
    }
    found: list[Check] = []
    for name, check in checks.items():
        await asyncio.sleep(0)  # here Ctrl-C is heard
        found.append(_contract(name, check))
    return found


def _contract(name: str, check: Callable[[], None]) -> Check:
    try:
        check()
    except NoSandbox:
        raise
    except Exception as error:  # an AssertionError says what broke; others are what the game raised
        kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
        return _check(f"contract: {name}", False, f"{kind}{error}")
    return _check(f"contract: {name}", True, "")


_TRIED: Sequence[str] = ("```python\nprint(1)\n```", "1", "<answer>1</answer>", "<search>1</search>", "\\boxed{1}")
_CONTRACT: Mapping[str, Callable[[Game, Task], None]] = {
    "equal seeds, equal episodes": testing.check_determinism,
    "nothing is changed in place": testing.check_purity,
    "prompts show the present": testing.check_observations,
    "members of a set do not see each other": testing.check_visibility,
    "no reply raises": testing.check_fuzz,
    "what is handed out is what was earned": testing.check_handed_out,
    "saved points come back": testing.check_snapshots,
    "saved points are JSON": testing.check_json,
}


def _solved(report: Report) -> str:
    return f"{round(report.success.mean * report.episodes)} of {report.episodes} tasks solved"


def _malformed(report: Report) -> str:
    return f"{100 * report.malformed_rate:.0f} % malformed"
