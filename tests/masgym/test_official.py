"""The official test suites of PettingZoo and Gymnasium, on every domain and workflow."""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import (
    api_test,
    max_cycles_test,
    parallel_api_test,
    parallel_seed_test,
    render_test,
    seed_test,
    state_test,
)

import masgym

DOMAINS = ("sokoban", "plan_path", "sudoku")
GAMES = [(domain, workflow) for domain in DOMAINS for workflow in ("solo", "pair", "verify")]
# of text, unavoidable: the suites expect arrays, boxes and discrete spaces
EXPECTED = ("not a NumPy array", "not NumPy array", "should be gymnasium.spaces.box")


@pytest.fixture(autouse=True)
def no_other_warning() -> Iterator[None]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    other = [str(w.message) for w in caught if not any(words in str(w.message) for words in EXPECTED)]
    assert not other, other


def seeded(make: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """An environment whose action spaces are seeded, so that the suites' samples are the same in every run."""
    env = make(*arguments, **options)
    for number, agent in enumerate(env.possible_agents):
        env.action_space(agent).seed(number)
    return env


@pytest.mark.parametrize(("domain", "workflow"), GAMES)
def test_api(domain: str, workflow: str, capsys: pytest.CaptureFixture[str]) -> None:
    api_test(seeded(masgym.make, domain, workflow=workflow), num_cycles=60)
    assert "Passed API test" in capsys.readouterr().out


@pytest.mark.parametrize(("domain", "workflow"), GAMES)
def test_seed(domain: str, workflow: str) -> None:
    seed_test(partial(masgym.make, domain, workflow=workflow), num_cycles=60)
    parallel_seed_test(partial(masgym.parallel_env, domain, workflow=workflow), num_cycles=60)


@pytest.mark.parametrize(("domain", "workflow"), GAMES)
def test_parallel_api(domain: str, workflow: str, capsys: pytest.CaptureFixture[str]) -> None:
    parallel_api_test(seeded(masgym.parallel_env, domain, workflow=workflow), num_cycles=60)
    assert "Passed Parallel API test" in capsys.readouterr().out


@pytest.mark.parametrize(("domain", "workflow"), GAMES)
def test_render(domain: str, workflow: str) -> None:
    render_test(partial(seeded, masgym.make, domain, workflow=workflow))


@pytest.mark.parametrize(("domain", "workflow"), GAMES)
def test_state(domain: str, workflow: str) -> None:
    options = {"workflow": workflow}
    state_test(seeded(masgym.make, domain, **options), seeded(masgym.parallel_env, domain, **options))


@pytest.mark.parametrize("domain", DOMAINS)
def test_max_cycles(domain: str) -> None:
    """Of solo only: the suite presumes one parallel step per turn of the busiest agent."""
    options = {"workflow": "solo", "moves_per_turn": 4}
    max_cycles_test(
        SimpleNamespace(
            env=partial(seeded, masgym.make, domain, **options),
            parallel_env=partial(seeded, masgym.parallel_env, domain, **options),
        )
    )


@pytest.mark.parametrize("name", ["Sokoban", "PlanPath", "Sudoku"])
def test_gymnasium(name: str) -> None:
    check_env(gymnasium.make(f"masgym/{name}-v0").unwrapped)
