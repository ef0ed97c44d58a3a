"""Generated problems: one of the families asked for, drawn with equal chances, then one problem of it."""

from collections.abc import Mapping, Sequence

import numpy as np

from masgym.domains.math.families.easy import EASY
from masgym.domains.math.families.hard import HARD
from masgym.domains.math.families.medium import MEDIUM
from masgym.domains.math.families.problem import Family
from masgym.tasks import Instance
from masgym.types import JSON

FAMILIES: Mapping[str, Family] = {**EASY, **MEDIUM, **HARD}
LEVEL_OF: Mapping[str, str] = {
    name: level for level, families in (("easy", EASY), ("medium", MEDIUM), ("hard", HARD)) for name in families
}
LEVELS: dict[str, dict[str, JSON]] = {
    level: {"families": tuple(name for name in FAMILIES if LEVEL_OF[name] == level)}
    for level in ("easy", "medium", "hard")
}


def draw(rng: np.random.Generator, *, families: Sequence[str]) -> Instance | None:
    """content = {"question", "answer", "family"}; None when the family's draw gave nothing."""
    name = families[int(rng.integers(len(families)))]
    made = FAMILIES[name](rng)
    if made is None:
        return None
    content = {"question": made.question, "answer": made.answer, "family": name}
    return Instance(content=content, level=LEVEL_OF[name], optimum=None)
