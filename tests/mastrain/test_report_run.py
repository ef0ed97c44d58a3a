"""The report of real runs: what the trainer logs is what the report reads."""

import pytest
from scripted_teams import play_tree, team_of

import masgym
from mastrain.__main__ import compose_run
from mastrain.algorithms.base import per_member
from mastrain.config import parse
from mastrain.main import main
from mastrain.measure import of_episodes, of_groups
from mastrain.report import write_report
from mastrain.report.charts import bars, charts
from mastrain.report.diagnose import findings
from mastrain.report.reading import read_run
from mastrain.report.states import visits_of
from mastrain.types import Group

SMALL = ["experiment=smoke", "train.eval_tasks=2", "train.validate_tasks=6", "model.hidden=32", "model.layers=1"]


def test_calls_and_tool_calls_are_counted():
    game = masgym.game("search", "pair", T=2, level="nano")
    episode = play_tree(team_of(game, lambda request, c: f"?x{c}"), game.domain.tasks.get("train", 0))
    candidates = sum(len(event.candidates) for event in episode.events)
    found = of_episodes([episode])
    assert found["sample/calls"] == candidates
    results = [c.transition.state.log[-1][1] for event in episode.events for c in event.candidates]
    assert found["sample/tool_calls"] == sum(len(r) for by_agent in results for r in by_agent.values()) > 0


def test_groups_of_one_are_counted():
    game = masgym.game("sokoban", "pair", T=1)
    episode = play_tree(team_of(game, lambda request, c: "UDLR"[c]), game.domain.tasks.get("train", 0))
    actions = [action for event in episode.events for _, action in per_member(event)]
    groups = [Group(key=(0,), actions=tuple(actions[:3])), Group(key=(1,), actions=tuple(actions[3:4]))]
    assert of_groups(groups)["groups/singleton"] == 0.5


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MASGYM_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def ran(folder, *overrides):
    data = compose_run([*SMALL, *overrides, f"run_dir={folder}"])
    assert main(parse(data), data) == 0
    return read_run(folder)


@pytest.mark.slow
def test_at_grpo(tmp_path):
    run = ran(tmp_path / "run", "env=sokoban")
    visits = visits_of(run)
    assert sum(n for (turn, _), n in visits.training.items() if turn == 1) == 2 * 4 * 2  # agents, tasks, steps
    assert sum(n for (turn, _), n in visits.alone.items() if turn == 1) == 2 * 6
    abouts = {finding.about for finding in findings(run)}
    assert {"dead states", "states in training and alone", "signal by role", "malformed replies", "entropy"} <= abouts
    assert [one.title for one in findings(run) if one.severity == "unknown"] == ["Too few episodes to tell"]
    titles = {chart.title for chart in charts(run)}  # a name that changes in the trainer would leave a hole
    assert len(titles) == 20, titles
    page = write_report(tmp_path / "run", tmp_path / "run" / "report.html").read_text()
    assert page.count('href="report-episodes.html#episode-') > 0


@pytest.mark.slow
def test_srpo_by_set_size(tmp_path):
    run = ran(tmp_path / "run", "env=sokoban", "algo=srpo", "workflow=ensemble", "algo.epochs=2")
    drawn = {chart.title: chart for chart in charts(run)}
    assert set(drawn["Ratio"].curves) == set(drawn["Clip fraction"].curves)
    assert {"K1", "K3"} >= set(drawn["Ratio"].curves) > set()  # sizes whose sets are all alike are not updated
    assert any(y != 1 for points in drawn["Ratio"].curves.values() for _, y in points)
    (sizes,) = (one for one in bars(run) if one.title == "Size of the active set")
    assert set(sizes.sides["sampled"]) == {"K = 1", "K = 3"}
    assert {group.roles for group in run.groups} == {("worker", "tool"), ("aggregator",)}


@pytest.mark.slow
def test_without_training(tmp_path):
    run = ran(tmp_path / "run", "env=sokoban", "algo=best_of_k")
    assert [f.title for f in findings(run) if f.about == "held-out success"] == ["algo=best_of_k trains nothing"]
    assert not (tmp_path / "run" / "metrics.jsonl").exists()
    assert "trains nothing" in write_report(tmp_path / "run", tmp_path / "report.html").read_text()
