"""`python -m mastrain.gradients env=sokoban`: greedy trees against random continuation, at equal sampled tokens.

a fixed policy --trees, greedy or random--> batches of equal tokens --the update's path, without its step-->
gradients --> per policy: norm of the mean, variance, signal-to-noise ratio, cosine of the two means

STRONGER-MAS (arXiv 2510.11062) goes on along the best of the candidates; whether the states met so make better
gradients is asked here. Entropy and KL terms are left out: what is measured is the policy gradient.
"""

import json
import math
import sys
from asyncio import gather
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from rich.console import Console
from torch import Tensor
from transformers.utils.logging import disable_progress_bar

from masgym.errors import BadValue, MasgymError
from masgym.estimates import Estimate
from masgym.files import locked, write_whole
from masgym.game import role_of
from masgym.tables import Block, markdown_table, rich_table
from masgym.types import JSON, value
from mastrain import algorithms
from mastrain.__main__ import check_placed, compose_run
from mastrain.algorithms import Algorithm, groups_of, rows_of
from mastrain.assemble import Run, assemble
from mastrain.batch import micro_batches
from mastrain.config import AlgoConfig, parse
from mastrain.engines.base import run as run_loop
from mastrain.games import check_names
from mastrain.measure import of_episodes, sampled_tokens
from mastrain.moments import Comparison, Moments, compare
from mastrain.trainer import needed, training_task
from mastrain.types import Episode

USAGE = """python -m mastrain.gradients [batches=32] [tokens=20000] [out=FOLDER] [override ...]

batches   of each kind
tokens    sampled for a batch; its last tree is played to its end
out       where table.md and gradients.json go (runs/gradients/ENV)
override  as for python -m mastrain: env=sokoban algo=at_grpo policies.init_from={tool: RUN, actor: RUN}
"""
KINDS: Mapping[str, float] = {"greedy": 1.0, "random": 0.0}  # -> algo.greedy_fraction
_WITHOUT = ("algo.entropy=0", "algo.entropy_target=0", "algo.kl=0", "budget.sampled_tokens=0")


@value
class Measured:
    """One kind of batches."""

    gradients: Mapping[str, Tensor]  # policy -> (batches, parameters)
    tokens: float  # sampled for a batch, on average
    trees: float  # in a batch, on average


def main(arguments: Sequence[str], console: Console) -> dict[str, Comparison]:
    """-> policy -> greedy against random. Raises MasgymError."""
    options, overrides = _options(arguments)
    data = compose_run([*overrides, *_WITHOUT])
    config = parse(data)
    check_names(config)
    trees = _trees(config.algo)
    out = Path(options.get("out", f"runs/gradients/{config.env.name}"))
    batches, tokens = _count(options, "batches", 32, 2), _count(options, "tokens", 20000, 1)
    torch.set_num_threads(config.torch_threads)
    disable_progress_bar()  # transformers' own, where weights are read
    with locked(out):
        run = assemble(config, out, console.print)
        kinds = {name: measure(run, name, algorithm, batches, tokens) for name, algorithm in trees.items()}
        found = {p: _compared([kinds[name].gradients[p] for name in KINDS], config.seed) for p in run.updaters}
        blocks = [_block(policy, one, kinds) for policy, one in found.items()]
        for block in blocks:
            console.print(rich_table(block))
        write_whole(out / "table.md", "\n".join(map(markdown_table, blocks)))
        told = {"config": data, "batches": batches, "tokens": tokens, **_json(found, kinds)}
        write_whole(out / "gradients.json", json.dumps(told, indent=2) + "\n")
    return found


def measure(run: Run, kind: str, algorithm: Algorithm, batches: int, tokens: int) -> Measured:
    """Gradients of independent batches of at least so many sampled tokens."""
    gradients: dict[str, list[Tensor]] = {policy: [] for policy in run.updaters}
    spent, trees = 0, 0
    for _, episodes in zip(range(batches), batches_of(run, algorithm, kind, tokens), strict=False):
        for policy, gradient in gradients_of(run, algorithm, episodes).items():
            gradients[policy].append(gradient)
        spent += sum(map(cost, episodes))
        trees += len(episodes)
    stacked = {policy: torch.stack(some) for policy, some in gradients.items()}
    return Measured(gradients=stacked, tokens=spent / batches, trees=trees / batches)


def batches_of(run: Run, algorithm: Algorithm, kind: str, tokens: int) -> Iterator[list[Episode]]:
    """Without end. The kinds have tasks and draws of their own, so that their batches are independent, too."""
    place, size = list(KINDS).index(kind), run.config.train.tasks
    batch, spent, number = list[Episode](), 0, 0

    async def sample(numbers: Sequence[int]) -> list[Episode]:
        key = (run.config.seed, 0)
        rollouts = (algorithm.rollout(run.team, training_task(run, n), (*key, n)) for n in numbers)
        return [episode for episodes in await gather(*rollouts) for episode in episodes]

    while True:
        for episode in run_loop(sample([len(KINDS) * n + place for n in range(number, number + size)]), run.engine):
            batch.append(episode)
            spent += cost(episode)
            if spent >= tokens:
                yield batch
                batch, spent = [], 0
        number += size


def gradients_of(run: Run, algorithm: Algorithm, episodes: Sequence[Episode]) -> dict[str, Tensor]:
    """Policy -> (parameters,) the gradient of one mini-batch's loss; 0 where nothing has an advantage."""
    groups = groups_of((event for episode in episodes for event in episode.events), algorithm)
    rows = rows_of(groups, lambda agent: run.policies[role_of(agent)], algorithm, run.config.algo.drop_zero_variance)
    found: dict[str, Tensor] = {}
    for policy, updater in run.updaters.items():
        pad_id = run.tokenizers[policy].pad_token_id
        cut = micro_batches(needed(run, rows.get(policy, ())), pad_id, run.config.algo.micro_batch_tokens)
        nothing = torch.zeros(sum(x.numel() for x in run.models[policy].parameters() if x.requires_grad))
        found[policy] = updater.gradient(cut, algorithm.objective).cpu().float() if cut else nothing
    return found


def cost(episode: Episode) -> int:
    """Tokens sampled for it, playouts and dropped candidates too."""
    return sampled_tokens(of_episodes([episode]))


def _trees(config: AlgoConfig) -> dict[str, Algorithm]:
    """Kind -> the algorithm with trees that go on so. Raises BadValue for one without trees."""
    try:
        return {name: algorithms.make(replace(config, greedy_fraction=f)) for name, f in KINDS.items()}
    except BadValue as error:
        algorithms.make(config)  # what is wrong with it anyway
        raise BadValue(
            f"algo={config.name} plays no trees, so there are no greedy ones to compare with random ones; use "
            "algo=at_grpo, algo=at_grpo_explore or algo=srpo_tree."
        ) from error


def _compared(kinds: Sequence[Tensor], seed: int) -> Comparison:
    every = torch.cat(list(kinds)).double()
    gram: np.ndarray = (every @ every.T).numpy()
    return compare(gram, len(kinds[0]), seed)


def _block(policy: str, found: Comparison, kinds: Mapping[str, Measured]) -> Block:
    rows = [
        (name, f"{kinds[name].trees:.1f}", f"{kinds[name].tokens:,.0f}", *_shown(moments))
        for name, moments in zip(KINDS, (found.one, found.other), strict=True)
    ]
    rows += [("greedy / random", "", "", "", "", _text(found.snr_ratio))]
    rows += [("cosine of the means", "", "", _text(found.cosine), "", "")]
    header = ("", "trees a batch", "tokens a batch", "norm of the mean [95 %]", "variance", "signal to noise")
    return Block(title=f"Gradient of a batch: {policy}", header=header, rows=tuple(rows))


def _shown(moments: Moments) -> tuple[str, ...]:
    return tuple(map(_text, (moments.norm, moments.variance, moments.snr)))


def _text(found: Estimate) -> str:
    return f"{found.mean:.3g} [{found.low:.3g}, {found.high:.3g}]"


def _json(found: Mapping[str, Comparison], kinds: Mapping[str, Measured]) -> dict[str, JSON]:
    """NaN and infinity, which JSON has not, become null."""
    sizes = {name: {"tokens": kind.tokens, "trees": kind.trees} for name, kind in kinds.items()}
    policies: dict[str, JSON] = {}
    for policy, one in found.items():
        told = {**dict(zip(KINDS, (one.one, one.other), strict=True)), "cosine": one.cosine, "snr_ratio": one.snr_ratio}
        policies[policy] = {name: _finite(asdict(part)) for name, part in told.items()}
    return {"kinds": sizes, "policies": policies}


def _finite(given: Any) -> JSON:
    if isinstance(given, dict):
        return {name: _finite(inner) for name, inner in cast(dict[str, Any], given).items()}
    return given if math.isfinite(given) else None


def _options(arguments: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    ours, overrides = dict[str, str](), list[str]()
    for argument in arguments:
        name, _, given = argument.partition("=")
        if name in ("batches", "tokens", "out"):
            ours[name] = given
        else:
            overrides.append(argument)
    check_placed(overrides, ours.get("out"))
    return ours, overrides


def _count(options: Mapping[str, str], name: str, default: int, least: int) -> int:
    given = options.get(name, str(default))
    if not given.isascii() or not given.isdigit() or int(given) < least:
        raise BadValue(f"{name}={given}; a whole number from {least} was expected.")
    return int(given)


def cli() -> None:
    if {"--help", "-h"} & set(sys.argv[1:]):
        print(USAGE, end="")
        return
    try:
        main(sys.argv[1:], Console(width=None if sys.stdout.isatty() else 140))
    except MasgymError as error:
        print(f"mastrain.gradients: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    cli()
