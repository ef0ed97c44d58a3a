"""A field of a domain that chooses among what it knows by name."""

from collections.abc import Collection
from typing import Any

from masgym.errors import BadValue, UnknownName


def chosen_families(domain: str, given: Any, known: Collection[str]) -> tuple[str, ...]:
    """`given` as a tuple of names. Raises BadValue for what is no list or is empty, UnknownName for other names."""
    if not isinstance(given, list | tuple) or not given:
        raise BadValue(f"families is {given!r}; a list of names was expected, of: {', '.join(known)}.")
    for name in given:
        if not isinstance(name, str) or name not in known:
            raise UnknownName(f"family of {domain}", name, known)
    return tuple(given)
