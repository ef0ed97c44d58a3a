"""The official test suites of PettingZoo and Gymnasium, on every domain and workflow that is registered."""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import gymnasium
import pettingzoo
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
from masgym.faces import UnicodeText
from masgym.faces.catalogue import gymnasium_id, pettingzoo_id
from masgym.testing.play import first_tasks

DOMAINS, WORKFLOWS = masgym.list_domains(), masgym.list_workflows()
# of text, unavoidable: the suites expect arrays, boxes and discrete spaces
EXPECTED = ("not a NumPy array", "not NumPy array", "should be gymnasium.spaces.box")
SHORTER = {"code": {"T": 3}}  # every reply of its coder runs programs

every_game = pytest.mark.parametrize(
    ("domain", "workflow"), [(domain, workflow) for domain in DOMAINS for workflow in WORKFLOWS]
)
every_domain = pytest.mark.parametrize("domain", DOMAINS)


@pytest.fixture(autouse=True)
def no_other_warning() -> Iterator[None]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    other = [str(w.message) for w in caught if not any(words in str(w.message) for words in EXPECTED)]
    assert not other, other


def seeded(make: Callable[..., Any], domain: str, **options: Any) -> Any:
    """An environment whose action spaces are seeded, so that the suites' samples are the same in every run.

    Where replies cannot be listed the samples are those that solve the first tasks: noise would only be malformed.
    """
    env = make(domain, **SHORTER.get(domain, {}), **options)
    game, spaces = env.unwrapped.game, env.unwrapped.action_spaces
    starts = [game.initial(task) for task in first_tasks(game, 4)]
    for number, agent in enumerate(env.possible_agents):
        if not game.legal(starts[0], agent):
            solving = tuple(game.oracle(state, agent) for state in starts)
            spaces[agent] = UnicodeText(lambda solving=solving: solving)
        spaces[agent].seed(number)
    return env


def at_a_loss(make: Callable[..., Any], domain: str, **options: Any) -> Any:
    """An environment whose action spaces give noise, which solves nothing in any domain."""
    env = make(domain, workflow="solo", **options)
    for agent in env.possible_agents:
        env.unwrapped.action_spaces[agent] = UnicodeText()
        env.action_space(agent).seed(0)
    return env


@every_game
def test_api(domain: str, workflow: str, capsys: pytest.CaptureFixture[str]) -> None:
    api_test(seeded(masgym.make, domain, workflow=workflow), num_cycles=60)
    assert "Passed API test" in capsys.readouterr().out


@every_game
def test_seed(domain: str, workflow: str) -> None:
    seed_test(partial(seeded, masgym.make, domain, workflow=workflow), num_cycles=60)
    parallel_seed_test(partial(seeded, masgym.parallel_env, domain, workflow=workflow), num_cycles=60)


@every_game
def test_parallel_api(domain: str, workflow: str, capsys: pytest.CaptureFixture[str]) -> None:
    parallel_api_test(seeded(masgym.parallel_env, domain, workflow=workflow), num_cycles=60)
    assert "Passed Parallel API test" in capsys.readouterr().out


@every_game
def test_render(domain: str, workflow: str) -> None:
    render_test(partial(seeded, masgym.make, domain, workflow=workflow))


@every_game
def test_state(domain: str, workflow: str) -> None:
    options = {"workflow": workflow}
    state_test(seeded(masgym.make, domain, **options), seeded(masgym.parallel_env, domain, **options))


@every_game
def test_the_samples_are_replies_of_both_kinds(domain: str, workflow: str) -> None:
    """Else the suites would have seen nothing but malformed replies, or none."""
    env, malformed = seeded(masgym.parallel_env, domain, workflow=workflow), set[bool]()
    for seed in range(12):
        env.reset(seed=seed % 4)
        while env.agents and len(malformed) < 2:
            env.step({agent: env.action_space(agent).sample() for agent in env.agents})
        malformed |= {entry.effect.malformed for entry in env.snapshot().state.memory}
    assert malformed == {True, False}


@every_domain
def test_max_cycles(domain: str) -> None:
    """Of solo only: the suite presumes one parallel step per turn of the busiest agent. Of replies that solve nothing:
    it presumes that a game goes on to its last turn."""
    max_cycles_test(
        SimpleNamespace(
            env=partial(at_a_loss, masgym.make, domain), parallel_env=partial(at_a_loss, masgym.parallel_env, domain)
        )
    )


@every_domain
def test_gymnasium(domain: str) -> None:
    check_env(gymnasium.make(gymnasium_id(domain), **SHORTER.get(domain, {})).unwrapped)


@every_game
def test_pettingzoo_makes_an_equal_game(domain: str, workflow: str) -> None:
    for kind in ("aec", "parallel"):
        made = pettingzoo.make(kind, pettingzoo_id(domain), workflow=workflow)
        assert made.unwrapped.game == masgym.game(domain, workflow)
