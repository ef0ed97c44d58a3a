"""Data set -> task file: each row read, checked as its domain will read it, hashed, written; all or nothing."""

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

from masgym.errors import BadFile, BadValue, UnknownName
from masgym.files import whole_file
from masgym.importers.rows import Row, Unfit
from masgym.importers.sets import SETS, ImportSet
from masgym.importers.sources import Hub
from masgym.tasks import SPLITS, content_hash, split_of
from masgym.types import JSON, Split, value

_AHEAD = 32  # rows read together: importers of programs wait for the sandbox
_ANY = Hub()


@value
class Imported:
    """What became of a data set."""

    domain: str
    splits: Mapping[Split, int]  # split -> tasks written
    left_out: Mapping[str, int]  # reason -> rows

    @property
    def written(self) -> int:
        return sum(self.splits.values())


def import_set(
    name: str, source: str, out: str | Path, *, split: Split | None = None, limit: int | None = None, hub: Hub = _ANY
) -> Imported:
    """Writes the rows of `source`, of the set `name`, as tasks to the file `out` (.jsonl). All or nothing.

    split: the one that all tasks are in, instead of the set's own; limit: most tasks.
    Raises UnknownName, BadValue, BadFile (with file, line and field), NoSandbox for programs that cannot be run.
    """
    if name not in SETS:
        raise UnknownName("data set", name, SETS)
    _check(Path(out), split, limit)
    if Path(out).exists() and Path(source).exists() and Path(out).samefile(source):
        raise BadValue(f"{source} is to be read, and would be replaced by its tasks; name another file for them.")
    wanted, splits, left_out = SETS[name], Counter[Split](), Counter[str]()
    own = split or wanted.split
    with whole_file(Path(out)) as file:
        for line in islice(_lines(wanted, wanted.rows(source, hub), left_out), limit):
            file.write(json.dumps({**({"split": own} if own else {}), **line}) + "\n")
            splits[own or split_of(line["content_hash"])] += 1
        if not splits:
            raise BadFile(f"{source} gave no task. Left out: {dict(left_out) or 'nothing, it holds no row'}.")
    return Imported(domain=wanted.domain, splits=dict(splits), left_out=dict(left_out))


def _lines(wanted: ImportSet, rows: Iterator[Row], left_out: Counter[str]) -> Iterator[dict[str, JSON]]:
    """A line for each task that is not there already; the reasons of the other rows are counted."""
    known = set[str]()
    for line in _read(wanted, rows):
        if isinstance(line, Unfit):
            left_out[str(line)] += 1
        elif line["content_hash"] in known:
            left_out["it is there already"] += 1
        else:
            known.add(line["content_hash"])
            yield line


def _read(wanted: ImportSet, rows: Iterator[Row]) -> Iterator[dict[str, JSON] | Unfit]:
    """In order, several at a time."""

    def one(row: Row) -> dict[str, JSON] | Unfit:
        try:
            line = wanted.read(row)
        except Unfit as reason:
            return reason
        return {**line, "content_hash": content_hash(wanted.instance(line, row.where).content)}

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        while rows_read := list(islice(rows, _AHEAD)):
            yield from pool.map(one, rows_read)


def _check(path: Path, split: str | None, limit: int | None) -> None:
    if path.suffix != ".jsonl":
        raise BadValue(f"the tasks are written as JSON lines; {str(path)!r} should end with .jsonl.")
    if split is not None and split not in SPLITS:
        raise UnknownName("split", split, SPLITS)
    if limit is not None and not 1 <= limit <= sys.maxsize:
        raise BadValue(f"limit is {limit}; a number from 1 to {sys.maxsize} was expected.")
