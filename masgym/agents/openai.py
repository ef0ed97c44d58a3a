"""`openai:MODEL`: a model behind any OpenAI-compatible endpoint. `openai:MODEL@URL` names the endpoint of one agent.

A request that fails is tried again, with waits that double and jitter; what fails for good is the reply's named failure
and never an exception, its text what the server said of it:

    timeout           no whole answer within `timeout` seconds          tried again
    connection        refused or dropped                                tried again
    rate_limited      429                                               tried again
    server_error      5xx, 408, 409                                     tried again
    bad_response      no chat completion: no JSON, no choices, too long tried again
    unauthorized      401, 403: OPENAI_API_KEY
    not_found         404: the model's name or the URL
    context_overflow  400 that names the context's length
    bad_request       any other answer
"""

import asyncio
import json
import os
from collections.abc import Mapping
from typing import Any

import openai

from masgym.agents.base import Reply, Request
from masgym.agents.names import Options
from masgym.errors import BadValue
from masgym.rng import Key, digest, keyed
from masgym.types import JSON, Observation, value

MOST_BYTES = 16 * 2**20  # of an answer; a reply has a few thousand
MOST_SAID = 300  # characters of what a server says of a failure
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0  # seconds between tries
_AGAIN = ("timeout", "connection", "rate_limited", "server_error", "bad_response")
_STATUS = {401: "unauthorized", 403: "unauthorized", 404: "not_found", 408: "server_error", 409: "server_error"}


@value
class Failed:
    """A try that gave no reply."""

    outcome: str
    wait: float = 0.0  # seconds that the server asks for, before the next try
    said: str = ""  # by the server, for people to read


class OpenAIAgent:
    """Asks with the observation's chat messages; one connection pool for all episodes."""

    def __init__(self, model: str, options: Options) -> None:
        url = options.base_url or os.environ.get("OPENAI_BASE_URL")
        key = os.environ.get("OPENAI_API_KEY")
        if not url and not key:
            raise BadValue(
                f"openai:{model} needs a key in the environment variable OPENAI_API_KEY, or --base-url of a server "
                "that asks for none."
            )
        if url and not url.lower().startswith(("http://", "https://")):
            raise BadValue(f"the base URL {url!r} is none; http://HOST:PORT/v1 was expected.")
        self._model, self._options, self._key = model, options, key
        self._limit = "max_tokens"  # what the server calls the limit of a reply
        self._gate = asyncio.Semaphore(options.concurrency)
        try:
            self._client = openai.AsyncOpenAI(
                base_url=url, api_key=key or "none", max_retries=0, timeout=openai.Timeout(options.timeout)
            )
        except Exception as error:  # its HTTP library's own, of what is no URL
            raise BadValue(f"the base URL {url!r} is none: {error}; http://HOST:PORT/v1 was expected.") from error
        if not self._client.base_url.host:
            raise BadValue(f"the base URL {url!r} names no host; http://HOST:PORT/v1 was expected.")

    async def act(self, request: Request) -> Reply:
        answer: Reply | Failed = Failed(outcome="")
        async with self._gate:
            for n in range(self._options.retries + 1):
                answer = await self._try(request.observation, request.key)
                if isinstance(answer, Reply) or answer.outcome not in _AGAIN or n == self._options.retries:
                    break
                await asyncio.sleep(_wait(answer, n, request.key))
        return answer if isinstance(answer, Reply) else Reply(text=self._kept(answer.said), failure=answer.outcome)

    async def aclose(self) -> None:
        await self._client.close()

    def _kept(self, said: str) -> str:
        """Run folders are shared, and a server may repeat the key that it refuses."""
        return (said.replace(self._key, "...") if self._key else said)[:MOST_SAID]

    async def _try(self, seen: Observation, key: Key) -> Reply | Failed:
        try:
            async with asyncio.timeout(self._options.timeout):
                body = await self._ask(seen, key)
        except Exception as error:  # the network: the client's own errors and those of the libraries below it
            if self._other_limit(error):
                return await self._try(seen, key)
            return failure_of(error)
        return reply_of(body)

    async def _ask(self, seen: Observation, key: Key) -> bytes:
        """The answer's bytes: read here, since nothing else bounds how long they are."""
        body, create = bytearray(), self._client.chat.completions.with_streaming_response.create
        async with create(**self._arguments(seen, key)) as response:
            async for chunk in response.iter_bytes():
                body += chunk
                if len(body) > MOST_BYTES:
                    break
        return bytes(body)

    def _arguments(self, seen: Observation, key: Key) -> dict[str, Any]:
        """The seed is the request's key: a server that heeds it gives the same reply in any order of requests."""
        wanted = {self._limit: self._options.max_tokens, "temperature": self._options.temperature}
        return {
            "model": self._model,
            "messages": [{"role": message.role, "content": message.content} for message in seen.messages],
            "seed": digest(key) % 2**31,
            **{name: given for name, given in wanted.items() if given is not None},
        }

    def _other_limit(self, error: Exception) -> bool:
        """Newer models of OpenAI take `max_completion_tokens` alone, and say so."""
        refused = isinstance(error, openai.BadRequestError) and "max_completion_tokens" in str(error)
        if not refused or self._limit == "max_completion_tokens":
            return False
        self._limit = "max_completion_tokens"
        return True


def make(argument: str, options: Options) -> OpenAIAgent:
    """See `masgym.agents.names`. `argument` is the model's name."""
    return OpenAIAgent(argument, options)


def failure_of(error: Exception) -> Failed:
    """The outcome's name."""
    if isinstance(error, openai.APIStatusError):
        return _status_failure(error)
    if isinstance(error, TimeoutError | openai.APITimeoutError) or "Timeout" in type(error).__name__:
        return Failed(outcome="timeout")
    decoding = isinstance(error, ValueError) or "Decoding" in type(error).__name__
    return Failed(outcome="bad_response" if decoding else "connection")


def _status_failure(error: openai.APIStatusError) -> Failed:
    status, told = error.status_code, str(error).lower()
    wait = _seconds(error.response.headers.get("retry-after"))
    if status == 429:
        return Failed(outcome="rate_limited", wait=wait, said=str(error))
    if status >= 500:
        return Failed(outcome="server_error", wait=wait, said=str(error))
    if status == 400 and "context" in told and ("length" in told or "exceed" in told):
        return Failed(outcome="context_overflow", said=str(error))
    return Failed(outcome=_STATUS.get(status, "bad_request"), said=str(error))


def reply_of(body: bytes) -> Reply | Failed:
    """The reply in a chat completion. A message without content is an empty reply: the model's doing, not a failure."""
    garbage = Failed(outcome="bad_response")
    if len(body) > MOST_BYTES:
        return garbage
    try:
        answer: Any = json.loads(body)
    except (ValueError, RecursionError):
        return garbage
    choices: Any = answer.get("choices") if isinstance(answer, dict) else None
    first: Any = choices[0] if isinstance(choices, list) and choices else None
    message: Any = first.get("message") if isinstance(first, dict) else None
    content: Any = message.get("content", "") if isinstance(message, dict) else 0
    if content is not None and not isinstance(content, str):
        return garbage
    usage: Any = answer.get("usage")
    counts: Mapping[str, JSON] = usage if isinstance(usage, dict) else {}
    return Reply(
        text=content or "",
        tokens=_count(counts, "completion_tokens"),
        prompt_tokens=_count(counts, "prompt_tokens"),
        cut=first.get("finish_reason") == "length",
    )


def _count(usage: Mapping[str, JSON], name: str) -> int:
    """0 where the server counts nothing that could be a count."""
    found = usage.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) and 0 <= found < 2**40 else 0


def _wait(failed: Failed, n: int, key: Key) -> float:
    """Seconds before try n + 2. Jitter, or all that were refused together would come back together."""
    doubled = FIRST_WAIT * 2**n * (0.5 + keyed(*key, "retry", n).random() / 2)
    return min(max(doubled, failed.wait), LONGEST_WAIT)


def _seconds(header: str | None) -> float:
    """A `Retry-After` in seconds; 0 for any other."""
    try:
        return max(0.0, float(header or 0))
    except ValueError:
        return 0.0
