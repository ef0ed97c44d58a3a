"""The loop.

evaluate (held-out tasks)
  |
  v
tasks --tree, per task--> episodes --actions--> groups --advantage--> rows --pad--> batches
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
from dataclasses import replace
from time import perf_counter

from masgym.errors import BadValue
from masgym.evaluate import evaluate
from masgym.game import role_of
from masgym.report import Report, summarise
from masgym.types import Split, Task
from mastrain import checkpoint
from mastrain.algorithms import groups_of, rows_of, split
from mastrain.assemble import Run
from mastrain.batch import Batch, micro_batches, pad
from mastrain.engines.base import run as run_loop
from mastrain.measure import average, of_episodes, of_groups
from mastrain.players import EnginePlayer
from mastrain.runlog import RunLog
from mastrain.types import Episode, Group, Row

PROBE_TOLERANCE = 1e-3  # nats a token between engine and trainer after a sync


class EngineParted(RuntimeError):
    """After a weight sync the engine's log-probs are not the trainer's."""


def train(
    run: Run, log: RunLog, done: int, stop: Callable[[], bool], on_step: Callable[[int, Mapping[str, float]], None]
) -> int:
    """Steps done+1 .. train.steps; ends early, after a whole step, when `stop` says so. -> the last step done."""
    settings = run.config.train
    with ThreadPoolExecutor(max_workers=len(run.updaters)) as pool:
        for step in range(done + 1, settings.steps + 1):
            if stop():
                break
            metrics = train_step(run, log, step, pool)
            if settings.validate_every and step % settings.validate_every == 0:
                reports = evaluate_run(run, settings.validate_tasks, "validation", greedy=(False,))
                metrics["validation/success"] = reports["sampled"].success.mean
            log.metrics(step, metrics)
            on_step(step, metrics)
            done = step
            if step % settings.checkpoint_every == 0 or step == settings.steps:
                save(run, done)
    if done % settings.checkpoint_every and done != settings.steps:
        save(run, done)
    return done


def train_step(run: Run, log: RunLog, step: int, pool: ThreadPoolExecutor) -> dict[str, float]:
    """Sample, learn, sync, probe."""
    started = perf_counter()
    episodes = run_loop(sample_episodes(run, step), run.engine)
    sampled = perf_counter()
    groups = groups_of((event for episode in episodes for event in episode.events), run.algorithm)
    if not groups:
        failures = sorted({episode.failure for episode in episodes})
        raise BadValue(f"step {step} sampled nothing to learn from: every episode failed ({', '.join(failures)}).")
    metrics = of_episodes(episodes) | of_groups(groups) | learn(run, groups, step, pool)
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
    rollouts = [run.algorithm.rollout(run.team, training_task(run, n), (*key, n, 0)) for n in numbers]
    return list(await asyncio.gather(*rollouts))


def learn(run: Run, groups: Sequence[Group], step: int, pool: ThreadPoolExecutor) -> dict[str, float]:
    """One optimiser step per mini-batch and policy; policies side by side, each in its own thread."""
    algo, found = run.config.algo, list[Mapping[str, float]]()
    for epoch in range(algo.epochs):
        for part in split(groups, algo.mini_batches, (run.config.seed, step, epoch)):
            rows = rows_of(part, lambda a: run.policies[role_of(a)], run.algorithm, algo.drop_zero_variance)
            batches = {policy: batches_of(run, policy, rows[policy]) for policy in run.updaters if rows.get(policy)}
            jobs = {p: pool.submit(run.updaters[p].step, b, run.algorithm.objective) for p, b in batches.items() if b}
            found += [{f"{p}/{name}": x for name, x in job.result().items()} for p, job in jobs.items()]
    return average(found)


def batches_of(run: Run, policy: str, rows: Sequence[Row]) -> list[Batch]:
    """Rows without advantage have no gradient: where neither KL nor entropy needs them they are not computed
    (their groups stay in the denominator through the weights)."""
    algo = run.config.algo
    if not algo.kl and not algo.entropy and algo.loss == "group":
        rows = [row for row in rows if row.advantage]
    return list(micro_batches(rows, run.tokenizers[policy].pad_token_id, algo.micro_batch_tokens))


def sync(run: Run, groups: Sequence[Group]) -> None:
    """Tell the engine, then compare the log-probs of one sampled reply per policy. Raises EngineParted."""
    probes = {run.policies[role_of(g.actions[0].members[0])]: g.actions[0] for g in groups}
    for policy, updater in run.updaters.items():
        run.engine.sync(policy, updater.steps)
        if policy not in probes:
            continue
        action = probes[policy]
        agent = action.members[0]
        row = rows_of([Group(key=(), actions=(action,))], lambda _: "probe", run.algorithm, False)["probe"][0]
        batch = pad([row], run.tokenizers[policy].pad_token_id)
        ours = updater.logps(batch)[0].tolist()
        prompt, completion = action.event.prompts[agent], action.candidate.completions[agent]
        theirs = run.engine.logps(policy, prompt, completion, run.config.algo.temperature)
        worst = max(abs(a - b) for a, b in zip(ours, theirs, strict=True))
        if worst > PROBE_TOLERANCE:
            raise EngineParted(
                f"after the sync of {policy!r} to version {updater.steps} engine and trainer differ by {worst:.2g} "
                "nats on a token; the weights did not arrive."
            )


def evaluate_run(
    run: Run,
    tasks: int,
    split: Split = "test",
    greedy: Sequence[bool] = (False, True),
) -> dict[str, Report]:
    """ "sampled" (temperature 1) and "greedy" reports on held-out tasks: one candidate a turn, no search."""
    reports: dict[str, Report] = {}
    for is_greedy in greedy:
        sampling = replace(run.team.sampling, temperature=1.0, greedy=is_greedy)
        player = EnginePlayer(engine=run.engine, policies=run.policies, encode=run.team.encode, sampling=sampling)
        key = (run.config.seed, "evaluate", split)
        played = evaluate(
            run.game, {"*": player}, tasks=tasks, split=split, key=key, run=run.team.run_calls
        )
        reports["greedy" if is_greedy else "sampled"] = summarise(run_loop(played, run.engine))
    return reports


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
