"""Arguments that nobody would give in earnest, and modules that do as they like: one line, status 2, nothing else."""

import json
import subprocess
import sys

import pytest
from commands import as_json, run

NEVER = """
import sys
print("imported")

class Env:
    possible_agents = ["a"]
    def observation_space(self, agent):
        raise {0}
    action_space = observation_space

def env():
    print("made")
    return Env()

def parallel_env():
    return Env()

def exits():
    sys.exit(0)
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The working folder, which is not on the path that modules are found on."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(capsys, *words):
    status, out, err = run(capsys, *words)
    assert (status, out, err.count("\n")) == (2, "", 1), (status, out, err)
    assert err.startswith("masgym")
    assert len(err) < 3300
    return err


@pytest.mark.parametrize(
    "what", ["", ".x", "..", "x.", "\ud800", "x" * 5000, "none", "os:environ", "no_code", "leaves"]
)
def test_a_module_that_is_no_environment(here, capsys, what):
    (here / "no_code.py").write_text("class")
    (here / "leaves.py").write_text("raise SystemExit(0)")
    told(capsys, "eval", f"pettingzoo:{what}", "--agent", "random")


@pytest.mark.parametrize("how", ["KeyError(agent)", "SystemExit(0)", "GeneratorExit", "Exception('a\\nb')"])
@pytest.mark.parametrize("maker", ["env", "parallel_env", "exits", "Env"])
def test_an_environment_that_cannot_be_made(here, capsys, how, maker):
    (here / "never_made.py").write_text(NEVER.format(how))
    sys.modules.pop("never_made", None)
    status, out, err = run(capsys, "show", f"pettingzoo:never_made:{maker}", "--json")
    *printed, error = err.splitlines()
    assert (status, out, set(printed) - {"imported", "made"}) == (2, "", set())
    assert error.startswith(f"masgym: pettingzoo:never_made:{maker} cannot be made")


@pytest.mark.parametrize("command", ["show", "validate"])
def test_what_a_module_prints_is_not_in_the_json(here, capsys, command):
    (here / "prints.py").write_text('print("imported")\nfrom masgym.sokoban_v0 import env, parallel_env\n')
    sys.modules.pop("prints", None)
    with pytest.raises(AssertionError):
        as_json(capsys, command, "pettingzoo:prints")  # it is on standard error
    sys.modules.pop("prints", None)
    words = ["--tasks", "1"] if command == "validate" else []
    _, out, err = run(capsys, command, "pettingzoo:prints", *words, "--json")
    assert json.loads(out)
    assert "imported" in err


@pytest.mark.parametrize("name", ["--tasks", "--seed", "--turns", "--max-tokens"])
def test_a_message_is_not_as_long_as_what_it_is_about(capsys, name):
    err = told(capsys, "eval", "sokoban", "--agent", "random", name, "9" * 10**5)
    assert err.startswith(f"masgym eval: argument {name}: invalid int value: '999")
    assert err.endswith("See masgym eval --help\n")


def test_a_workflow_without_a_name(capsys):
    assert "'' is no workflow" in told(capsys, "eval", "sokoban", "--agent", "random", "--workflow", "")


@pytest.mark.parametrize("url", ["http://[::1/v1", "http://x\x01y/v1", "http://h:port/v1", "https://", "ftp://x", "x"])
def test_what_is_no_url(capsys, monkeypatch, url):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    of_agent = [["--agent", f"openai:m@{url}"]] if url.startswith("http") else []  # else it is the model's name
    for words in (*of_agent, ["--agent", "openai:m", "--base-url", url]):
        err = told(capsys, "eval", "sokoban", "--tasks", "1", "--retries", "0", *words)
        assert "http://HOST:PORT/v1 was expected" in err
        assert "secret" not in err


def test_an_object_that_is_no_agent_is_not_shown(capsys, monkeypatch):
    """It may hold what nobody else should read."""
    monkeypatch.setenv("SOME_KEY", "secret")
    assert "secret" not in told(capsys, "eval", "sokoban", "--agent", "python:os:environ")


@pytest.mark.parametrize(("more", "way"), [([], "Nothing is kept"), (["--out", "run", "--json"], "go on with: masgym")])
def test_the_end_of_what_a_person_says_stops_quietly(here, more, way):
    words = ["eval", "sokoban", "--agent", "human", "--tasks", "3", "--turns", "1", *more]
    done = subprocess.run([sys.executable, "-m", "masgym", *words], input="U\n", capture_output=True, text=True)
    assert done.returncode == 130
    *_, last = done.stderr.splitlines()
    assert last.startswith(f"masgym: stopped. {'What was over is kept; ' if more else ''}{way}")
    assert "never retrieved" not in done.stderr


def test_a_person_beside_another_who_plays(here):
    words = ["play", "sokoban", "--role", "actor", "--agent", "human"]
    done = subprocess.run([sys.executable, "-m", "masgym", *words], input="", capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
