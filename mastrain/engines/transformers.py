"""Samples from the very modules that are trained: one prefill per distinct prompt, whatever asked for it.

The log-probs kept are those of softmax(logits / temperature), which is the distribution that is sampled from:
what a model's `generation_config` asks for (top-k, penalties) is never applied. Every token takes one uniform draw
of its reply's own generator, so what else is in the batch changes nothing but rounding.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from masgym.errors import BadValue, UnknownName
from masgym.rng import keyed
from masgym.types import value
from mastrain import chat
from mastrain.engines.base import BatchingEngine, Request, SamplingFailed
from mastrain.engines.decode import Decoded, decode, stems_of
from mastrain.types import Completion, Prompt, Sampling

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Answer = tuple[Completion, ...] | SamplingFailed


@value
class _Shared:
    """Requests of one policy, prompt and sampling: one prefill serves them all."""

    policy: str
    sampling: Sampling
    ids: tuple[int, ...]
    requests: tuple[int, ...]  # positions in the batch of requests
    replies: int  # wanted by all of them together

    @property
    def tokens(self) -> int:
        """Columns of the cache."""
        return len(self.ids) + self.replies * self.sampling.max_new_tokens


class TransformersEngine(BatchingEngine):
    """Every policy has a causal language model and a tokenizer; policies may share both.

    `max_tokens`: cache columns computed at once, which bounds memory. `workers`: threads that sample at once; each
    uses `torch.get_num_threads()` threads of its own, and the results depend on neither.
    """

    def __init__(
        self,
        models: Mapping[str, nn.Module],
        tokenizers: Mapping[str, "PreTrainedTokenizerBase"],
        *,
        max_tokens: int = 8192,
        workers: int = 1,
    ) -> None:
        super().__init__()
        for policy, model in models.items():
            _check_attention(policy, model)
            if policy not in tokenizers:
                raise UnknownName("tokenizer of policy", policy, tokenizers)
        self._models, self._tokenizers = dict(models), dict(tokenizers)
        self._ends = {policy: _ends(models[policy], tokenizers[policy]) for policy in models}
        self._versions = dict.fromkeys(models, 0)
        self._max_tokens, self._workers = max_tokens, workers

    def generate(self, requests: Sequence[Request]) -> Sequence[Answer]:
        answers: dict[int, Answer] = {i: SamplingFailed("context overflow") for i in range(len(requests))}
        fitting = [i for i, request in enumerate(requests) if self._fits(request)]
        chunks = list(self._chunks(_shared(requests, fitting)))
        was_training = {policy: model.training for policy, model in self._models.items()}
        for model in self._models.values():
            model.eval()
        with ThreadPoolExecutor(self._workers) as pool:
            for answered in pool.map(lambda chunk: self._sample(requests, chunk), chunks):
                answers.update(answered)
        for policy, training in was_training.items():
            self._models[policy].train(training)
        return [answers[i] for i in range(len(requests))]

    def logps(self, policy: str, prompt: Prompt, completion: Completion, temperature: float) -> tuple[float, ...]:
        """By one plain forward pass over prompt and completion, without cache."""
        model = self._model(policy)
        ids = torch.tensor([[*prompt.ids, *completion.ids]], device=next(model.parameters()).device)
        with torch.inference_mode():
            out: Any = model(input_ids=ids, use_cache=False, logits_to_keep=len(completion.ids) + 1)
        logps = torch.log_softmax(out.logits[0, :-1].float() / temperature, -1)
        return tuple(logps.gather(-1, ids[0, len(prompt.ids) :, None])[:, 0].tolist())

    def sync(self, policy: str, version: int) -> None:
        """The weights are the trained ones already."""
        self._model(policy)
        self._versions[policy] = version

    def _model(self, policy: str) -> nn.Module:
        if policy not in self._models:
            raise UnknownName("policy", policy, self._models)
        return self._models[policy]

    def _fits(self, request: Request) -> bool:
        config: Any = self._model(request.policy).config
        most = getattr(config.get_text_config(), "max_position_embeddings", None)
        return most is None or len(request.prompt.ids) + request.sampling.max_new_tokens <= most

    def _chunks(self, prompts: Sequence[_Shared]) -> Iterator[list[_Shared]]:
        """Prompts of one policy and sampling, of at most `max_tokens` columns together: of about equal length, but
        those that begin alike side by side."""
        for _, group in groupby(prompts, lambda shared: (shared.policy, shared.sampling)):
            rows = _by_stem(list(group))
            number = min(len(rows), ceil(sum(row.tokens for row in rows) / self._max_tokens))
            yield from (rows[len(rows) * i // number : len(rows) * (i + 1) // number] for i in range(number))

    def _sample(self, requests: Sequence[Request], chunk: Sequence[_Shared]) -> dict[int, Answer]:
        policy, sampling = chunk[0].policy, chunk[0].sampling
        order = [(i, c) for shared in chunk for i in shared.requests for c in range(requests[i].n)]
        decoded = decode(
            self._models[policy],
            [shared.ids for shared in chunk],
            [shared.replies for shared in chunk],
            torch.from_numpy(np.stack([_uniforms(requests[i], c) for i, c in order])),
            sampling,
            self._ends[policy],
        )
        made = [self._completion(policy, decoded, r) for r in range(len(order))]
        return {
            i: tuple(completion for _, completion in rows)
            for i, rows in groupby(zip((i for i, _ in order), made, strict=True), lambda pair: pair[0])
        }

    def _completion(self, policy: str, decoded: Decoded, r: int) -> Completion:
        length, stopped = int(decoded.lengths[r]), bool(decoded.stopped[r])
        ids: tuple[int, ...] = tuple(decoded.ids[r, :length].tolist())
        return Completion(
            text=chat.decode(self._tokenizers[policy], ids[: length - stopped]),
            ids=ids,
            logps=tuple(decoded.logps[r, :length].tolist()),
            finish="stop" if stopped else "length",
            policy=policy,
            version=self._versions[policy],
        )


def _shared(requests: Sequence[Request], positions: Sequence[int]) -> list[_Shared]:
    """Requests joined by policy, sampling and prompt, in the order of their first appearance."""
    groups: dict[tuple[str, Sampling], dict[tuple[int, ...], list[int]]] = {}
    for i in positions:
        request = requests[i]
        prompts = groups.setdefault((request.policy, request.sampling), {})
        prompts.setdefault(request.prompt.ids, []).append(i)
    return [
        _Shared(
            policy=policy,
            sampling=sampling,
            ids=ids,
            requests=tuple(found),
            replies=sum(requests[i].n for i in found),
        )
        for (policy, sampling), prompts in groups.items()
        for ids, found in prompts.items()
    ]


def _by_stem(rows: Sequence[_Shared]) -> list[_Shared]:
    """Shorter ones first, where a stem's rows go by the longest of them."""
    _, stem_of = stems_of([row.ids for row in rows])
    longest: dict[int, int] = {}
    for row, stem in zip(rows, stem_of, strict=True):
        longest[stem] = max(longest.get(stem, 0), row.tokens)
    order = sorted(range(len(rows)), key=lambda i: (longest[stem_of[i]], stem_of[i], rows[i].tokens))
    return [rows[i] for i in order]


def _uniforms(request: Request, candidate: int) -> np.ndarray:
    """(T,) in [0, 1): a candidate's draws, one per token. The agent tells members of one set, whose key is the same."""
    draws = keyed(*request.key, request.prompt.agent, candidate)
    return draws.random(request.sampling.max_new_tokens)


def _ends(model: nn.Module, tokenizer: "PreTrainedTokenizerBase") -> torch.Tensor:
    """The ids that end a reply: the tokenizer's and those that the model names."""
    named: Any = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    ids: list[Any] = [tokenizer.eos_token_id, *(named if isinstance(named, list) else [named])]
    return torch.tensor(sorted({end for end in ids if end is not None}), dtype=torch.int64)


def _check_attention(policy: str, model: nn.Module) -> None:
    """`decode` gives its own mask, so it needs layers that look at the whole context."""
    config: Any = model.config.get_text_config()  # type: ignore[union-attr]
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    if kinds != {"full_attention"}:
        raise BadValue(
            f"the model of policy {policy!r} has layers {sorted(kinds)}; this engine samples from models with full "
            "attention only. Take another model or another engine."
        )
