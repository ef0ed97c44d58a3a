"""The sweeps of the contract test run no tool call twice."""

import masgym
from masgym.testing import play
from masgym.tools.driver import default_driver


def test_a_call_is_run_once_and_its_result_is_the_drivers(monkeypatch):
    game = masgym.game("search", "ensemble", entities=100, hops=1)
    state = game.initial(game.domain.tasks.get("train", 0))
    calls = game.calls(state, {"worker_0": "?guild", "worker_1": "?feast", "tool_0": "?guild"}, {})
    real, asked = default_driver(), []

    class Counting:
        def run(self, calls):
            asked.extend(calls.values())
            return real.run(calls)

    monkeypatch.setattr(play, "default_driver", Counting)
    run = play.remembering()
    found = [run(calls) for _ in range(3)]
    assert set(calls) == {"worker_0", "worker_1", "tool_0"}
    assert found == [real.run(calls)] * 3
    assert len(asked) == len({str(call) for call in calls.values()}) == 2
