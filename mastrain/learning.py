"""One optimiser step of every policy on one mini-batch; what sets have in common is known before any of them moves.

rows per policy --no gradient--> l_j of every member --(event, candidate)--> batches --backward--> all policies step
"""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from statistics import fmean, pvariance
from typing import cast

import torch

from masgym.types import value
from mastrain.batch import ON_POLICY, LogRatios, cut, pad
from mastrain.objectives import Objective, SetObjective
from mastrain.types import Row
from mastrain.updater import Updater


@value
class Policies:
    """The update workers, side by side."""

    updaters: Mapping[str, Updater]
    pad_ids: Mapping[str, int]
    micro_batch_tokens: int
    pool: Executor


def update(policies: Policies, rows: Mapping[str, Sequence[Row]], objective: Objective) -> list[dict[str, float]]:
    """One step of each policy in `rows`; policies without rows stay. -> metrics of each, and of the sets.

    An objective of sets gets every member's log-ratio under the weights of now, whichever policy the member belongs to.
    All steps begin after that, so none of them sees what another has moved.
    """
    parts = {policy: cut(some, policies.micro_batch_tokens) for policy, some in rows.items() if some}
    of_sets = hasattr(objective, "of_sets")
    ratios = log_ratios(policies, parts) if of_sets else ON_POLICY
    batches = {p: [pad(some, policies.pad_ids[p], ratios) for some in cuts] for p, cuts in parts.items()}
    jobs = {p: policies.pool.submit(policies.updaters[p].step, made, objective) for p, made in batches.items()}
    metrics = [{f"{p}/{name}": x for name, x in job.result().items()} for p, job in jobs.items()]
    if of_sets:
        every = (row for cuts in parts.values() for some in cuts for row in some)
        metrics.append(by_set_size(every, ratios, cast(SetObjective, objective)))
    return metrics


def log_ratios(policies: Policies, parts: Mapping[str, Sequence[Sequence[Row]]]) -> LogRatios:
    """l_j of every member of every set. Nothing is computed while no policy has moved since sampling: all are 0."""
    rows = [(policies.updaters[p].steps, row) for p, cuts in parts.items() for some in cuts for row in some]
    if all(row.completion.version == steps for steps, row in rows):
        return ON_POLICY
    jobs = {p: [policies.pool.submit(_of_part, policies, p, some) for some in cuts] for p, cuts in parts.items()}
    found: dict[tuple[object, int], list[float]] = {}
    for policy, cuts in parts.items():
        for some, job in zip(cuts, jobs[policy], strict=True):
            for row, own in zip(some, job.result(), strict=True):
                found.setdefault(row.action, [0.0] * len(row.set_tokens))[row.place] = own
    return cast(LogRatios, found)


def _of_part(policies: Policies, policy: str, rows: Sequence[Row]) -> list[float]:
    batch = pad(rows, policies.pad_ids[policy])
    updater = policies.updaters[policy]
    now = updater.logps(batch).to(batch.old_logps.device)
    return ((now - batch.old_logps) * batch.completion_mask).double().sum(-1).tolist()


def by_set_size(rows: Iterable[Row], ratios: LogRatios, objective: SetObjective) -> dict[str, float]:
    """Means over the sets of each size that have an advantage, and the variance of L_e among them. Others cannot be
    clipped, and are computed only where KL or entropy need them; `measure.of_groups` says how many they are."""
    sets = {row.action: row for row in rows if row.advantage}
    sizes: dict[int, list[Row]] = {}
    for row in sets.values():
        sizes.setdefault(len(row.set_tokens), []).append(row)
    out: dict[str, float] = {}
    for size, some in sorted(sizes.items()):
        found = objective.of_sets(
            torch.tensor([ratios.get(row.action) or [0.0] * size for row in some]),
            torch.tensor([row.set_tokens for row in some], dtype=torch.float32),
            torch.tensor([row.advantage for row in some]),
        )
        at = f"sets/K{size}"
        out[f"{at}/ratio"] = found["ratio"].mean().item()
        out[f"{at}/clip_fraction"] = found["clip_fraction"].mean().item()
        out[f"{at}/log_ratio_variance"] = pvariance(found["log_ratio"].double().tolist())
        out[f"{at}/advantage"] = fmean(row.advantage for row in some)
        out[f"{at}/advantage_size"] = fmean(abs(row.advantage) for row in some)
    return out
