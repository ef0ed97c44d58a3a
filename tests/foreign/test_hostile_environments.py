"""Environments of others that do as they like: one line, status 2, or episodes whose replies they refuse."""

import json

import pytest

from masgym.cli import main

MODULE = """
from gymnasium import spaces

class Base:
    possible_agents = agents = ["a", "b"]

    def observation_space(self, agent):
        return spaces.Text(1000)

    action_space = observation_space

    def reset(self, seed=None, options=None):
        self.agents, self.steps = ["a", "b"], 0
        return dict.fromkeys(self.agents, "see"), dict.fromkeys(self.agents, {})

    def step(self, actions):
        self.steps += 1
        return self.shown(self.steps > 1)

    def shown(self, over, text="see", reward=1.0, info=None):
        parts = (text, reward, over, False, info or {})
        shown = tuple(dict.fromkeys(self.agents, part) for part in parts)
        self.agents = [] if over else self.agents
        return shown

    def close(self):
        pass

def made(**own):
    return type("Made", (Base,), own)

def raising(error):
    def method(self, *given, **more):
        raise error
    return method

def showing(**parts):
    return made(step=lambda self, actions: self.shown(True, **parts))

class Says:
    def act(self, observation):
        return "x"

good = made()
no_agents, a_number, twice, none = (made(possible_agents=found) for found in ([], [0], ["a", "a"], None))
errors = KeyError("a\\nb"), SystemExit(0), GeneratorExit()
reset_raises, reset_leaves, reset_ends = (made(reset=raising(error)) for error in errors)
step_raises, step_leaves = (made(step=raising(e)) for e in (KeyError("a"), SystemExit(0)))
close_raises = made(close=raising(OSError("busy")))
reset_shows_nothing, step_shows_nothing = made(reset=lambda self, seed: None), made(step=lambda self, actions: None)
nobody = made(reset=lambda self, seed: ({"a": "see"}, {"a": {"active": False}, "b": {"active": False}}))
nan, endless, text = (showing(reward=reward) for reward in (float("nan"), float("inf"), "much"))
odd_text, no_text = showing(text="\\ud800\\x1b[2J"), showing(text=None)
odd_info = showing(info={"success": "no", "legal": [None]})
"""
TOLD = {  # name -> what the one line says
    **dict.fromkeys(("no_agents", "a_number", "twice"), "names were expected, each once"),
    **dict.fromkeys(("none", "close_raises"), "cannot be made"),
    **dict.fromkeys(("reset_raises", "reset_leaves", "reset_ends", "reset_shows_nothing"), "cannot begin with seed"),
    "nobody": "there is nothing to play",
    "nan": "gave a rewards that sum to nan; a finite sum was expected",
    "endless": "gave a rewards that sum to inf",
}
PLAYED = ("good", "step_raises", "step_leaves", "step_shows_nothing", "text", "odd_text", "no_text", "odd_info")


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "hostile_env.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)


def played(capsys, name):
    words = ["--agent", "python:hostile_env:Says", "--tasks", "2", "--turns", "4", "--json", "--out", name]
    status = main(["eval", f"pettingzoo:hostile_env:{name}", *words])
    return status, *capsys.readouterr()


@pytest.mark.parametrize("name", TOLD)
def test_what_cannot_be_played_is_told(here, capsys, name):
    status, out, err = played(capsys, name)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert TOLD[name] in err


@pytest.mark.parametrize("name", PLAYED)
def test_what_can_be_played_is_reported_and_shown(here, capsys, name):
    status, out, err = played(capsys, name)
    report = json.loads(out)
    assert (status, err, report["episodes"], report["failures"]) == (0, "", 2, {})
    assert (report["malformed_rate"] > 0) == (name.startswith("step_") or name == "text")
    assert main(["view", name]) == 0
