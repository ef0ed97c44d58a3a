"""Each diagnostic on a run made by hand in which its fault is, and on one in which it is not."""

import pytest
from report_folders import END, START, STEPS, VISITS, four_groups, metrics, reply, report, run_folder

from mastrain.report import states
from mastrain.report.diagnose import DIAGNOSTICS, RULES, findings
from mastrain.report.reading import read_run

PROBLEMS = ("fault", "warning", "note")


def found(tmp_path, about, rows=None, **parts):
    """(severity, title) of what one diagnostic says."""
    run = read_run(run_folder(tmp_path / "run", rows, **parts))
    return [(one.severity, one.title) for one in findings(run) if one.about == about]


def said(tmp_path, about, rows=None, **parts):
    """Its whole text."""
    run = read_run(run_folder(tmp_path / "run", rows, **parts))
    return " ".join(f"{o.title} {o.seen} {' '.join(o.advice)}" for o in findings(run) if o.about == about)


def test_a_healthy_run_has_no_problem(tmp_path):
    run = read_run(run_folder(tmp_path / "run"))
    every = findings(run)
    assert [one for one in every if one.severity != "good"] == []
    assert {one.about for one in every} == {
        "held-out success", "zero-variance groups", "signal by role", "entropy", "dead states", "malformed replies",
        "states in training and alone", "reward and success", "clipping", "gradient norm", "cut-off replies",
        "missing replies",
    }  # fmt: skip
    assert len(every) == len(DIAGNOSTICS) - 2  # the end of the run and finite numbers need no word


def falling(name, first, last):
    return lambda step: {name: first + (last - first) * step / STEPS}


CASES = {
    "zero variance": (
        "zero-variance groups", {"groups/zero_variance": 0.6}, {}, "warning", "60 % of the groups teach nothing",
    ),
    "hardly any variance": ("zero-variance groups", {"groups/zero_variance": 0.9}, {}, "fault", "90 %"),
    "a flat role": ("signal by role", {"groups/zero_variance/tool": 0.99}, {}, "fault", "tool gets no signal"),
    "a flat set": (
        "signal by role",
        {"groups/zero_variance/tool": None, "groups/zero_variance/actor": None, "groups/zero_variance/tool+actor": 1.0},
        {}, "fault", "tool gets no signal",
    ),
    "a role that never speaks": ("signal by role", {"tool/reward": None}, {}, "fault", "tool is never asked"),
    "a still policy": ("signal by role", {"tool/grad_norm": 0.0}, {}, "fault", "tool does not move"),
    "a frozen policy": ("signal by role", {}, {"policies": {"frozen": ["tool"]}}, "note", "tool is frozen"),
    "certain": ("entropy", {"actor/entropy": 0.05}, {}, "warning", "Entropy of actor has collapsed"),
    "certain and flat": (
        "entropy", {"actor/entropy": 0.05, "groups/zero_variance": 0.6}, {}, "fault", "Entropy of actor has collapsed",
    ),
    "dead": ("dead states", {"sample/lost": 0.1, "validation/lost": 0.3}, {}, "warning", "30 % of the episodes"),
    "mostly dead": ("dead states", {"validation/lost": 0.6}, {}, "fault", "60 % of the episodes are lost for good"),
    "malformed": ("malformed replies", {"tool/malformed": 0.2}, {}, "warning", "Malformed replies: tool 20 %"),
    "mostly malformed": ("malformed replies", {"tool/malformed": 0.5}, {}, "fault", "tool 50 %"),
    "cut off": ("cut-off replies", {"actor/truncated": 0.2}, {}, "warning", "cut off"),
    "missing": ("missing replies", {"sample/dropped_candidates": 50}, {}, "warning", "4.8 % of the candidates"),
    "many missing": ("missing replies", {"sample/dropped_candidates": 500}, {}, "fault", "33 % of the candidates"),
    "clipped tokens": ("clipping", {"tool/clip_fraction": 0.5}, {}, "warning", "Many tokens are clipped: tool"),
    "clipped sets": (
        "clipping", {"sets/K1/clip_fraction": 0.0, "sets/K5/clip_fraction": 0.5}, {}, "warning",
        "Many sets are clipped: K5",
    ),
    "far": ("clipping", {"tool/approx_kl": 0.3}, {}, "warning", "tool moves far in one step"),
    "always cut": ("gradient norm", {"tool/grad_norm": 3.0}, {}, "note", "Gradients of tool are cut"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_fault_is_found(tmp_path, case):
    about, change, config, severity, title = CASES[case]
    seen = found(tmp_path, about, metrics(lambda step: change), config=config)
    assert any(s == severity and title in t for s, t in seen), seen


@pytest.mark.parametrize(
    ("about", "change"),
    [
        ("zero-variance groups", {"groups/zero_variance": 0.49}),
        ("signal by role", {"groups/zero_variance/tool": 0.9}),
        ("entropy", {"actor/entropy": 0.12}),  # low from the start, and not less at the end
        ("dead states", {"validation/lost": 0.19}),
        ("malformed replies", {"tool/malformed": 0.09}),
        ("cut-off replies", {"actor/truncated": 0.04}),
        ("missing replies", {"sample/dropped_candidates": 5}),
        ("clipping", {"tool/clip_fraction": 0.29, "tool/approx_kl": 0.09}),
    ],
)
def test_what_is_below_the_threshold_is_no_fault(tmp_path, about, change):
    assert [severity for severity, _ in found(tmp_path, about, metrics(lambda step: change))] == ["good"]


def test_a_fault_that_has_passed_is_none(tmp_path):
    """The end of the run counts."""
    rows = metrics(lambda step: {"groups/zero_variance": 0.9, "tool/malformed": 0.8} if step < 15 else {})
    for about in ("zero-variance groups", "malformed replies"):
        assert [severity for severity, _ in found(tmp_path, about, rows)] == ["good"]


def test_a_silent_role_is_advised_what_the_run_does_not_do_already(tmp_path):
    rows = metrics(lambda step: {"groups/zero_variance/tool": 0.99})
    tree = {"algo": {"advice_credit": "immediate"}, "policies": {"kind": "per_role"}}
    told = said(tmp_path, "signal by role", rows, config=tree)
    assert "algo.advice_credit=turn" in told
    assert "policies=shared" in told
    flat = {"algo": {"advice_credit": "episode"}, "policies": {"kind": "shared"}}
    told = said(tmp_path / "flat", "signal by role", rows, config=flat)
    assert "advice_credit" not in told
    assert "policies=shared" not in told


def test_entropy_that_falls_or_rises(tmp_path):
    assert found(tmp_path, "entropy", metrics(falling("tool/entropy", 1.5, 0.2)))[0][0] == "warning"
    assert found(tmp_path, "entropy", metrics(falling("tool/entropy", 1.5, 0.6)))[0][0] == "good"
    rising = metrics(falling("tool/entropy", 0.5, 2.0))
    assert found(tmp_path, "entropy", rising) == [("warning", "Entropy of tool rises")]


def overgrown(entropy=1.4, bonus=0.23, success=0.0, reward=None):
    """Entropy of the start below its target: the bonus grows to `bonus` by step 14, then entropy rises to `entropy`."""

    def change(step):
        before, after = (min(step, 14) - 1) / 13, max(0, step - 14) / 3
        row = {
            "tool/entropy": 0.43 - 0.15 * before + min(1, after) * (entropy - 0.28),
            "tool/entropy_coefficient": 0.01 + (bonus - 0.01) * before if step < 18 else 0.01,
            "actor/entropy_coefficient": 0.01,
            "sample/success": 0.2 + 0.2 * before + min(1, after) * (success - 0.4),
        }
        return row | ({} if reward is None else {"tool/reward": min(1, after) * reward + 0.01 * (step % 2)})

    return metrics(change)


def test_a_bonus_whose_target_lies_above_what_the_policy_needs(tmp_path):
    config = {"algo": {"entropy": 0.01, "entropy_target": 0.5}}
    says = [("fault", "The entropy bonus of tool has undone what was learned")]
    assert found(tmp_path, "entropy", overgrown(), config=config) == says
    text = said(tmp_path, "entropy", overgrown(), config=config)
    assert "from 0.01 to 0.23 (step 14), entropy from 0.29 nats a token at the least to 1.40 at the end" in text
    assert "success in training fell from 38 % to 0 %" in text
    assert "`algo.entropy_target` (now 0.5) lower: 0.26" in text
    assert "`algo.entropy_target=0`" in text
    assert found(tmp_path, "entropy", overgrown(success=0.4, reward=-0.5), config=config) == says  # reward tells, too


@pytest.mark.parametrize(
    "other",
    [{"entropy": 0.4}, {"bonus": 0.03, "entropy": 0.7}, {"success": 0.3, "entropy": 0.7}],
    ids=["no noise", "bonus as it was", "still good"],
)
def test_a_bonus_that_does_its_work_is_no_fault(tmp_path, other):
    config = {"algo": {"entropy": 0.01, "entropy_target": 0.5}}
    says = [("note", "The start has less entropy than the bonus aims at: tool")]
    assert found(tmp_path, "entropy", overgrown(**other), config=config) == says
    assert "0.42; algo.entropy_target is 0.5" in said(tmp_path, "entropy", overgrown(**other), config=config)
    config = {"algo": {"entropy": 0.01, "entropy_target": 0.3}}
    assert [severity for severity, _ in found(tmp_path, "entropy", overgrown(**other), config=config)] == ["good"]


def test_the_target_that_is_advised_lies_below_the_entropy_of_the_start(tmp_path):
    """One above it makes the bonus grow without end."""
    rows = metrics(falling("tool/entropy", 0.45, 0.05))
    assert "`algo.entropy_target=0.3`" in said(tmp_path, "entropy", rows)
    config = {"algo": {"entropy": 0.01, "entropy_target": 0.5}}
    assert "`algo.entropy_target=" not in said(tmp_path, "entropy", rows, config=config)
    certain = metrics(lambda step: {"tool/entropy": 0.05})
    assert "`algo.entropy_target=" not in said(tmp_path, "entropy", certain)


def test_a_solved_task_is_no_fault(tmp_path):
    rows = metrics(lambda step: {"groups/zero_variance": 0.9, "tool/entropy": 0.05})
    parts = {"after": report(0.98, 0.96, 0.99)}
    assert found(tmp_path, "zero-variance groups", rows, **parts)[0][0] == "note"
    assert found(tmp_path, "entropy", rows, **parts)[0][0] == "note"


def test_spikes_of_the_gradient(tmp_path):
    rows = metrics(lambda step: {"tool/grad_norm": 50.0} if step == 9 else {})
    assert found(tmp_path, "gradient norm", rows) == [("warning", "Gradients of tool have spikes")]


def test_a_role_that_falls_silent(tmp_path):
    rows = metrics(lambda step: {"tool/reward": None} if step > 10 else {})
    assert found(tmp_path, "signal by role", rows) == [("fault", "tool is not asked any more")]


def test_all_roles_of_the_team_are_looked_for(tmp_path):
    config = {"workflow": {"name": "routed", "params": {"n": 2, "tools": 1}}}
    titles = [title for _, title in found(tmp_path, "signal by role", config=config)]
    assert titles == ["router is never asked", "worker is never asked", "aggregator is never asked"]


@pytest.mark.parametrize(
    ("before", "after", "severity", "title"),
    [
        (START, END, "good", "It learned: 30.0 to 60.0 %"),
        (START, report(0.33, 0.28, 0.38), "warning", "No rise in held-out success beyond the noise: 30.0 to 33.0 %"),
        (START, report(0.29, 0.24, 0.34), "fault", "No rise in held-out success beyond the noise: 30.0 to 29.0 %"),
        (END, START, "fault", "Held-out success fell: 60.0 to 30.0 %"),
        (report(0.97, 0.95, 0.99), report(0.98, 0.96, 0.99), "good", "The start solves the tasks already"),
    ],
)
def test_held_out_success(tmp_path, before, after, severity, title):
    assert found(tmp_path, "held-out success", before=before, after=after) == [(severity, title)]


def test_without_the_last_evaluation_validation_tells(tmp_path):
    assert found(tmp_path, "held-out success", after=None) == [("good", "It learned: 28.0 to 56.0 %")]
    level = metrics(lambda step: {"validation/success": 0.3} if step % 2 == 0 else {})
    assert found(tmp_path, "held-out success", level, after=None)[0][0] == "fault"
    none = metrics(lambda step: {"validation/success": None})
    assert found(tmp_path, "held-out success", none, after=None)[0][0] == "unknown"


def test_an_interrupted_run(tmp_path):
    rows = metrics(steps=7)
    assert found(tmp_path, "end of the run", rows, after=None) == [("note", "Interrupted after step 7 of 20")]
    assert found(tmp_path, "end of the run", [], after=None, before=None) == [
        ("note", "Interrupted before the first step")
    ]
    budget = {"budget": {"sampled_tokens": 35_000}}
    assert found(tmp_path, "end of the run", rows, config=budget) == []
    assert "evaluation after training is missing" in said(tmp_path, "end of the run", rows, after=None, config=budget)


def test_reward_without_success(tmp_path):
    level = metrics(lambda step: {"validation/success": 0.3} if step % 2 == 0 else {})
    parts = {"after": report(0.31, 0.26, 0.36)}
    assert found(tmp_path, "reward and success", level, **parts) == [
        ("warning", "Reward rises, held-out success does not")
    ]
    flat = metrics(lambda step: {"tool/reward": step % 2, "actor/reward": step % 2})
    assert found(tmp_path, "reward and success", flat, **parts) == []


def test_numbers_that_are_not_finite(tmp_path):
    rows = metrics(lambda step: {"tool/approx_kl": float("inf")} if step == 5 else {})
    assert found(tmp_path, "numbers", rows) == [("fault", "Some metrics are not finite")]
    assert "tool/approx_kl (step 5)" in said(tmp_path, "numbers", rows)


def test_the_cause_of_flat_groups_is_told(tmp_path):
    rows = metrics(lambda step: {"groups/zero_variance": 0.75, "groups/zero_variance/actor": 1.0})
    text = said(tmp_path, "zero-variance groups", rows, rollouts=four_groups())
    for cause in ("the same reply", "malformed replies only", "are solved by every action"):
        assert f"33 % hold {cause}" in text or f"33 % {cause}" in text
    for key in ("algo.entropy_target", "model.warmstart.steps", "env.level"):
        assert f"`{key}`" in text
    assert "algo.guide" not in text
    only = [reply("g", c, 1.0, words="R" * c) for c in range(4)]
    text = said(tmp_path, "signal by role", rows, rollouts=only)
    assert "100 % hold different replies that score the same" in text
    assert "`algo.guide` up" in text


def test_the_reasons_of_malformed_replies_are_told(tmp_path):
    rows = metrics(lambda step: {"actor/malformed": 0.4})
    text = said(tmp_path, "malformed replies", rows, rollouts=four_groups())
    assert "actor: the first move, <b>R</b>, is blocked (4)" in text


def test_groups_of_one_action(tmp_path):
    rows = metrics(lambda step: {"groups/zero_variance": 0.85, "groups/singleton": 0.7})
    assert "70 % of the groups hold one action only" in said(tmp_path, "zero-variance groups", rows)


STATES = "states in training and alone"


def alone(cells):
    """Validation meets these states instead."""
    gone = {f"validation/visits/{cell}": None for cell in VISITS}
    return lambda step: {**gone, **{f"validation/visits/{c}": n for c, n in cells.items()}} if step % 2 == 0 else {}


def test_states_of_another_kind(tmp_path):
    far = {"turn1/0": 100, "turn2/behind": 90, "turn3/behind": 50}
    assert found(tmp_path, STATES, metrics(alone(far)))[0][0] == "fault"
    near = {**VISITS, "turn2/0": 50, "turn2/50": 40}
    assert found(tmp_path, STATES, metrics(alone(near)))[0][0] == "good"
    some = {"turn1/0": 120, "turn2/0": 70, "turn3/25": 40, "turn3/75": 10}
    assert found(tmp_path, STATES, metrics(alone(some)))[0][0] == "warning"
    assert "turn 2, from 50 % of the way: 21 % in training, 0 % alone" in said(tmp_path, STATES, metrics(alone(some)))


def test_few_episodes_tell_nothing(tmp_path):
    config = {"train": {"tasks": 1, "validate_tasks": 2}}
    assert found(tmp_path, STATES, config=config) == [("unknown", "Too few episodes to tell")]


def test_what_training_leaves_out_on_purpose_is_told_apart(tmp_path):
    cells = {**VISITS, "turn4/75": 60, "turn2/lost": 60}
    config = {"algo": {"turns": 3, "stop_hopeless": True}}
    seen = found(tmp_path, STATES, metrics(alone(cells)), config=config)
    assert [severity for severity, _ in seen] == ["note", "good"]
    assert seen[0][1].startswith("33 % of the policy's decisions alone")
    assert [severity for severity, _ in found(tmp_path, STATES, metrics(alone(cells)))] == ["warning"]


def test_the_distance_by_hand():
    one, other = {(1, "0"): 3, (2, "0"): 1}, {(1, "0"): 10, (2, "50"): 10}
    assert states.total_variation(one, other) == pytest.approx(0.5)  # (|.75-.5| + .25 + .5) / 2
    assert states.total_variation(one, one) == 0
    assert states.total_variation(one, {(3, "0"): 1}) == 1
    half = {(1, "0"): 1, (2, "0"): 1}
    # two cells of 1/2: each mean |difference| = sqrt(2/pi) sqrt(1/4 * (1/100 + 1/100)); half their sum
    assert states.expected_by_chance(half, half, (100, 100)) == pytest.approx(0.7979 * 0.0707, rel=1e-3)


def test_the_end_of_training_is_compared_with_the_last_validations(tmp_path):
    """Early states do not count."""
    early = {f"visits/{cell}": None for cell in VISITS} | {"visits/turn9/lost": 500}
    rows = metrics(lambda step: early if step <= 12 else {})
    assert found(tmp_path, STATES, rows)[0][0] == "good"


@pytest.mark.parametrize("about", ["dead states", STATES, "clipping", "entropy", "zero-variance groups"])
def test_what_was_not_logged_is_not_known(tmp_path, about):
    gone = ("visits/", "lost", "clip_fraction", "entropy", "groups/")
    rows = [{n: x for n, x in row.items() if not any(part in n for part in gone)} for row in metrics()]
    assert [severity for severity, _ in found(tmp_path, about, rows)] == ["unknown"]


def test_dead_states_of_training_where_nothing_was_validated(tmp_path):
    rows = [
        {n: x for n, x in row.items() if not n.startswith("validation")}
        for row in metrics(lambda step: {"sample/lost": 0.5})
    ]
    assert found(tmp_path, "dead states", rows) == [("fault", "50 % of the episodes are lost for good")]


@pytest.mark.parametrize("algo", ["warm", "best_of_k"])
def test_a_run_that_trains_nothing(tmp_path, algo):
    run = read_run(run_folder(tmp_path / "run", [], config={"algo": {"name": algo}}))
    seen = {one.about: one for one in findings(run)}
    assert set(seen) == {"held-out success", "malformed replies"}
    assert seen["held-out success"].title == f"algo={algo} trains nothing"


def test_advice_says_what_is_set_now(tmp_path):
    rows = metrics(lambda step: {"validation/lost": 0.6})
    text = said(tmp_path, "dead states", rows, config={"algo": {"stop_hopeless": True, "lost": -2.4}})
    assert "`algo.lost` (now -2.4) lower" in text
    assert "stop_hopeless" not in text
    assert "`algo.guide` up" in text  # not in this config
    assert "`algo.stop_hopeless=true`" in said(tmp_path, "dead states", rows)


def test_every_finding_helps(tmp_path):
    """Problems say what was seen, and those that can be helped name a config key; each has a rule."""
    for case, (about, change, config, severity, _) in CASES.items():
        run = read_run(run_folder(tmp_path / case, metrics(lambda step, change=change: change), config=config))
        for one in findings(run):
            if one.about != about or one.severity not in PROBLEMS:
                continue
            assert one.seen, case
            assert about in RULES, case
            if severity != "note":
                assert one.why, case
                assert any("`" in advice for advice in one.advice), case
