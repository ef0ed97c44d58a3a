"""Foreign text environments as others write them: plain PettingZoo and Gymnasium, nothing of masgym."""

import random
from typing import ClassVar

from gymnasium.spaces import Box, Dict, Discrete, Text
from pettingzoo import AECEnv, ParallelEnv

WORDS = ("apple", "pear", "plum", "cherry", "fig")


class Guess(AECEnv):
    """Two players guess a word in turns; who says it first gets 1, the other -1; after six guesses nobody does."""

    metadata: ClassVar = {"name": "guess_v0", "render_modes": []}
    render_mode = None

    def __init__(self, words=WORDS, forgetful=False):
        self.words, self.forgetful = tuple(words), forgetful
        self.possible_agents = ["player_0", "player_1"]
        self.spaces = {a: Text(200, charset="abcdefghijklmnopqrstuvwxyz .:,") for a in self.possible_agents}

    def observation_space(self, agent):
        return self.spaces[agent]

    def action_space(self, agent):
        return self.spaces[agent]

    def reset(self, seed=None, options=None):
        self.word = random.Random(None if self.forgetful else seed).choice(self.words)
        self.agents, self.said = list(self.possible_agents), []
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {a: {"legal": list(self.words)} for a in self.agents}
        self.agent_selection = "player_0"

    def observe(self, agent):
        return f"you are {agent.replace('_', ' ')}. one of: {', '.join(self.words)}. said: {', '.join(self.said)}."

    def step(self, action):
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            return self._was_dead_step(action)
        other = self.possible_agents[1 - self.possible_agents.index(agent)]
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self.said.append(action)
        if action == "boom":
            raise RuntimeError("it cannot stand this word")
        if action == self.word:
            self.rewards = {agent: 1.0, other: -1.0}
            self.terminations = dict.fromkeys(self.agents, True)
        elif len(self.said) == 6:
            self.truncations = dict.fromkeys(self.agents, True)
        self._accumulate_rewards()
        self.agent_selection = other


class Together(ParallelEnv):
    """Everybody says a number at once; the team is paid when the sum is the target."""

    metadata: ClassVar = {"name": "together_v0", "render_modes": []}

    def __init__(self, players=3):
        self.possible_agents = [f"adder_{i}" for i in range(players)]
        self.observed = {a: Dict({"text": Text(200), "turn": Discrete(10)}) for a in self.possible_agents}
        self.spaces = {a: Text(3, charset="0123456789") for a in self.possible_agents}

    def observation_space(self, agent):
        return self.observed[agent]

    def action_space(self, agent):
        return self.spaces[agent]

    def reset(self, seed=None, options=None):
        self.agents, self.turn = list(self.possible_agents), 0
        self.target = random.Random(seed).randrange(10, 100)
        return self._seen(f"the sum is {self.target}"), {a: {} for a in self.agents}

    def step(self, actions):
        total, agents = sum(map(int, actions.values())), self.agents
        self.turn += 1
        solved, late = total == self.target, self.turn == 4
        paid = dict.fromkeys(agents, 0.5 * solved)
        seen = self._seen(f"the sum is {self.target}; you had {total}")
        infos = {a: {"success": solved} for a in agents}
        self.agents = [] if solved or late else agents
        return seen, paid, dict.fromkeys(agents, solved), dict.fromkeys(agents, late and not solved), infos

    def _seen(self, text):
        return {a: {"text": text, "turn": self.turn} for a in self.possible_agents}


class Dreams(Guess):
    """Shows something else each time."""

    def observe(self, agent):
        return f"{super().observe(agent)} {random.choice(WORDS)}{random.random():.9f}".replace("0.", "")


class Pictures(Guess):
    def observation_space(self, agent):
        return Box(0.0, 1.0, (3, 3))


class Numbers(Guess):
    def action_space(self, agent):
        return Discrete(9)


def env(**options):
    return Guess(**options)


def parallel_env(**options):
    return Together(**options)


def broken():
    raise OSError("no display")


def no_environment():
    return {"a": 1}
