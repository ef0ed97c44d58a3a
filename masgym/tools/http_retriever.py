"""A retriever behind HTTP: the `/retrieve` form of Search-R1's servers (arXiv 2503.09516).

    POST {"queries": [str], "topk": int, "return_scores": true}
    200  {"result": [[{"document": {"contents": str}, "score": number}, ...]]}     one list per query, best first

A failure is a named outcome, never an exception. What may pass is tried again, after waits that double: `timeout`,
`unreachable` (refused or dropped), `busy` (status 429 and 5xx). What stays wrong is not: `refused` (any other
status), `garbage` (an answer of another form). The environment's proxies are not used: such a server is one's own.
Redirections are not followed (`refused`): a POST would not be sent again, and they may lead anywhere.
"""

import http.client
import json
import math
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from masgym.errors import BadValue
from masgym.tags import printable
from masgym.types import JSON, ToolResult, value

_PASSING = ("timeout", "unreachable", "busy")
_MOST_BYTES = 8_000_000  # of one answer
_LONGEST = 200  # characters of what is told of a failure


def _opener() -> urllib.request.OpenerDirector:
    """Without what `urlopen` adds: redirections, proxies, files, FTP."""
    made = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPErrorProcessor,
        urllib.request.HTTPDefaultErrorHandler,
    ):
        made.add_handler(handler())
    return made


_OPENER = _opener()


class _Failed(Exception):
    """(outcome, detail)"""


@value
class HttpRetriever:
    """`url`: of the server, or of its endpoint where that is not `/retrieve`. Raises BadValue for no http(s) URL."""

    url: str
    timeout_s: float = 30.0  # of one attempt, its whole answer included
    attempts: int = 4
    wait_s: float = 0.5  # before the second attempt
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        endpoint(self.url)
        if self.attempts < 1:
            raise BadValue(f"attempts is {self.attempts}; at least 1 was expected.")

    def search(self, query: str, top_k: int) -> ToolResult:
        """ "ok" and its passages, or a failure and {"detail": what happened at the last of the attempts}."""
        asked = {"queries": [query], "topk": top_k, "return_scores": True}
        attempt, wait = 1, self.wait_s
        while True:
            try:
                passages = _passages(_post(endpoint(self.url), asked, self.timeout_s), top_k)
                return ToolResult(outcome="ok", value={"passages": passages})
            except _Failed as error:
                outcome, detail = error.args
            if attempt == self.attempts or outcome not in _PASSING:
                told = printable(detail[:_LONGEST])  # a server's own bytes may be in it
                return ToolResult(outcome=outcome, value={"detail": told, "attempts": attempt})
            self.sleep(wait)
            attempt, wait = attempt + 1, 2 * wait


def endpoint(url: str) -> str:
    """`url` with the path `/retrieve` where it has none. Raises BadValue for what is no http(s) URL with a host."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port  # an impossible port raises
    except ValueError as error:
        raise BadValue(f"the retriever's URL {url!r} cannot be read: {error}.") from error
    if parts.scheme not in ("http", "https") or not host:
        raise BadValue(f"the retriever's URL is {url!r}; one like http://127.0.0.1:8000/retrieve was expected.")
    return urlunsplit(parts._replace(path=parts.path if parts.path.strip("/") else "/retrieve", fragment=""))


def _post(url: str, asked: JSON, timeout_s: float) -> bytes:
    """The body of a 200 answer, or _Failed."""
    body, until = json.dumps(asked).encode(), time.monotonic() + timeout_s
    request = urllib.request.Request(url, data=body, headers={"Content-Type": "application/json"}, method="POST")
    try:
        with _OPENER.open(request, timeout=timeout_s) as answer:
            return _read(answer, until)
    except urllib.error.HTTPError as error:
        error.close()
        passing = error.code == 429 or error.code >= 500
        raise _Failed("busy" if passing else "refused", f"status {error.code}") from error
    except TimeoutError as error:
        raise _Failed("timeout", f"no whole answer in {timeout_s} s") from error
    except (OSError, http.client.HTTPException) as error:  # URLError is an OSError
        slow = isinstance(getattr(error, "reason", None), TimeoutError)
        raise _Failed("timeout" if slow else "unreachable", f"{type(error).__name__}: {error}") from error


def _read(answer: Any, until: float) -> bytes:
    """The body, by `until` (monotonic, s): a server that sends a byte a second is slow too."""
    parts, size = list[bytes](), 0
    while part := answer.read1(65_536):
        parts.append(part)
        size += len(part)
        if size > _MOST_BYTES:
            raise _Failed("garbage", f"more than {_MOST_BYTES} bytes")
        if time.monotonic() > until:
            raise TimeoutError
    if answer.length:  # bytes that were promised and did not come
        raise http.client.IncompleteRead(b"", answer.length)
    return b"".join(parts)


def _passages(body: bytes, top_k: int) -> list[dict[str, JSON]]:
    """[{"contents", "score"}] of the one query, or _Failed."""
    try:
        rows = json.loads(body)["result"][0]
        found = [{"contents": _text(row["document"]["contents"]), "score": _number(row["score"])} for row in rows]
    except (ValueError, LookupError, TypeError, ArithmeticError, RecursionError) as error:
        expected = "a result with document.contents and score was expected"
        raise _Failed("garbage", f"{expected}; {type(error).__name__}: {error}") from error
    return found[:top_k]


def _text(given: object) -> str:
    if not isinstance(given, str):
        raise TypeError(f"contents is a {type(given).__name__}")
    return given.encode("utf-8", "replace").decode()  # no lone surrogates


def _number(given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
        raise TypeError(f"score is {given!r}")
    return float(given)
