"""The loop.

evaluate (held-out tasks)
  |
  v
tasks --tree or flat, per task--> episodes --actions--> groups --advantage--> rows --pad--> batches
  ^                                                                                   |
  |                                              per mini-batch, per policy: objective, optimiser step
  +---- probe <---- sync to the engine <----------------------------------------------+
  |
  v
checkpoint, evaluate again, table before / after
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

from masgym.errors import BadValue
from masgym.game import role_of
from masgym.types import Task
from mastrain import checkpoint, rollouts_log, visits
from mastrain.algorithms import groups_of, rows_of, split
from mastrain.assemble import Run
from mastrain.batch import pad
from mastrain.engines.base import run as run_loop
from mastrain.evaluation import validate
from mastrain.learning import Policies, update
from mastrain.measure import average, of_episodes, of_groups, sampled_tokens
from mastrain.runlog import SPENT, RunLog
from mastrain.types import Episode, Group, Row

PROBE_TOLERANCE = 1e-3  # nats a token between engine and trainer after a sync


class EngineParted(RuntimeError):
    """After a weight sync the engine's log-probs are not the trainer's."""


def train(
    run: Run, log: RunLog, done: int, stop: Callable[[], bool], on_step: Callable[[int, Mapping[str, float]], None]
) -> int:
    """Steps done+1 .. train.steps, as far as the budget goes; ends early, after a whole step, when `stop` says so.
    -> the last step done."""
    settings, budget, spent = run.config.train, run.config.budget.sampled_tokens, log.spent
    with ThreadPoolExecutor(max_workers=len(run.updaters)) as pool:
        for step in range(done + 1, settings.steps + 1):
            if stop() or exhausted(run, spent):
                break
            for updater in run.updaters.values():
                updater.spent = spent / budget if budget else 0.0
            metrics = train_step(run, log, step, pool)
            spent += sampled_tokens(metrics)
            metrics[SPENT] = spent
            if settings.validate_every and step % settings.validate_every == 0:
                metrics |= validate(run)
            log.metrics(step, metrics)
            on_step(step, metrics)
            done = step
            if step % settings.checkpoint_every == 0 or step == settings.steps:
                save(run, done)
    if done % settings.checkpoint_every and done != settings.steps:
        save(run, done)
    return done


def exhausted(run: Run, spent: int) -> bool:
    """Whether the run has sampled all that it may, or learns nothing in the first place."""
    budget = run.config.budget.sampled_tokens
    return not run.algorithm.trains or (budget > 0 and spent >= budget)


def train_step(run: Run, log: RunLog, step: int, pool: ThreadPoolExecutor) -> dict[str, float]:
    """Sample, learn, sync, probe."""
    started = perf_counter()
    episodes = run_loop(sample_episodes(run, step), run.engine)
    sampled = perf_counter()
    groups = groups_of((event for episode in episodes for event in episode.events), run.algorithm)
    if not groups:
        failures = sorted({episode.failure for episode in episodes})
        raise BadValue(f"step {step} sampled nothing to learn from: every episode failed ({', '.join(failures)}).")
    if (every := run.config.log_rollouts_every) and (step - 1) % every == 0:
        log.rollouts(rollouts_log.rows(step, groups, run.algorithm.advantage, run.game))
    metrics = of_episodes(episodes) | of_groups(groups) | visits.of_training(run.game, episodes)
    metrics |= learn(run, groups, step, pool)
    sync(run, groups)
    log.timings(step, {"sample": sampled - started, "learn": perf_counter() - sampled})
    return metrics


def training_task(run: Run, number: int) -> Task:
    """The number-th training task: fresh ones from an endless source, round and round a finite one."""
    tasks = run.game.domain.tasks
    size = tasks.size("train")
    return tasks.get("train", number if size is None else number % size)


async def sample_episodes(run: Run, step: int) -> list[Episode]:
    count = run.config.train.tasks
    numbers = range((step - 1) * count, step * count)
    key = (run.config.seed, step)
    rollouts = [run.algorithm.rollout(run.team, training_task(run, n), (*key, n)) for n in numbers]
    return [episode for episodes in await asyncio.gather(*rollouts) for episode in episodes]


def learn(run: Run, groups: Sequence[Group], step: int, pool: ThreadPoolExecutor) -> dict[str, float]:
    """One optimiser step per mini-batch and policy; policies side by side, each in its own thread."""
    algo, found = run.config.algo, list[Mapping[str, float]]()
    policies = Policies(
        updaters=run.updaters,
        pad_ids={p: tokenizer.pad_token_id for p, tokenizer in run.tokenizers.items()},
        micro_batch_tokens=algo.micro_batch_tokens,
        pool=pool,
    )
    for epoch in range(algo.epochs):
        for part in split(groups, algo.mini_batches, (run.config.seed, step, epoch)):
            rows = rows_of(part, lambda a: run.policies[role_of(a)], run.algorithm, algo.drop_zero_variance)
            learning = [p for p in run.updaters if p in rows and p not in run.config.policies.frozen]
            wanted = {policy: needed(run, rows[policy]) for policy in learning}
            found += update(policies, wanted, run.algorithm.objective)
    return average(found)


def needed(run: Run, rows: Sequence[Row]) -> Sequence[Row]:
    """Rows without advantage have no gradient: where neither KL nor entropy needs them they are not computed
    (their groups stay in the denominator through the weights)."""
    algo = run.config.algo
    if not algo.kl and not algo.entropy and algo.loss == "group":
        return [row for row in rows if row.advantage]
    return rows


def sync(run: Run, groups: Sequence[Group]) -> None:
    """Tell the engine, then compare the log-probs of one sampled reply per policy. Raises EngineParted."""
    probes = {run.policies[role_of(a)]: (g.actions[0], a) for g in groups for a in g.actions[0].members}
    for policy, updater in run.updaters.items():
        run.engine.sync(policy, updater.steps)
        if policy not in probes:
            continue
        action, agent = probes[policy]
        rows = rows_of([Group(key=(), actions=(action,))], lambda a: a, run.algorithm, False)
        batch = pad(rows[agent], run.tokenizers[policy].pad_token_id)
        ours = updater.logps(batch)[0].tolist()
        prompt, completion = action.event.prompts[agent], action.candidate.completions[agent]
        theirs = run.engine.logps(policy, prompt, completion, run.config.algo.temperature)
        worst = max(abs(a - b) for a, b in zip(ours, theirs, strict=True))
        if worst > PROBE_TOLERANCE:
            raise EngineParted(
                f"after the sync of {policy!r} to version {updater.steps} engine and trainer differ by {worst:.2g} "
                "nats on a token; the weights did not arrive."
            )


def save(run: Run, step: int) -> int:
    parts = {p: (run.models[p], run.tokenizers[p], run.updaters[p].state_dict()) for p in run.updaters}
    manifest = checkpoint.Manifest(step=step, identity=run.identity)
    checkpoint.save(run.folder / "checkpoints", manifest, parts, run.config.train.keep_checkpoints)
    return step


def load(run: Run) -> int:
    """Fill models and updaters from the newest checkpoint. -> its step."""
    path = checkpoint.latest(run.folder / "checkpoints")
    manifest = checkpoint.read(path, run.identity)
    for policy, updater in run.updaters.items():
        checkpoint.load_weights(path, policy, run.models[policy])
        updater.load_state_dict(checkpoint.load_updater(path, policy))
        run.engine.sync(policy, updater.steps)
    return manifest.step
