"""Items and scores of reasoning-gym, from its process (`reasoning_gym_worker.py`), as a task source and a tool."""

import json
from collections.abc import Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from masgym.errors import BadValue, UnknownName, UnsolvableTask
from masgym.tasks import SPLITS, content_hash, split_of
from masgym.tools.driver import register_tool
from masgym.tools.workers import Workers
from masgym.types import JSON, Split, Task, ToolResult, value

TOOL = "reasoning_gym"
REFUSED: Mapping[str, str] = {
    "boxnet": "its items hold no answer",
    "rush_hour": "its items hold no answer",
    "composite": "it is a mixture of data sets; play them one by one",
}
_INSTALL = 'Is it installed? pip install "masgym[reasoning-gym]"'
_CPU, _WALL, _MEMORY = 120.0, 600.0, 4 << 30  # one item's making included, which may load a dictionary
_WORKERS = Workers(
    Path(__file__).with_name("reasoning_gym_worker.py"), _INSTALL, workers=1, cpu=_CPU, wall=_WALL, memory=_MEMORY
)


def score(arguments: JSON) -> ToolResult:
    """The tool: {"dataset", "config", "item", "answer"} -> "ok" with a number in [0, 1], "timeout" or "error"."""
    return _WORKERS.ask({**arguments, "do": "score"})


register_tool(TOOL, score)


@value
class Item:
    """One question of a data set and its own answer to it."""

    question: str
    answer: str


@lru_cache(maxsize=1)
def names() -> tuple[str, ...]:
    """The data sets that can be played. Raises BadValue without reasoning-gym."""
    if find_spec("reasoning_gym") is None:
        raise BadValue(f"reasoning_gym cannot be imported. {_INSTALL}")
    return tuple(name for name in _asked("names") if name not in REFUSED)


@lru_cache(maxsize=1)
def version() -> str:
    return str(_asked("version"))


@lru_cache(maxsize=1024)
def check(dataset: str, config: str) -> None:
    """config: JSON. Raises UnknownName and BadValue for what is no data set, or cannot be played."""
    if dataset in REFUSED:
        raise BadValue(f"reasoning_gym/{dataset} cannot be played: {REFUSED[dataset]}.")
    if dataset not in names():
        raise UnknownName("data set of reasoning_gym", dataset, names())
    given = json.loads(config)
    if fixed := {"seed", "size"} & set(given):
        raise BadValue(
            f"config holds {', '.join(sorted(fixed))}; the collection's seed, split and index draw the items."
        )
    if reason := _asked("check", dataset=dataset, config=given):
        raise BadValue(f"reasoning_gym/{dataset} cannot be made with {given}: {reason}.")


@lru_cache(maxsize=4096)
def item(dataset: str, config: str, number: int) -> Item | None:
    """The item of that number; None where the generator gives none, or none with an answer that scores 1."""
    found = _asked("item", dataset=dataset, config=json.loads(config), item=number)
    return None if found is None else Item(**found)


def _asked(do: str, **arguments: JSON) -> Any:
    result = _WORKERS.ask({"do": do, **arguments})
    if result.outcome != "ok":
        raise UnsolvableTask(f"reasoning-gym gave no {do} for {arguments}: {result.outcome}.")
    return result.value


@value
class Items:
    """An endless source: draws numbers until an item comes whose question belongs to the split.

    The content is the question alone, so that a question is in one split however it was answered; the item's number is
    among the params.
    """

    domain: str
    dataset: str
    config: str  # JSON
    seed: int
    attempts: int = 1000

    def size(self, split: Split) -> int | None:
        if split not in SPLITS:
            raise UnknownName("split", split, SPLITS)
        return None

    def get(self, split: Split, index: int) -> Task:
        """Raises UnsolvableTask when `attempts` draws gave nothing of this split."""
        self.size(split)
        if index < 0:
            raise BadValue(f"task index {index} is negative.")
        for attempt in range(self.attempts):
            rng = np.random.default_rng([self.seed, SPLITS.index(split), index, attempt])
            number = int(rng.integers(2**31))
            found = item(self.dataset, self.config, number)
            content = {"question": found.question} if found else {}
            if found and split_of(content_hash(content)) == split:
                return self._task(split, index, content, number)
        raise UnsolvableTask(f"{self.domain} gave no {split} task in {self.attempts} draws; change its config.")

    def _task(self, split: Split, index: int, content: Mapping[str, JSON], number: int) -> Task:
        config = json.loads(self.config)
        return Task(
            domain=self.domain,
            params={"config": config, "item": number, "reasoning_gym": version()},
            seed=self.seed,
            split=split,
            index=index,
            content=content,
            content_hash=content_hash(content),
            level="configured" if config else "default",
            optimum=None,
        )
