"""Foreign PettingZoo environments, AEC and Parallel, whose observations and actions are text."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from gymnasium import spaces

from masgym.errors import BadValue
from masgym.foreign.live import Live, Shown
from masgym.theirs import import_theirs
from masgym.types import JSON

MAKERS = ("env", "parallel_env")  # what a PettingZoo module offers


def live(what: str, params: Mapping[str, JSON]) -> Live:
    """what: "module" (its `env`, else its `parallel_env`, is called with `params`) or "module:attribute".

    Raises BadValue for what cannot be imported or made, or does not speak in text.
    """
    env = _made(what, params)
    if not (hasattr(env, "possible_agents") and hasattr(env, "observation_space")):
        raise BadValue(f"{what} gave {type(env).__name__}; a PettingZoo environment was expected.")
    agents: Any = list(env.possible_agents)
    if not agents or not all(isinstance(agent, str) and agent for agent in agents) or len(set(agents)) < len(agents):
        raise BadValue(f"{what} has the agents {repr(agents)[:200]}; names were expected, each once.")
    for agent in agents:
        for kind, space in (("observation", env.observation_space(agent)), ("action", env.action_space(agent))):
            if not isinstance(space, spaces.Text) and not (kind == "observation" and _key(space) is not None):
                raise BadValue(
                    f"{what}: the {kind} space of {agent} is {str(space)[:80]}; a text space was expected (gymnasium's "
                    "Text; for observations also a Dict with a 'text'). Wrap the environment in one that speaks text."
                )
    return AEC(env) if hasattr(env, "agent_iter") else Parallel(env)


def _made(what: str, params: Mapping[str, JSON]) -> Any:
    path, _, attribute = what.partition(":")
    module = import_theirs(path)
    names = [attribute] if attribute else [name for name in MAKERS if hasattr(module, name)]
    if not names or not hasattr(module, names[0]):
        raise BadValue(f"the module {path} has no {attribute or ' or '.join(MAKERS)}, which makes its environment.")
    try:
        return getattr(module, names[0])(**params)
    except Exception as error:
        raise BadValue(f"{what} cannot be made with {dict(params)}: {type(error).__name__}: {error}.") from error


def _key(space: Any) -> str | None:
    """Where the text is in a Dict: "text", or the only text that it holds."""
    if not isinstance(space, spaces.Dict):
        return None
    texts = [str(key) for key, part in space.spaces.items() if isinstance(part, spaces.Text)]
    return "text" if "text" in texts else texts[0] if len(texts) == 1 else None


class _Env:
    """What both kinds share."""

    def __init__(self, env: Any) -> None:
        self._env = env

    @property
    def agents(self) -> tuple[str, ...]:
        return tuple(self._env.possible_agents)

    def refuses(self, agent: str, reply: str) -> str:
        space = self._env.action_space(agent)
        return "" if space.contains(reply) else f"it is not in the action space {str(space)[:80]}"

    def close(self) -> None:
        self._env.close()

    def _text(self, agent: str, observation: Any) -> str:
        key = _key(self._env.observation_space(agent))
        return str(observation if key is None else observation[key])


class AEC(_Env):
    """One agent at a time. Rewards are what `last()` delivers, until every agent has left."""

    def reset(self, seed: int) -> Shown:
        self._env.reset(seed=seed)
        return self._shown()

    def step(self, outputs: Mapping[str, str]) -> Shown:
        self._env.step(outputs[self._env.agent_selection])
        return self._shown()

    def _shown(self) -> Shown:
        rewards, cut, infos = defaultdict[str, float](float), list[bool](), dict[str, Any]()
        texts: dict[str, str] = {}
        while self._env.agents:
            agent = self._env.agent_selection
            observation, reward, terminated, truncated, info = self._env.last()
            rewards[agent] += float(reward)
            texts[agent] = self._text(agent, observation)
            if not (terminated or truncated):
                return Shown(active=(agent,), texts=texts, rewards=rewards, legal=_legal({agent: info}))
            cut.append(bool(truncated) and not terminated)
            infos[agent] = info
            self._env.step(None)
        return Shown(active=(), texts=texts, rewards=rewards, truncated=any(cut), success=_success(infos))


class Parallel(_Env):
    """All agents at once, but for those whose info says that they are not `active`."""

    def reset(self, seed: int) -> Shown:
        observations, infos = self._env.reset(seed=seed)
        return self._shown(observations, {}, infos, False)

    def step(self, outputs: Mapping[str, str]) -> Shown:
        observations, rewards, terminated, truncated, infos = self._env.step(dict(outputs))
        return self._shown(observations, rewards, infos, any(truncated.values()) and not any(terminated.values()))

    def _shown(
        self, observations: Mapping[str, Any], rewards: Mapping[str, Any], infos: Mapping[str, Any], cut: bool
    ) -> Shown:
        active = tuple(a for a in self._env.agents if (infos.get(a) or {}).get("active", True))
        return Shown(
            active=active,
            texts={agent: self._text(agent, seen) for agent, seen in observations.items()},
            rewards={agent: float(reward) for agent, reward in rewards.items()},
            legal=_legal(infos),
            truncated=cut and not active,
            success={} if active else _success(infos),
        )


def _legal(infos: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    return {agent: tuple(map(str, (info or {}).get("legal", ()))) for agent, info in infos.items()}


def _success(infos: Mapping[str, Any]) -> dict[str, bool]:
    return {agent: bool(info["success"]) for agent, info in infos.items() if info and "success" in info}
