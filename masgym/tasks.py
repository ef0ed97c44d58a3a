"""Splits and task sources. A split is a bucket of content hashes, so splits are disjoint by construction; a listed
task may say which one it is in, and is then in no other."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, cast

import numpy as np

from masgym.errors import BadFile, BadValue, UnknownName, UnsolvableTask
from masgym.types import JSON, Split, Task, value

SPLITS: tuple[Split, ...] = ("train", "validation", "test")
_LEVELS = 150  # of lists and objects in a line of a file; what a program answered has up to 64
_BUCKETS: tuple[Split, ...] = ("train", "train", "validation", "test")  # of hash modulo 4


@value
class Instance:
    """What a generator makes or a file holds."""

    content: Mapping[str, JSON]
    level: str
    optimum: int | None
    split: Split | None = None  # the only one that it is in; None: the one that its content's hash names


Generate = Callable[[np.random.Generator], Instance | None]  # None: this draw gave nothing, draw again


class TaskSource(Protocol):
    """Where tasks come from."""

    def size(self, split: Split) -> int | None:
        """How many tasks a split has; None = endless."""
        ...

    def get(self, split: Split, index: int) -> Task:
        """The task (split, index); an index beyond a finite split is a BadValue."""
        ...


def content_hash(content: Mapping[str, JSON]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def split_of(digest: str) -> Split:
    return _BUCKETS[int(digest[:8], 16) % len(_BUCKETS)]


def object_of(line: str, where: str) -> dict[str, JSON]:
    """The JSON object on a line of a file. Raises BadFile, which names `where`."""
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadFile(f"{where}: no JSON object: {error}.") from error
    if not isinstance(row, dict):
        raise BadFile(f"{where}: {type(row).__name__} instead of a JSON object.")
    if line.count("[") + line.count("{") > _LEVELS and _is_deep(row):
        raise BadFile(f"{where}: lists and objects in more than {_LEVELS} levels.")
    return cast(dict[str, JSON], row)


def _is_deep(row: Any) -> bool:
    """Whether it has more than _LEVELS levels: others than json's own readers and writers would give up on it."""
    level: list[Any] = [row]
    for _ in range(_LEVELS):
        inner = (item for outer in level for item in (outer.values() if isinstance(outer, dict) else outer))
        level = [item for item in inner if isinstance(item, dict | list)]
    return bool(level)


def listed(content: Mapping[str, JSON], level: str, row: Mapping[str, JSON], where: str) -> Instance:
    """The task on a line of a file. Two fields of its `row` may be left out: `split`, to which it then belongs alone
    (an evaluation set is all "test"), and `content_hash`, which imported tasks have.

    Raises BadFile where there is no such split, or the content is not the one that was hashed.
    """
    split, stated = row.get("split"), row.get("content_hash")
    if split is not None and split not in SPLITS:
        raise BadFile(f"{where}, field 'split': {split!r} instead of one of {', '.join(SPLITS)}.")
    if stated is not None and stated != content_hash(content):
        raise BadFile(
            f"{where}, field 'content_hash': {stated!r} is not that of the line's content, which was changed since. "
            "Import it again, or leave the field out of lines that you write."
        )
    return Instance(content=content, level=level, optimum=None, split=split)


@value
class Procedural:
    """An endless source: draws (seed, split, index, attempt) until a content of the split's bucket comes."""

    domain: str
    params: Mapping[str, JSON]
    generate: Generate
    seed: int = 0
    attempts: int = 10_000

    def size(self, split: Split) -> int | None:
        _check_split(split)
        return None

    def get(self, split: Split, index: int) -> Task:
        """Raises UnsolvableTask when `attempts` draws gave nothing of this split."""
        _check_split(split)
        if index < 0:
            raise BadValue(f"task index {index} is negative.")
        for attempt in range(self.attempts):
            rng = np.random.default_rng([self.seed, SPLITS.index(split), index, attempt])
            made = self.generate(rng)
            if made is None:
                continue
            digest = content_hash(made.content)
            if split_of(digest) == split:
                return _task(self.domain, self.params, self.seed, split, index, made, digest)
        raise UnsolvableTask(
            f"{self.domain} with {dict(self.params)} gave no {split} task in {self.attempts} draws; "
            "ask for something less constrained."
        )


class Listed:
    """A finite source: given instances, each in its own split, else in the one that its content's hash names."""

    def __init__(self, domain: str, params: Mapping[str, JSON], instances: Sequence[Instance]) -> None:
        """Raises BadFile for a task that is in two splits."""
        self.domain, self.params = domain, params
        self._splits: dict[Split, list[tuple[str, Instance]]] = {split: [] for split in SPLITS}
        known: dict[str, Split] = {}
        for made in instances:
            digest = content_hash(made.content)
            split = made.split or split_of(digest)
            if known.setdefault(digest, split) != split:
                raise BadFile(
                    f"a {domain} task of {params.get('file')} is in split {known[digest]!r} and again in {split!r}; "
                    f"it begins {str(dict(made.content))[:80]}."
                )
            self._splits[split].append((digest, made))

    def size(self, split: Split) -> int | None:
        _check_split(split)
        return len(self._splits[split])

    def get(self, split: Split, index: int) -> Task:
        """Raises BadFile for an empty split, BadValue for an index beyond it."""
        _check_split(split)
        rows = self._splits[split]
        if not rows:
            sizes = {name: len(found) for name, found in self._splits.items()}
            raise BadFile(f"the {self.domain} tasks given hold none of split {split!r}; they hold {sizes}.")
        if not 0 <= index < len(rows):
            raise BadValue(f"task index {index} is not in 0..{len(rows) - 1}, the size of split {split!r}.")
        digest, made = rows[index]
        return _task(self.domain, self.params, 0, split, index, made, digest)


def _check_split(split: str) -> None:
    if split not in SPLITS:
        raise UnknownName("split", split, SPLITS)


def _task(
    domain: str, params: Mapping[str, JSON], seed: int, split: Split, index: int, made: Instance, digest: str
) -> Task:
    return Task(
        domain=domain,
        params=params,
        seed=seed,
        split=split,
        index=index,
        content=made.content,
        content_hash=digest,
        level=made.level,
        optimum=made.optimum,
    )
