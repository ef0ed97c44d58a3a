"""Whole teams of other frameworks behind one `act`, by name; and one's own function through the plain interfaces."""

import json
from pathlib import Path

import gymnasium
import pettingzoo
import pytest
from their_team import GraphTeam

import masgym
from masgym.cli import main
from masgym.types import Message


@pytest.mark.parametrize("team", ["GraphTeam", "ConversationTeam"])
def test_a_team_of_another_framework_plays_by_name(team, capsys, monkeypatch):
    monkeypatch.chdir(Path(__file__).parent)
    words = ["--workflow", "solo", "--tasks", "10", "--level", "easy", "--json"]
    assert main(["eval", "plan_path", "--agent", f"python:their_team:{team}", *words]) == 0
    assert json.loads(capsys.readouterr().out)["success"]["mean"] == 1


def mine(text):
    """One's own function: prompt -> reply."""
    return GraphTeam().act(masgym.Observation(agent="", slot="act", messages=(Message(role="user", content=text),)))


def test_through_plain_pettingzoo():
    env = pettingzoo.make("aec", "masgym/plan_path_v0", workflow="pair", level="easy")
    env.reset(seed=3)
    total = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        observation, reward, termination, truncation, info = env.last()
        total[agent] += reward
        env.step(None if termination or truncation else mine(observation["text"]))
    assert info["success"]
    assert total == {"tool_0": pytest.approx(2), "actor_0": pytest.approx(2)}


def test_through_plain_parallel():
    env = pettingzoo.make("parallel", "masgym/plan_path_v0", workflow="ensemble", level="easy")
    observations, infos = env.reset(seed=3)
    total = dict.fromkeys(env.possible_agents, 0.0)
    while env.agents:
        replies = {agent: mine(observations[agent]["text"]) for agent in env.agents if infos[agent]["active"]}
        observations, rewards, _, _, infos = env.step(replies)
        total = {agent: total[agent] + reward for agent, reward in rewards.items()}
    assert all(info["success"] for info in infos.values())
    assert total == dict.fromkeys(env.possible_agents, pytest.approx(2))


def test_through_plain_gymnasium():
    env = gymnasium.make("masgym/PlanPath-v0", level="easy")
    observation, info = env.reset(seed=3)
    total, over = 0.0, False
    while not over:
        observation, reward, terminated, truncated, info = env.step(mine(observation["text"]))
        total, over = total + reward, terminated or truncated
    assert info["success"]
    assert total == pytest.approx(2)
