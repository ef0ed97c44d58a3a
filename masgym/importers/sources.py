"""Where the rows of a data set come from: a file, a folder laid out as on a hub, or a hub id.

.jsonl, .jsonl.gz   one JSON object a line
.json               a list of objects
.parquet            needs pyarrow
a folder, a hub id  need `datasets`, which is imported here and nowhere else in masgym, and only when it is asked for
"""

import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from math import inf
from pathlib import Path
from typing import Any

from masgym.errors import BadFile, BadValue
from masgym.importers.rows import Row
from masgym.paths import few_files, regular
from masgym.types import value

_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")


@value
class Hub:
    """Which part of a hub's data set is read."""

    config: str | None = None  # its configuration; None: the only one, or the default one
    split: str | None = None  # its split, by the hub's name; None: the only one


_ANY = Hub()


def rows(source: str, hub: Hub = _ANY) -> Iterator[Row]:
    """The rows of `source`, one by one. Raises BadFile, which names file and line, and BadValue for an unfit `hub`."""
    path = Path(source)
    ending = next((ending for ending in _READERS if path.name.endswith(ending)), None)
    if path.is_dir() or (ending is None and not path.exists() and _HUB_ID.fullmatch(source)):
        return _hub(source, hub)
    if ending is None:
        raise BadFile(f"{source!r} is neither a hub id nor a folder nor a file of one of {', '.join(_READERS)}.")
    if hub != _ANY:
        raise BadValue(f"{source} is a file; a configuration or split of a hub cannot be chosen in it.")
    return _READERS[ending](path)


def _jsonl(path: Path) -> Iterator[Row]:
    for number, line in _lines(path):
        if line.strip():
            where = f"{path}, line {number}"
            yield _row(where, _json(where, line))


def _json_list(path: Path) -> Iterator[Row]:
    found = _json(str(path), "".join(line for _, line in _lines(path)))
    if not isinstance(found, list):
        raise BadFile(f"{path}: {type(found).__name__} instead of a list of objects.")
    for number, row in enumerate(found, start=1):
        yield _row(f"{path}, item {number}", row)


def _parquet(path: Path) -> Iterator[Row]:
    try:
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise BadFile(f"{path}: parquet files are read by pyarrow; `pip install pyarrow` ({error}).") from error
    number = 0
    try:
        with parquet.ParquetFile(regular(path, inf)) as file:
            for batch in file.iter_batches(batch_size=64):
                for found in batch.to_pylist():
                    yield _row(f"{path}, row {(number := number + 1)}", found)
    except (OSError, ValueError) as error:
        raise BadFile(f"{path} cannot be read as parquet: {error}.") from error


def _hub(source: str, hub: Hub) -> Iterator[Row]:
    """A boundary: whatever the library raises (no network, no such id, no loader) is a file that cannot be read."""
    try:
        import datasets
    except ImportError as error:
        raise BadFile(
            f"{source!r} is no file here; hub ids and folders are read by datasets: `pip install datasets` ({error})."
        ) from error
    try:
        if Path(source).is_dir():
            few_files(Path(source))
        split = hub.split or _only(source, datasets.get_dataset_split_names(source, hub.config))
        found = datasets.load_dataset(source, hub.config, split=split, streaming=True)
        for number, fields in enumerate(found, start=1):
            yield _row(f"{source}, {split} row {number}", fields)
    except BadFile:
        raise
    except Exception as error:
        raise BadFile(
            f"the data set {source!r} cannot be read from the hub: {type(error).__name__}: {error} If it is a file, "
            "none is there; if there is no network here, load the data set elsewhere and give its file."
        ) from error


def _only(source: str, splits: list[str]) -> str:
    if len(splits) != 1:
        raise BadFile(f"{source} has the splits {', '.join(splits)}; choose one (--hub-split).")
    return splits[0]


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    read: Callable[..., Any] = gzip.open if path.suffix == ".gz" else open
    try:
        with read(regular(path, inf), "rt", encoding="utf-8-sig") as file:
            yield from enumerate(file, start=1)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise BadFile(f"{path} cannot be read as UTF-8 text: {error}.") from error


def _json(where: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadFile(f"{where}: no JSON: {error}.") from error


def _row(where: str, found: Any) -> Row:
    if not isinstance(found, Mapping):
        raise BadFile(f"{where}: {type(found).__name__} instead of an object.")
    return Row(where=where, fields=found)


_READERS: dict[str, Callable[[Path], Iterator[Row]]] = {
    ".jsonl": _jsonl,
    ".jsonl.gz": _jsonl,
    ".json": _json_list,
    ".parquet": _parquet,
}
