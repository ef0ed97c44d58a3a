"""Every algorithm makes a step through the whole loop, with scripted replies to a tiny model."""

import json
import os
from dataclasses import replace

import pytest

from masgym.rng import keyed
from mastrain import algorithms, assemble, runlog
from mastrain.__main__ import compose_run
from mastrain.algorithms.base import Algorithm, per_group
from mastrain.algorithms.flat_grpo import flat_rollout, per_member_of_task
from mastrain.config import parse
from mastrain.engines.transformers import TransformersEngine
from mastrain.main import main
from mastrain.objectives import token_clip
from mastrain.paths import configs_dir
from mastrain.types import Completion

TINY = [
    "experiment=smoke",
    "env=plan_path",
    "env.T=2",
    "model.hidden=16",
    "model.layers=1",
    "model.heads=2",
    "model.warmstart.steps=0",
    "train.tasks=2",
    "train.eval_tasks=2",
    "train.validate_every=0",
    "train.steps=1",
    "algo.branches=3",
]
ALGOS = sorted(path.stem for path in (configs_dir() / "algo").glob("*.yaml"))


@pytest.fixture(autouse=True, scope="module")
def _cache(tmp_path_factory):
    os.environ["MASGYM_CACHE"] = str(tmp_path_factory.mktemp("cache"))


class Scripted(TransformersEngine):
    """Replies come from a script; their log-probs are the model's own, as if they had been sampled."""

    def generate(self, requests):
        return [tuple(self._said(request, c) for c in range(request.n)) for request in requests]

    def _said(self, request, c):
        text = self._text(request, c)
        tokenizer = self._tokenizers[request.policy]
        ids = (*tokenizer.encode(text, add_special_tokens=False), tokenizer.eos_token_id)
        empty = Completion(
            text=text, ids=ids, logps=(), finish="stop", policy=request.policy, version=self._versions[request.policy]
        )
        return replace(empty, logps=self.logps(request.policy, request.prompt, empty, request.sampling.temperature))

    def _text(self, request, c):
        rng = keyed(*request.key, request.prompt.agent, c)
        return "0,1" if request.prompt.agent == "router_0" else "".join(rng.choice(list("UDLR"), size=2))


@pytest.fixture(autouse=True)
def _scripted(monkeypatch):
    monkeypatch.setattr(assemble, "TransformersEngine", Scripted)


def start(folder, *overrides):
    data = compose_run([*TINY, f"run_dir={folder}", *overrides])
    assert main(parse(data), data) == 0
    lines = (folder / runlog.METRICS).read_text().splitlines() if (folder / runlog.METRICS).exists() else []
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("algo", ALGOS)
def test_every_algorithm_makes_a_step(tmp_path, algo):
    steps = start(tmp_path / "run", f"algo={algo}")
    if algo in ("warm", "best_of_k"):
        assert steps == []
        return
    (step,) = steps
    norms = [x for name, x in step.items() if name.endswith("/grad_norm")]
    assert norms
    assert all(x > 0 for x in norms)
    assert step[runlog.SPENT] == step["sample/tokens"] + step["sample/playout_tokens"] > 0


@pytest.mark.parametrize("algo", ["srpo", "srpo_tree"])
@pytest.mark.parametrize("workflow", ["ensemble", "routed"])
def test_sets_of_several_policies_learn_over_several_updates(tmp_path, algo, workflow):
    """With two epochs the ratio matters: it leaves 1, and is logged by set size."""
    (step,) = start(
        tmp_path / "run", f"algo={algo}", f"workflow={workflow}", "algo.epochs=2", "algo.mini_batches=2", "algo.lr=0.01"
    )
    size = 3 if workflow == "ensemble" else 2
    assert step[f"sets/K{size}/candidates"] > 0
    assert step[f"sets/K{size}/log_ratio_variance"] > 0
    assert {f"sets/K{size}/{name}" for name in ("ratio", "clip_fraction", "advantage")} <= set(step)
    assert step["worker/grad_norm"] > 0
    assert step["aggregator/grad_norm"] > 0


def test_an_algorithm_in_ten_lines(tmp_path, monkeypatch):
    def ranks(config):
        """GRPO with ranks in place of rewards."""
        return Algorithm(
            rollout=flat_rollout(config),
            actions=per_member_of_task,
            advantage=lambda rewards: tuple(sum(r > x for x in rewards) - sum(r < x for x in rewards) for r in rewards),
            weights=per_group,
            objective=token_clip(config.clip),
        )

    monkeypatch.setitem(algorithms.ALGORITHMS, "ranks", ranks)
    (step,) = start(tmp_path / "run", "algo=team_grpo", "algo.name=ranks")
    assert step["actor/grad_norm"] > 0


def test_a_budget_ends_training_with_the_step_that_reaches_it(tmp_path):
    overrides = ["algo=team_grpo", "train.steps=10000", "budget.sampled_tokens=150", "algo.mini_batches=1"]
    steps = start(tmp_path / "run", *overrides)
    spent = [row[runlog.SPENT] for row in steps]
    assert spent == sorted(spent)
    assert spent[-1] >= 150
    assert all(x < 150 for x in spent[:-1])
    assert len(spent) < 9
    rates = [row["actor/learning_rate"] / 2.5e-4 for row in steps]  # as what is spent before a step says
    assert rates == pytest.approx([1 - before / 150 for before in [0, *spent[:-1]]], abs=2e-4)
    assert (tmp_path / "run" / "after.json").exists()
    log = runlog.RunLog(tmp_path / "run", len(spent))
    assert log.spent == spent[-1]
    log.close()


def test_the_best_of_k_counts_and_costs_k(tmp_path):
    start(tmp_path / "run", "algo=best_of_k", "algo.branches=3", "train.eval_tasks=6")
    before, after = (json.loads((tmp_path / "run" / f"{name}.json").read_text()) for name in ("before", "after"))
    assert set(after) - {"sandbox"} == {"sampled"}
    assert after["sampled"]["success"]["mean"] >= before["sampled"]["success"]["mean"]
    assert after["sampled"]["returns"] >= before["sampled"]["returns"]
    assert after["sampled"]["tasks"] == 6
    assert after["sampled"]["episodes"] == 6
