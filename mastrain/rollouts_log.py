"""What was sampled and what was made of it, as rows of `rollouts.jsonl`.

The file has the form that `masgym audit` reads (`masgym.audit.rows`), with more fields for `masgym view`: one row for
each reply of each action, so that an episode's tree can be shown, with the candidates at each event and the one along
which it went on.
"""

from collections.abc import Callable, Iterator, Sequence, Set

from masgym.episodes import plain
from masgym.game import Game
from masgym.rng import Key
from masgym.types import JSON
from mastrain.types import Action, Group

DIGITS = 6  # of log-probs, after the point


def rows(
    step: int, groups: Sequence[Group], advantage: Callable[[Sequence[float]], tuple[float, ...]], game: Game
) -> Iterator[dict[str, JSON]]:
    """The rows of one training step, in the order of `groups`. Terms that weigh nothing in `game` are left out."""
    weightless = {agent: _weightless(game, agent) for agent in game.agents}
    of_sets = any(len(action.members) > 1 for group in groups for action in group.actions)
    for group in groups:
        for action, its_advantage in zip(group.actions, advantage(group.rewards), strict=True):
            for agent in action.members:
                known = {"step": step, "group": _name(group.key), "reward": action.reward, "advantage": its_advantage}
                yield {**known, **_action(action, of_sets), **_reply(action, agent, weightless[agent])}


def _action(action: Action, of_sets: bool) -> dict[str, JSON]:
    event, candidate = action.event, action.candidate
    state = candidate.transition.state
    return {
        "task": event.task.id,
        "level": event.task.level,
        "episode": _name(event.key[:4]),  # seed, step, task, episode
        "event": _name(event.key),
        "candidate": candidate.index,
        "chosen": event.candidates[event.chosen].index == candidate.index,
        **({"action": f"{_name(event.key)}:{candidate.index}"} if of_sets else {}),
        "turn": event.turn,
        "state": event.state_id,
        "team": candidate.transition.team,
        "gain": candidate.transition.gain,
        "ended": state.ended,
        "solved": state.success,
    }


def _reply(action: Action, agent: str, weightless: Set[str]) -> dict[str, JSON]:
    transition, completion = action.candidate.transition, action.candidate.completions[agent]
    effect, earned = transition.effects[agent], transition.rewards[agent]
    results = transition.state.log[-1][1].get(agent, ())
    return {
        "agent": agent,
        "policy": completion.policy,
        "version": completion.version,
        "prompt": [{"role": m.role, "content": m.content} for m in action.event.prompts[agent].messages],
        "reply": completion.text,
        "finish": completion.finish,
        "tokens": list(completion.ids),
        "logps": [round(logp, DIGITS) for logp in completion.logps],
        "terms": {name: term for name, term in earned.local.items() if name not in weightless},
        "penalty": earned.malformed,
        "malformed": effect.malformed,
        "note": effect.note,
        **({"tools": plain(results)} if results else {}),
    }


def _weightless(game: Game, agent: str) -> set[str]:
    slot = game.slot(agent)
    weights = (game.domain if slot in game.domain.titles else game.workflow).weights(slot)
    return {name for name, weight in weights.items() if not weight}


def _name(key: Key) -> str:
    return "/".join(map(str, key))
