"""What training does with the sets of real teams, some members frozen, is the gradient of SRPO's Eq. 7 (arXiv
2609.08452): the whole path from the environments to the weights, against one graph over all members."""

import copy
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from test_algorithm_runs import TINY, Scripted

from masgym.game import role_of
from masgym.rng import keyed
from mastrain import assemble
from mastrain.__main__ import compose_run
from mastrain.algorithms import groups_of
from mastrain.config import parse
from mastrain.engines.base import run as run_loop
from mastrain.trainer import learn, sample_episodes

SETTINGS = [
    *("algo.entropy=0", "algo.entropy_target=0", "algo.kl=0", "algo.max_grad_norm=1e9", "algo.temperature=1.2"),
    *("algo.mini_batches=1", "algo.clip=0.05", "train.tasks=3", "algo.branches=4", "algo.schedule=constant"),
]


ROUTES = ("0", "0,2", "0,1,2", "0,1,2", "STOP", "U")


class Routed(Scripted):
    """Sets of every size, and routes that are none."""

    def _text(self, request, c):
        if request.prompt.agent != "router_0":
            return super()._text(request, c)
        return str(keyed(*request.key, "route", c).choice(ROUTES))


@pytest.fixture
def assembled(monkeypatch, tmp_path):
    monkeypatch.setattr(assemble, "TransformersEngine", Routed)

    def make(*overrides):
        config = parse(compose_run([*TINY, *SETTINGS, f"run_dir={tmp_path}", *overrides]))
        return assemble.assemble(config, tmp_path, lambda line: None)

    return make


def moved(run, frozen, by=0.02):
    """Policies that learn are no longer those that sampled."""
    draws = torch.Generator().manual_seed(0)
    for policy, updater in run.updaters.items():
        if policy not in frozen:
            updater.steps += 1
            with torch.no_grad():
                for parameter in run.models[policy].parameters():
                    parameter.add_(by * torch.randn(parameter.shape, generator=draws))


def log_ratio(model, action, agent, temperature):
    """l_j by a plain forward pass over prompt and reply."""
    prompt, reply = action.event.prompts[agent], action.candidate.completions[agent]
    logits = model(input_ids=torch.tensor([[*prompt.ids, *reply.ids]])).logits[0, len(prompt.ids) - 1 : -1]
    now = torch.log_softmax(logits / temperature, -1).gather(-1, torch.tensor(reply.ids)[:, None])[:, 0]
    return (now - torch.tensor(reply.logps)).sum()


def eq_7(run, models, groups):
    """-J, and for each action its size and whether it was clipped."""
    config, losses, fared = run.config.algo, [], []
    for group in groups:
        for action, advantage in zip(group.actions, run.algorithm.advantage(group.rewards), strict=True):
            own = [log_ratio(models[run.policies[role_of(a)]], action, a, config.temperature) for a in action.members]
            ratio = torch.exp(sum(own) / len(own) ** 0.5)
            clipped = ratio.clamp(1 - config.clip, 1 + config.clip)
            losses.append(-torch.minimum(ratio * advantage, clipped * advantage))
            fared.append((len(own), bool(advantage and (clipped * advantage < ratio * advantage))))
    return torch.stack(losses).mean(), fared


@pytest.mark.parametrize("algo", ["srpo", "srpo_tree"])
@pytest.mark.parametrize("workflow", ["ensemble", "routed"])
@pytest.mark.parametrize("frozen", [("worker",), ("aggregator", "tool")])
def test_a_step_of_real_teams_is_the_gradient_of_the_joint_objective(assembled, algo, workflow, frozen):
    micro = "algo.micro_batch_tokens=1"  # a prompt each
    run = assembled(f"algo={algo}", f"workflow={workflow}", micro, f"policies.frozen=[{','.join(frozen)}]")
    groups = groups_of(
        (event for episode in run_loop(sample_episodes(run, 1), run.engine) for event in episode.events), run.algorithm
    )
    moved(run, frozen)
    before = {policy: copy.deepcopy(model) for policy, model in run.models.items()}
    loss, fared = eq_7(run, before, groups)
    loss.backward()
    assert {size for size, _ in fared} >= {1, 3}
    assert {clipped for _, clipped in fared} == {True, False}
    with ThreadPoolExecutor(2) as pool:
        learn(run, groups, 1, pool)
    for policy, model in run.models.items():
        for (name, ours), theirs in zip(model.named_parameters(), before[policy].parameters(), strict=True):
            if policy in frozen:
                assert ours.grad is None
                assert ours.equal(theirs)
            else:
                torch.testing.assert_close(ours.grad, theirs.grad, atol=3e-6, rtol=1e-3, msg=f"{policy} {name}")
