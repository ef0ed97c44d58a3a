"""Checks through the AEC face: who sees what when, and what is handed out."""

import math

from masgym.faces import RawAEC
from masgym.game import OF_WORKFLOW, Game
from masgym.testing.play import must, players, step, walk, walk_replies
from masgym.types import State, Task, Transition


def check_visibility(game: Game, task: Task) -> None:
    """Members of an active set do not see each other; the next event sees what was committed."""
    _check_within_sets(game, task)
    _check_between_events(game, task)


def check_handed_out(game: Game, task: Task) -> None:
    """What `last()` hands out, summed for each agent, is the gains and its own malformed and route costs."""
    for player in players(game, task).values():
        expected, handed = dict.fromkeys(game.agents, 0.0), dict.fromkeys(game.agents, 0.0)
        for _, _, done in walk(game, task, player):
            for agent in game.agents:
                expected[agent] += done.gain + (done.rewards[agent].penalty if agent in done.rewards else 0.0)
        env = RawAEC(game)
        env.reset(options={"task": task})
        for _, reply in walk_replies(game, task, player):
            handed[env.agent_selection] += env.last(observe=False)[1]
            env.step(reply)
        close = all(math.isclose(handed[a], expected[a], abs_tol=1e-9) for a in game.agents)
        must(close, f"handed out: {handed}; the transitions sum to {expected}.")


def _check_within_sets(game: Game, task: Task) -> None:
    """While a set is unfinished, the face shows everyone the state before it."""
    for player in players(game, task).values():
        env = RawAEC(game)
        env.reset(options={"task": task})
        for before, reply in walk_replies(game, task, player):
            env.step(reply)
            for agent in game.agents if env.snapshot().pending else ():
                seen, expected = env.observe(agent)["text"], game.observe(before.state, agent).text
                must(seen == expected, f"visibility: {agent} sees the stored reply of {before.selection}.")


def _check_between_events(game: Game, task: Task) -> None:
    """A member's reply and an empty one lead to different prompts at the next event.

    Left out: routers and judges (what they decide shows in who speaks), and turns that end with the world as it was.
    """
    for player in players(game, task).values():
        for state, outputs, done in walk(game, task, player):
            for agent in outputs:
                if game.slot(agent) not in OF_WORKFLOW and _left_a_trace(state, done, agent):
                    other = step(game, state, {**outputs, agent: ""})
                    _check_seen(game, done.state, other.state, agent)


def _left_a_trace(before: State, done: Transition, agent: str) -> bool:
    turn_over = done.state.turn > before.turn
    return not done.effects[agent].malformed and not (turn_over and done.state.world == before.world)


def _check_seen(game: Game, one: State, other: State, speaker: str) -> None:
    """Somebody who is active in both states is shown different things."""
    both = [agent for agent in game.active(one) if agent in game.active(other)]
    differs = any(game.observe(one, agent).text != game.observe(other, agent).text for agent in both)
    must(
        differs or not both,
        f"visibility: {' and '.join(both)} see the same whatever {speaker} said in turn {one.turn}.",
    )
