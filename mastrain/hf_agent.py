"""`hf:PATH`: a transformers model as an agent of `masgym.evaluate`. PATH is a folder made by save_pretrained, a .gguf
file, a checkpoint of mastrain (runs/.../checkpoints/step_000120), or the run's folder: its newest checkpoint.

Replies that are waited for are sampled together, across episodes and roles: while one batch is sampled, the next one
gathers.
"""

import asyncio
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, cast

import torch
from transformers.utils.logging import disable_progress_bar

from masgym.agents.base import Reply, Request
from masgym.agents.names import Options
from masgym.errors import UnknownName
from masgym.game import role_of
from masgym.types import Style
from mastrain import chat, checkpoint
from mastrain.engines.base import Request as EngineRequest
from mastrain.engines.base import SamplingFailed
from mastrain.engines.transformers import Answer, TransformersEngine
from mastrain.models import ModelSpec, load_model
from mastrain.players import reply_of
from mastrain.types import Sampling

MOST_TOKENS = 512  # of a reply, where nothing else is asked for
_ONE = "model"  # the policy's name where there is one model for everybody


class HfAgent:
    """Answers every role that a policy is there for. `style`: of the prompts that the models were trained on;
    `roles`: those that it can play (None: all)."""

    def __init__(
        self,
        models: Mapping[str, tuple[Any, Any]],
        policies: Mapping[str, str],
        sampling: Sampling,
        style: Style | None = None,
    ) -> None:
        """models: policy -> (model, tokenizer); policies: role, or "*", -> policy."""
        self.style = style
        self.roles = None if "*" in policies else frozenset(policies)
        self._models, self._policies, self._sampling = models, policies, sampling
        self._engine = TransformersEngine(
            {p: m for p, (m, _) in models.items()}, {p: t for p, (_, t) in models.items()}
        )
        self._waiting: list[tuple[EngineRequest, asyncio.Future[Answer]]] = []
        self._gathering: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1)

    async def act(self, request: Request) -> Reply:
        role = role_of(request.observation.agent)
        policy = self._policies.get(role) or self._policies.get("*")
        if policy is None:
            raise UnknownName("role of this checkpoint", role, self._policies)
        model, tokenizer = self._models[policy]
        prompt = chat.encode(tokenizer, request.observation.agent, request.observation.messages)
        room = _room(model, len(prompt.ids), self._sampling.max_new_tokens)
        if room < 1:
            return Reply(text="", prompt_tokens=len(prompt.ids), failure="context_overflow")
        sampling = Sampling(temperature=self._sampling.temperature, max_new_tokens=room, greedy=self._sampling.greedy)
        wanted = EngineRequest(policy=policy, prompt=prompt, n=1, key=request.key, sampling=sampling)
        answer = await self._sampled(wanted)
        if isinstance(answer, SamplingFailed):
            return Reply(text="", prompt_tokens=len(prompt.ids), failure=answer.outcome)
        return reply_of(answer[0], prompt)

    async def _sampled(self, wanted: EngineRequest) -> Answer:
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((wanted, future))
        if self._gathering is None or self._gathering.done():
            self._gathering = asyncio.create_task(self._batches())
        return await future

    async def _batches(self) -> None:
        """Batch after batch until nobody waits. What the engine raises is everyone's in the batch."""
        while self._waiting:
            await asyncio.sleep(0)  # who can ask now shall be in the batch
            batch, self._waiting = self._waiting, []
            work = partial(self._engine.generate, [wanted for wanted, _ in batch])
            try:
                answers = await asyncio.get_running_loop().run_in_executor(self._thread, work)
            except Exception as error:
                for _, future in batch:
                    if not future.done():
                        future.set_exception(error)
                continue
            for (_, future), answer in zip(batch, answers, strict=True):
                if not future.done():  # cancelled
                    future.set_result(answer)


def make(argument: str, options: Options) -> HfAgent:
    """See `masgym.agents.names`. Raises BadFile and BadValue for what is no model."""
    disable_progress_bar()
    path = Path(argument)
    if (path / "checkpoints").is_dir():
        path = checkpoint.latest(path / "checkpoints")
    temperature = 1.0 if options.temperature is None else options.temperature
    sampling = Sampling(
        temperature=temperature or 1.0,
        max_new_tokens=options.max_tokens or MOST_TOKENS,
        greedy=temperature == 0,
    )
    if trained := _identity(path):
        policies: Mapping[str, str] = trained["policies"]
        models = {policy: _load(str(path / policy)) for policy in dict.fromkeys(policies.values())}
        return HfAgent(models, policies, sampling, trained["game"]["style"])
    style = (_identity(path.parent) or {"game": {"style": None}})["game"]["style"]
    return HfAgent({_ONE: _load(argument)}, {"*": _ONE}, sampling, style)


def _load(source: str) -> tuple[Any, Any]:
    """The model, on the accelerator where there is one, and its tokenizer."""
    folder, _, file = source.rpartition("/") if source.endswith(".gguf") else (source, "", "")
    there = torch.cuda.is_available()
    model, tokenizer = load_model(
        ModelSpec(source=folder or ".", gguf_file=file, dtype="bfloat16" if there else "float32")
    )
    return model.to("cuda" if there else "cpu"), tokenizer


def _identity(folder: Path) -> dict[str, Any]:
    """What a checkpoint is of; {} where `folder` is none."""
    try:
        found = json.loads((folder / "manifest.json").read_text())["identity"]
        policies, style = found["policies"].values(), found["game"]["style"]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}
    whole = style in ("full", "compact") and all(isinstance(policy, str) for policy in policies)
    return cast(dict[str, Any], found) if whole else {}


def _room(model: Any, prompt: int, wanted: int) -> int:
    """How many tokens a reply may have. Cut to powers of two: what is sampled together has one length."""
    most = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    left = wanted if most is None else most - prompt
    return wanted if left >= wanted else 2 ** (left.bit_length() - 1) if left > 0 else 0
