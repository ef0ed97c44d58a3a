"""role -> policy: who shares a model with whom."""

import re
from collections.abc import Mapping, Sequence

from masgym.errors import BadValue, UnknownName
from mastrain.config import PoliciesConfig


def policy_map(config: PoliciesConfig, roles: Sequence[str]) -> dict[str, str]:
    """Each role -> its policy. Raises UnknownName for a role that is not there, BadValue for one left out."""
    if config.kind == "shared":
        return dict.fromkeys(roles, "shared")
    if config.kind == "per_role":
        return {role: role for role in roles}
    chosen = config.map or {}
    for role in chosen:
        if role not in roles:
            raise UnknownName("role in policies.map", role, roles)
    for policy in chosen.values():
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", policy):
            raise BadValue(f"policy name {policy!r} in policies.map: letters, digits, '_' and '-' were expected.")
    left_out = [role for role in roles if role not in chosen]
    if left_out:
        raise BadValue(f"policies.map says no policy for {left_out}; this workflow's roles are {list(roles)}.")
    return {role: chosen[role] for role in roles}


def check_policies(config: PoliciesConfig, policies: Mapping[str, str]) -> None:
    """What `frozen` and `init_from` name must be there. Raises UnknownName, and BadValue where nothing would train."""
    known = set(policies.values())
    for name, given in (("frozen", config.frozen), ("init_from", config.init_from or {})):
        for policy in given:
            if policy not in known:
                raise UnknownName(f"policy in policies.{name}", policy, known)
    if known <= set(config.frozen):
        raise BadValue(
            f"policies.frozen holds all policies, {sorted(known)}; for a run without training use algo=warm."
        )


def roles_of(policies: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """policy -> its roles."""
    return {p: tuple(r for r, q in policies.items() if q == p) for p in dict.fromkeys(policies.values())}
