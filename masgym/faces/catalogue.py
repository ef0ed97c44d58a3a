"""Enters a domain into PettingZoo's and Gymnasium's registries. Neither discovers plugins: importing masgym does it."""

import gymnasium
import pettingzoo

ENTRY = "masgym.registry"


def pettingzoo_id(domain: str) -> str:
    return f"masgym/{domain}_v0"


def gymnasium_id(domain: str) -> str:
    return f"masgym/{''.join(part.capitalize() for part in domain.split('_'))}-v0"


def enter(domain: str) -> None:
    """A second entry of the same domain changes nothing."""
    if gymnasium_id(domain) in gymnasium.registry:
        return
    kwargs = {"name": domain}
    pettingzoo.register("aec", pettingzoo_id(domain), f"{ENTRY}:make", kwargs=kwargs)
    pettingzoo.register("parallel", pettingzoo_id(domain), f"{ENTRY}:parallel_env", kwargs=kwargs)
    # T lives in the state, so no TimeLimit; wrapped order enforcement stays gymnasium's own
    gymnasium.register(gymnasium_id(domain), f"{ENTRY}:single_env", max_episode_steps=None, kwargs=kwargs)
