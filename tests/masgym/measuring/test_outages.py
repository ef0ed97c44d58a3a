"""Episodes that were lost to an endpoint are played again when a run is resumed; all others are not."""

import json

import pytest
from played_runs import planned, played, stripped
from suite_runs import SUITE, play

from masgym.agents.base import Reply
from masgym.agents.oracle import OracleAgent
from masgym.errors import BadValue
from masgym.folder import load

HEALED = {"bad_response", "connection", "not_found", "rate_limited", "server_error", "unauthorized"}


class Down(OracleAgent):
    """Fails by that name on every third task, in the second event."""

    def __init__(self, failure):
        self.failure = failure

    async def act(self, request):
        if request.state.task.index % 3 == 2 and request.observation.agent == "actor_0":
            return Reply(text="", failure=self.failure)
        return await super().act(request)


class Counting(OracleAgent):
    def __init__(self):
        self.asked = set()

    async def act(self, request):
        self.asked.add((request.state.task.index, request.key[-3]))
        return await super().act(request)


@pytest.mark.parametrize("name", ["openai:m", "python:team:Team"])
@pytest.mark.parametrize("failure", [*sorted(HEALED), "timeout", "context_overflow", "bad_request", "their_own"])
def test_what_was_lost_to_an_endpoint_is_played_again(tmp_path, failure, name):
    run = planned(names={"*": name})
    lost = failure in HEALED or (failure == "timeout" and name == "openai:m")
    first = played(run, Down(failure), tmp_path / "run")
    assert first.report.failures == {failure: 4}
    agent = Counting()
    second = played(run, agent, tmp_path / "run", resume=True)
    assert {index for index, _ in agent.asked} == ({2, 5} if lost else set())
    assert second.report.failures == ({} if lost else {failure: 4})
    assert load(tmp_path / "run") == second
    rows = [json.loads(line) for line in (tmp_path / "run" / "episodes.jsonl").read_text().splitlines()]
    assert len({(row["index"], row["sample"]) for row in rows}) == len(rows) == 12
    if lost:
        played(run, OracleAgent(), tmp_path / "whole")
        assert stripped(tmp_path / "run") == stripped(tmp_path / "whole")


def test_a_server_that_is_still_down_is_counted_again(tmp_path):
    run = planned()
    one = played(run, Down("connection"), tmp_path)
    two = played(run, Down("rate_limited"), tmp_path, resume=True)
    assert (one.report.failures, two.report.failures) == ({"connection": 4}, {"rate_limited": 4})


@pytest.mark.parametrize("left", ["no report", "a half-written file", "neither"])
def test_a_kill_while_the_lost_ones_are_taken_out_loses_nothing(tmp_path, left):
    run = planned()
    played(run, OracleAgent(), tmp_path / "whole")
    folder = tmp_path / "run"
    played(run, Down("connection"), folder)
    (folder / "report.json").unlink()
    if left != "no report":
        (folder / "report.md").unlink()
        lines = (folder / "episodes.jsonl").read_bytes()
        (folder / ".episodes.jsonl.0123456789abcdef.part").write_bytes(
            lines[: len(lines) // 3] if left != "neither" else b""
        )
    played(run, OracleAgent(), folder, resume=True)
    assert stripped(folder) == stripped(tmp_path / "whole")
    assert {path.name for path in folder.iterdir()} == {path.name for path in (tmp_path / "whole").iterdir()}


def test_a_server_may_move(tmp_path):
    """And nothing else that changes the replies."""

    def at(url, model="m", temperature=1.0):
        settings = {"temperature": temperature} | ({"base_url": url} if url else {})
        return planned(
            names={"*": f"openai:{model}", "tool": f"openai:{model}@{url or 'http://b'}/v1"}, settings=settings
        )

    first = played(at("http://a"), Down("connection"), tmp_path)
    for moved in ("http://b:9", None):
        again = played(at(moved), OracleAgent(), tmp_path, resume=True)
        assert again.report.failures == {}
        assert again.run == first.run == load(tmp_path).run
    with pytest.raises(BadValue, match="agents differ"):
        played(at("http://a", model="n"), OracleAgent(), tmp_path, resume=True)
    with pytest.raises(BadValue, match="settings differ"):
        played(at("http://a", temperature=0.5), OracleAgent(), tmp_path, resume=True)


def test_lost_episodes_of_a_suite_are_played_again(tmp_path):
    only = ["plan_path-easy-pair"]
    (cell,) = play(tmp_path / "a", Down("server_error"), only=only)["cells"].values()
    assert cell["failures"] > 0
    again = play(tmp_path / "a", OracleAgent(), only=only, resume=True, settings={"base_url": "http://b"})
    assert again["cells"] == play(tmp_path / "b", OracleAgent(), only=only)["cells"]
    assert SUITE.samples == 1
