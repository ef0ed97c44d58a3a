"""An engine whose replies come from a function: the whole training loop runs in a test in seconds."""

from collections.abc import Callable, Sequence

from masgym.types import value
from mastrain.engines.base import BatchingEngine, Request, SamplingFailed
from mastrain.types import Completion, Prompt

Reply = Callable[[Request, int], "str | SamplingFailed"]  # (request, candidate) -> text


@value
class Codepoints:
    """Text as Unicode code points plus an end token: the tokenizer of scripted completions."""

    end: int = 0x110000

    def encode(self, text: str) -> tuple[int, ...]:
        return (*map(ord, text), self.end)


class ScriptedEngine(BatchingEngine):
    """Every token of a scripted reply has log-prob -1. A request fails when any of its replies does, and keeps the
    others."""

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self._reply = reply
        self._versions: dict[str, int] = {}
        self.batches: list[int] = []  # how many requests each flush had

    def generate(self, requests: Sequence[Request]) -> Sequence[tuple[Completion, ...] | SamplingFailed]:
        self.batches.append(len(requests))
        return [self._answer(request) for request in requests]

    def logps(self, policy: str, prompt: Prompt, completion: Completion, temperature: float) -> tuple[float, ...]:
        return completion.logps

    def sync(self, policy: str, version: int) -> None:
        self._versions[policy] = version

    def _answer(self, request: Request) -> tuple[Completion, ...] | SamplingFailed:
        replies = [self._reply(request, c) for c in range(request.n)]
        made = tuple(None if isinstance(r, SamplingFailed) else self._completion(request, r) for r in replies)
        failed = [reply for reply in replies if isinstance(reply, SamplingFailed)]
        return SamplingFailed(failed[0].outcome, made) if failed else tuple(c for c in made if c is not None)

    def _completion(self, request: Request, text: str) -> Completion:
        ids = Codepoints().encode(text)
        return Completion(
            text=text,
            ids=ids,
            logps=(-1.0,) * len(ids),
            finish="stop",
            policy=request.policy,
            version=self._versions.get(request.policy, 0),
        )
