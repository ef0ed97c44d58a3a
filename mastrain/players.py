"""The trainer's policies as agents of `masgym.evaluate`."""

from collections.abc import Callable, Mapping

from masgym.agents.base import Reply, Request
from masgym.game import role_of
from masgym.types import Observation, value
from mastrain.engines.base import Engine, SamplingFailed
from mastrain.engines.base import Request as EngineRequest
from mastrain.types import Completion, Prompt, Sampling


@value
class EnginePlayer:
    """Answers every agent through an engine, one completion a turn."""

    engine: Engine
    policies: Mapping[str, str]  # role -> policy
    encode: Callable[[str, Observation], Prompt]
    sampling: Sampling
    watch: Callable[[Request], None] = lambda request: None  # told of every request

    async def act(self, request: Request) -> Reply:
        self.watch(request)
        policy = self.policies[role_of(request.observation.agent)]
        prompt = self.encode(policy, request.observation)
        wanted = EngineRequest(policy=policy, prompt=prompt, n=1, key=request.key, sampling=self.sampling)
        try:
            (completion,) = await self.engine.sample(wanted)
        except SamplingFailed as failed:
            return Reply(text="", prompt_tokens=len(prompt.ids), failure=failed.outcome)
        return reply_of(completion, prompt)


def reply_of(completion: Completion, prompt: Prompt) -> Reply:
    """What was sampled, as the reply of an agent of masgym."""
    return Reply(
        text=completion.text,
        tokens=len(completion.ids),
        prompt_tokens=len(prompt.ids),
        cut=completion.finish == "length",
    )
