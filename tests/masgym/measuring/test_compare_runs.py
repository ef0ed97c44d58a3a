"""Runs side by side."""

import asyncio
import json

import pytest

import masgym
from masgym.agents.base import Reply
from masgym.agents.oracle import OracleAgent
from masgym.compare import compare, compare_runs, markdown, table
from masgym.errors import BadFile, BadValue
from masgym.estimates import paired_difference
from masgym.folder import play_run
from masgym.runs import plan


class Some:
    """Solves the tasks whose index is below a bound."""

    def __init__(self, bound):
        self.bound = bound

    async def act(self, request):
        state = request.state
        right = state.task.index < self.bound
        return Reply(text=request.game.oracle(state, request.observation.agent) if right else "", tokens=5)


def run(folder, agent, name="x", workflow="solo", domain="plan_path", tasks=8, **options):
    planned = plan(masgym.game(domain, workflow), {"*": name}, tasks=tasks, **options)
    return asyncio.run(play_run(planned, {"*": agent}, folder))


def test_differences_are_paired_by_task(tmp_path):
    run(tmp_path / "a", Some(3))
    run(tmp_path / "b", Some(6), samples=2)
    found = compare({"before": tmp_path / "a", "after": tmp_path / "b"})
    difference = found.differences["after"]
    assert list(found.differences) == ["after"]
    assert (difference.better, difference.equal, difference.worse) == (3, 5, 0)
    assert difference.success.mean == pytest.approx(3 / 8)
    one = [[True] * 2] * 6 + [[False] * 2] * 2
    assert difference.success == paired_difference(one, [[True]] * 3 + [[False]] * 5)
    assert json.loads(json.dumps(found.to_json()))["differences"]["after"]["better"] == 3
    assert "| after | 75.0" in markdown(found)
    assert "37.5 [" in markdown(found)
    assert table(found).renderables


def test_failed_episodes_stand_beside_success(tmp_path):
    """An outage is not to be read as lack of skill."""

    class Outage(OracleAgent):
        async def act(self, request):
            if request.state.task.index < 3:
                return Reply(text="", failure=("connection", "connection", "rate_limited")[request.state.task.index])
            return await super().act(request)

    found = compare_runs({"one": run(None, OracleAgent()), "other": run(None, Outage())})
    header, _, one, other = (
        [cell.strip() for cell in line.split("|")[1:-1]] for line in markdown(found).splitlines()[2:6]
    )
    column = header.index("failed episodes")
    assert (one[column], other[column]) == ("0 of 8", "3 of 8: connection 2, rate_limited 1")


def test_workflows_can_be_compared_on_the_same_tasks():
    runs = {w: run(None, OracleAgent(), workflow=w) for w in ("solo", "pair")}
    assert compare_runs(runs).differences["pair"].success.mean == 0


@pytest.mark.parametrize("other", [{"tasks": 7}, {"split": "validation"}, {"domain": "sokoban"}])
def test_runs_over_different_tasks_are_refused(other):
    with pytest.raises(BadValue, match=r"one and other played different tasks.*8 test tasks of masgym/plan_path_v0"):
        compare_runs({"one": run(None, Some(3)), "other": run(None, Some(3), **other)})


def test_one_run_is_no_comparison_and_an_unfinished_one_is_told(tmp_path):
    run(tmp_path / "a", Some(3))
    with pytest.raises(BadValue, match="at least two"):
        compare({"a": tmp_path / "a"})
    path = tmp_path / "a" / "episodes.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(BadFile, match="7 of its 8 episodes; resume it first"):
        compare({"a": tmp_path / "a", "b": tmp_path / "a"})
    with pytest.raises(BadFile, match=r"no folder of a run: its run.json cannot be read: No such file or directory\.$"):
        compare({"a": tmp_path, "b": tmp_path})
