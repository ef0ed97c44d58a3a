"""The driver: results come in the order of the calls, and are part of the state: a restored one runs nothing."""

import asyncio
import json
import threading
import time

import pytest

from masgym import Snapshot, game
from masgym.errors import BadValue, UnknownName
from masgym.snapshot import answer, start
from masgym.tools.driver import Driver, default_driver, sandbox_of, step, step_sync
from masgym.tools.python import Python, function_call, program_call
from masgym.tools.sandbox import Limits, backend_name
from masgym.types import ToolCall, ToolResult

PROGRAM = "```python\nprint('R')\nprint('D L U R')\n```"


def counting() -> tuple[Driver, list]:
    """A driver that runs programs, and what it was asked for."""
    asked: list = []

    def python(arguments):
        asked.append(arguments)
        return Python()(arguments)

    return Driver(tools={"python": python}), asked


def test_results_come_in_the_order_of_the_calls_and_run_at_once() -> None:
    together = threading.Barrier(4, timeout=20)

    def tool(arguments):
        together.wait()  # is passed only if all four run at the same time
        time.sleep(0.01 * (4 - arguments))
        return ToolResult(outcome="ok", value=arguments)

    calls = {
        "a": tuple(ToolCall(tool="t", arguments=i) for i in (0, 1)),
        "b": tuple(ToolCall(tool="t", arguments=i) for i in (2, 3)),
    }
    results = asyncio.run(Driver(tools={"t": tool})(calls))
    assert {agent: [r.value for r in found] for agent, found in results.items()} == {"a": [0, 1], "b": [2, 3]}


def test_an_unknown_tool_is_named_with_those_that_exist() -> None:
    with pytest.raises(UnknownName, match="python"):
        default_driver().run({"a": (ToolCall(tool="pythn", arguments={}),)})


def test_the_tool_python_answers_in_plain_data() -> None:
    calls = (
        program_call("print(input())", "x"),
        function_call("def f(x): return 6 / x", "f", [[2], [0]]),
        program_call("while True: pass", limits=Limits(cpu=1)),
    )
    assert json.loads(json.dumps([c.arguments for c in calls])) == [c.arguments for c in calls]
    program, calls_, slow = default_driver().run({"a": calls})["a"]
    assert program == ToolResult(outcome="ok", value={"stdout": "x\n", "error": ""})
    assert calls_.outcome == "exception"
    assert [a["value"] for a in calls_.value["answers"]] == [3.0, None]
    assert slow.outcome == "timeout"


def test_arguments_that_do_not_exist_are_the_caller_s_error() -> None:
    with pytest.raises(UnknownName, match="stdin"):
        Python()({"program": "", "stdn": ""})
    with pytest.raises(BadValue, match="cpu"):
        Python()({"program": "", "limits": {"cpu": 0}})


async def nothing(calls):
    return {}


def test_where_programs_run_can_be_recorded() -> None:
    assert default_driver().sandbox == default_driver("auto").sandbox == backend_name() == "bubblewrap"
    assert default_driver("unsafe").sandbox == backend_name("unsafe") == "unsafe"
    assert Driver(tools={}).sandbox == "none"
    assert (sandbox_of(default_driver("unsafe")), sandbox_of(nothing)) == ("unsafe", "unknown")
    with pytest.raises(UnknownName, match="'unsafe'"):
        default_driver("unsave")
    assert default_driver("unsafe").run({"a": (program_call("print(1)"),)})["a"][0].value["stdout"] == "1\n"


@pytest.mark.parametrize("name", ["sokoban", "plan_path"])
def test_a_restored_state_runs_nothing_again(name: str) -> None:
    driver, asked = counting()
    made = game(name, "pair")
    now = start(made, made.domain.tasks.get("train", 0))

    def run(game_, state, outputs):
        return step_sync(game_, state, outputs, driver.run)

    for reply in (PROGRAM, "nothing", PROGRAM):
        now = answer(now, reply, run)
    assert len(asked) == 2
    restored = Snapshot.from_json(now.to_json(), made)
    assert restored.state == now.state
    assert restored.state.log[0][1]["tool_0"][0].value == {"stdout": "R\nD L U R\n", "error": ""}
    assert made.observe(restored.state, "actor_0") == made.observe(now.state, "actor_0")
    assert len(asked) == 2

    replayed = made.initial(now.state.task)
    for outputs, results in now.state.log:
        replayed = made.apply(replayed, outputs, results).state
    assert replayed == now.state
    assert len(asked) == 2


ASKING = {  # domain -> what its tool user and its actor reply, so that tools run
    "sudoku": ("```python\nprint('11=1')\n```", "nothing"),
    "code": ("f(1) == 1", "0"),
    "math": ("```python\nprint(r'\\sqrt{12}')\n```", r"\boxed{\sqrt{2}+1}"),
    "search": ("?the first thing", "?the second thing"),
}


@pytest.mark.parametrize("name", ASKING)
def test_restoring_runs_no_tool_of_any_domain(name: str) -> None:
    asked: list = []

    def counted(tool):
        return lambda arguments: asked.append(tool) or default_driver().tools[tool](arguments)

    driver = Driver(tools={tool: counted(tool) for tool in default_driver().tools})
    options = {"entities": 200} if name == "search" else {}
    made = game(name, "pair", **options)
    now = start(made, made.domain.tasks.get("train", 0))
    for reply in ASKING[name]:
        now = answer(now, reply, lambda game_, state, outputs: step_sync(game_, state, outputs, driver.run))
    runs = len(asked)
    assert runs > 0
    assert Snapshot.from_json(now.to_json(), made).state == now.state
    assert len(asked) == runs


def test_branches_of_one_state_run_each_their_own_program() -> None:
    driver, asked = counting()
    made = game("sokoban", "pair")
    state = made.initial(made.domain.tasks.get("train", 0))

    async def branches():
        replies = [f"```python\nprint({i})\nprint('R')\n```" for i in range(4)]
        return await asyncio.gather(*(step(made, state, {"tool_0": reply}, driver) for reply in replies))

    notes = [t.effects["tool_0"].note for t in asyncio.run(branches())]
    assert len(asked) == 4
    assert [f"| {i}\n" in note for i, note in enumerate(notes)] == [True] * 4
    assert state.log == ()
