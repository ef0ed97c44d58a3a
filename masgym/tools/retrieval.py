"""Search over a corpus: BM25 here, or an HTTP server. `search` is the tool that the driver runs.

arguments  {"query": str, "top_k": int, "corpus": spec}
spec       {"kind": "file", "path": str}        passages of a JSONL file (`read_passages`)
           {"kind": "http", "url": str}         a server (`masgym.tools.http_retriever`)
           {"kind": NAME, ...}                  passages that `register_corpus(NAME, make)` can make from the spec
result     "ok", {"passages": [{"contents": str, "score": float}, ...]}, best first; else a named failure

A passage's `contents` is its title, a newline, its text: the form of Search-R1's corpora (arXiv 2503.09516).
An index is built once for each spec and shared by all threads.
"""

import hashlib
import json
import logging
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np

from masgym.errors import BadFile, UnknownName
from masgym.paths import regular
from masgym.tasks import object_of
from masgym.tools.http_retriever import HttpRetriever
from masgym.types import JSON, ToolResult

K = TypeVar("K")
V = TypeVar("V")
Spec: TypeAlias = Mapping[str, JSON]
Passages: TypeAlias = Sequence[str]  # contents


class Retriever(Protocol):
    """Anything that can be searched, from any thread."""

    def search(self, query: str, top_k: int) -> ToolResult: ...


class Shared(Generic[K, V]):
    """Values that are made once, by whoever asks first, while others wait. The oldest beyond `most` are dropped."""

    def __init__(self, make: Callable[[K], V], most: int = 8) -> None:
        self._make, self._most = make, most
        self._made: dict[K, V] = {}
        self._lock = threading.Lock()

    def get(self, key: K) -> V:
        with self._lock:
            if key not in self._made:
                made = self._make(key)
                while len(self._made) >= self._most:
                    self._made.pop(next(iter(self._made)))
                self._made[key] = made
            return self._made[key]


class Bm25:
    """BM25 (Lucene's form, k1 = 1.5, b = 0.75) over passages; equal scores in the order of the passages."""

    def __init__(self, passages: Passages) -> None:
        import bm25s  # here: `import masgym` stays light

        logging.getLogger("bm25s").setLevel(logging.WARNING)  # it asks for DEBUG itself
        self.passages = passages
        words: dict[str, int] = {}  # in order of appearance, so that nothing depends on how strings hash
        rows = [[words.setdefault(word, len(words)) for word in tokens(text)] for text in passages]
        self._index: Any = bm25s.BM25()
        self._index.index((rows, words), show_progress=False)

    def search(self, query: str, top_k: int) -> ToolResult:
        """The best `top_k` passages of those that share a word with `query`."""
        known = [word for word in tokens(query) if word in self._index.vocab_dict]
        rows: list[tuple[int, float]] = _best(self._index.get_scores(known), top_k) if known else []
        found = [{"contents": self.passages[row], "score": score} for row, score in rows]
        return ToolResult(outcome="ok", value={"passages": found})


def tokens(text: str) -> list[str]:
    """Lower-case runs of letters and digits."""
    return _WORD.findall(text.lower())


def search(arguments: JSON) -> ToolResult:
    """The tool. Raises UnknownName for a kind of corpus that nobody registered, BadFile for a file that is none."""
    return retriever(arguments["corpus"]).search(arguments["query"], arguments["top_k"])


def retriever(spec: Spec) -> Retriever:
    """What answers for `spec`; the same object for an equal one, unless its file has changed."""
    changed = _stamp(spec["path"]) if spec["kind"] == "file" else None
    return _RETRIEVERS.get(json.dumps([spec, changed], sort_keys=True))


def register_corpus(kind: str, make: Callable[[Spec], Passages]) -> None:
    """Lets `spec["kind"] == kind` stand for the passages that `make` gives; it may read the rest of the spec."""
    _CORPORA[kind] = make


def read_passages(path: str) -> Passages:
    """The `contents` of a JSONL file, {"contents": str, ...} a line. Read once; again when the file has changed.

    Raises BadFile, which names file, line and field. All of it is held in memory, with its index: for millions of
    passages run a server.
    """
    return _FILES.get((path, *_stamp(path)))


def sha256_of(path: str) -> str:
    """Of a file's bytes, in hex. Read once; again when the file has changed. Raises BadFile."""
    return _DIGESTS.get((path, *_stamp(path)))


def jsonl(path: str) -> list[tuple[int, dict[str, Any]]]:
    """(line number, object) of each line that is not blank. Raises BadFile."""
    try:
        lines = regular(Path(path)).read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile(f"{path} cannot be read as UTF-8 text: {error}.") from error
    return [(n, object_of(line, f"{path}, line {n}")) for n, line in enumerate(lines, start=1) if line.strip()]


def _stamp(path: str) -> tuple[int, int]:
    """(time of the last change in ns, bytes) of a file. Raises BadFile where there is none."""
    try:
        found = Path(path).stat()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise BadFile(f"the file {path!r} cannot be read: {error}.") from error
    return found.st_mtime_ns, found.st_size


def _best(scores: Any, top_k: int) -> list[tuple[int, float]]:
    """scores: (passages,) -> the `top_k` (row, score) above 0, best first, ties by row."""
    rows = np.flatnonzero(scores > 0)
    if len(rows) > top_k:
        rows = rows[scores[rows] >= np.partition(scores[rows], -top_k)[-top_k]]
    rows = rows[np.argsort(-scores[rows], kind="stable")][:top_k]
    return [(int(row), float(scores[row])) for row in rows]


def _read(key: tuple[str, int, int]) -> Passages:
    path, contents = key[0], list[str]()
    for number, row in jsonl(path):
        text = row.get("contents")
        if not isinstance(text, str) or not tokens(text):
            raise BadFile(f"{path}, line {number}: `contents` is {text!r}; a text with words was expected.")
        contents.append(text)
    if not contents:
        raise BadFile(f'{path} holds no passage; {{"contents": "title\\ntext"}} was expected on each line.')
    return contents


def _digest(key: tuple[str, int, int]) -> str:
    with open(key[0], "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _make(key: str) -> Retriever:
    spec = json.loads(key)[0]
    if spec["kind"] == "http":
        return HttpRetriever(url=spec["url"])
    if spec["kind"] not in _CORPORA:
        raise UnknownName("corpus", spec["kind"], ("http", *_CORPORA))
    return Bm25(_CORPORA[spec["kind"]](spec))


_WORD = re.compile(r"[^\W_]+")
_FILES = Shared(_read)
_DIGESTS = Shared(_digest)
_RETRIEVERS: Shared[str, Retriever] = Shared(_make)
_CORPORA: dict[str, Callable[[Spec], Passages]] = {"file": lambda spec: read_passages(spec["path"])}
