"""What sharing prefixes saves in the update: CPU time of forward and backward, plain path / shared path.

OMP_NUM_THREADS=1 python tests/benchmarks/shared_prefix.py
"""

import argparse
from collections.abc import Callable
from time import process_time

import torch
from torch import nn

from mastrain.batch import Batch
from mastrain.forward import token_logps
from mastrain.nano import Nano, nano_model


def batch_of(prompts: int, candidates: int, prompt: int, reply: int, vocabulary: int) -> Batch:
    """Random tokens; every prompt has the same length, and so has every reply."""
    draws, rows = torch.Generator().manual_seed(0), prompts * candidates
    return Batch(
        prompt_ids=torch.randint(vocabulary, (prompts, prompt), generator=draws),
        prompt_mask=torch.ones(prompts, prompt, dtype=torch.int64),
        prompt_of=torch.arange(prompts).repeat_interleave(candidates),
        completion_ids=torch.randint(vocabulary, (rows, reply), generator=draws),
        completion_mask=torch.ones(rows, reply, dtype=torch.int64),
        old_logps=torch.zeros(rows, reply),
        advantages=torch.ones(rows),
        weights=torch.full((rows,), 1 / rows),
        set_tokens=torch.full((rows, 1), float(reply)),
        set_log_ratios=torch.zeros(rows, 1),
    )


def seconds(model: nn.Module, batch: Batch, shared: bool, repeats: int) -> float:
    """The least CPU time of one forward and backward pass."""

    def once() -> None:
        model.zero_grad()
        token_logps(model, batch, 1.0, shared_prefix=shared)[0].sum().backward()

    return min(_timed(once) for _ in range(repeats))


def _timed(work: Callable[[], None]) -> float:
    start = process_time()
    work()
    return process_time() - start


def ratio(prompts: int = 4, candidates: int = 8, prompt: int = 256, reply: int = 32, repeats: int = 5) -> float:
    """Plain / shared for a model of 0.86M parameters."""
    model = nano_model(Nano(), seed=0)
    batch = batch_of(prompts, candidates, prompt, reply, model.config.vocab_size)
    plain, shared = (seconds(model, batch, kind, repeats) for kind in (False, True))
    print(
        f"{prompts} prompts of {prompt} tokens x {candidates} candidates of {reply}: "
        f"plain {plain:.3f} s, shared {shared:.3f} s, ratio {plain / shared:.1f}"
    )
    return plain / shared


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in {"prompts": 4, "candidates": 8, "prompt": 256, "reply": 32, "repeats": 5}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    torch.set_num_threads(1)
    ratio(**vars(parser.parse_args()))
