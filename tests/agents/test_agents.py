"""Agents by name: scripted, python, human, and what is none."""

import asyncio
import json
import re
import sys

import pytest

import masgym
from masgym.agents.base import Reply, Request
from masgym.agents.human import read_reply
from masgym.agents.names import Options, forms, make_agent, make_team, parts_of, split_role
from masgym.cli import main
from masgym.errors import BadFile, BadValue, Stopped, UnknownName
from masgym.evaluate import evaluate

GAME = masgym.game("sokoban", "pair", T=2)


def asked(agent, turn=0, who="actor_0", task=0):
    """Its reply after `turn` turns in which nobody said anything."""
    state = GAME.initial(GAME.domain.tasks.get("test", task))
    for _ in range(turn):
        for member in GAME.agents:
            state = GAME.apply(state, {member: ""}, {}).state
    if who == "actor_0":
        state = GAME.apply(state, {"tool_0": ""}, {}).state
    request = Request(game=GAME, state=state, observation=GAME.observe(state, who), key=("k",))
    return asyncio.run(agent.act(request)).text


def script(tmp_path, text):
    file = tmp_path / "script"
    file.write_text(text if isinstance(text, str) else json.dumps(text))
    return make_agent(f"scripted:{file}")


class TestNames:
    @pytest.mark.parametrize(
        ("written", "role", "name"),
        [
            ("random", "*", "random"),
            ("tool=oracle", "tool", "oracle"),
            ("actor_0=openai:a=b", "actor_0", "openai:a=b"),
            ("scripted:a=b.json", "*", "scripted:a=b.json"),
            ("*=human", "*", "human"),
        ],
    )
    def test_a_role_before_the_name(self, written, role, name):
        assert split_role(written) == (role, name)

    @pytest.mark.parametrize(
        ("name", "parts"),
        [
            ("random", ("random", "", None)),
            ("openai:a/b:c", ("openai", "a/b:c", None)),
            ("openai:a@b@https://c:1/v1", ("openai", "a@b", "https://c:1/v1")),
            ("openai:m@HTTP://host", ("openai", "m", "HTTP://host")),
            ("openai:m@ftp://host", ("openai", "m", "ftp://host")),
            ("openai:m@http://u:p@httpd/v1", ("openai", "m", "http://u:p@httpd/v1")),
            ("openai:m@20240229", ("openai", "m@20240229", None)),
            ("hf:a@http://b", ("hf", "a@http://b", None)),
        ],
    )
    def test_the_parts_of_a_name(self, name, parts):
        assert parts_of(name) == parts

    @pytest.mark.parametrize(
        "name",
        [
            *("", "randm", "Random", "openai", "openai:@http://a", "openai: ", "openai: @http://a", "hf:", "random:2"),
            *("python:", "python:module"),
        ],
    )
    def test_what_is_no_agent(self, name):
        with pytest.raises((UnknownName, BadValue)) as told:
            make_agent(name)
        assert any(form in str(told.value) for form in forms())

    @pytest.mark.parametrize("place", ["host:8000/v1", "host:8000", "localhost/v1", "127.0.0.1:80/"])
    def test_a_url_without_its_scheme(self, place):
        with pytest.raises(BadValue, match=re.escape(f"write openai:org/m@http://{place}.")):
            make_agent(f"openai:org/m@{place}")

    @pytest.mark.parametrize("model", ["m@20240229", "m@sha256:0a1b", "org/m@v1", "m:8b"])
    def test_a_model_may_have_signs_of_a_url(self, model, monkeypatch):
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        make_agent(f"openai:{model}")
        make_agent(f"openai:{model}@HTTPS://host/v1")

    @pytest.mark.parametrize(
        "url",
        [
            *("http://user:secret@host/v1", "http://secret@host/v1", "http://u:a/secret@host/v1"),
            *("http://host/v1?api_key=secret", "HTTPS://host/v1#secret"),
        ],
    )
    def test_a_secret_in_a_url_is_kept_nowhere(self, url, tmp_path, capsys):
        words = ["eval", "sokoban", "--out", str(tmp_path / "run"), "--tasks", "1"]
        for more in (["--agent", f"openai:m@{url}"], ["--agent", "openai:m", "--base-url", url]):
            assert main([*words, *more]) == 2
            told = capsys.readouterr().err
            assert "OPENAI_API_KEY" in told
            assert "secret" not in told
        assert not (tmp_path / "run").exists()

    def test_two_agents_for_a_role(self):
        with pytest.raises(BadValue, match="two agents for 'tool'"):
            make_team(["tool=random", "tool=oracle"])

    def test_equal_names_share_one_agent(self):
        team = make_team(["tool=random", "actor=random", "oracle"])
        assert team["tool"] is team["actor"] is not team["*"]

    @pytest.mark.parametrize("wrong", [{"temperature": -1}, {"timeout": 0}, {"retries": -1}, {"timeout": float("nan")}])
    def test_options_out_of_range(self, wrong):
        with pytest.raises(BadValue, match=next(iter(wrong))):
            Options(**wrong)

    def test_what_an_optional_kind_needs_is_named(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "openai", None)
        monkeypatch.delitem(sys.modules, "masgym.agents.openai", raising=False)
        with pytest.raises(BadValue, match=r'pip install "masgym\[openai\]"'):
            make_agent("openai:m")
        monkeypatch.setitem(sys.modules, "mastrain.hf_agent", None)
        with pytest.raises(BadValue, match=r'pip install "masgym\[train\]"'):
            make_agent("hf:folder")


class TestScripted:
    def test_by_agent_then_role_then_everybody_and_the_last_reply_repeats(self, tmp_path):
        agent = script(tmp_path, {"actor_0": ["a", "b"], "actor": "role", "*": "all"})
        assert [asked(agent, turn) for turn in (0, 1)] == ["a", "b"]
        assert asked(agent, who="tool_0") == "all"
        assert [asked(script(tmp_path, {"actor": ["a"]}), turn) for turn in (0, 1)] == ["a", "a"]

    def test_by_line_for_a_task(self, tmp_path):
        task = GAME.domain.tasks.get("test", 1).id
        rows = [
            {"agent": "actor", "reply": "x"},
            {"agent": "actor", "reply": ["y"]},
            {"agent": "*", "reply": "z", "task": task},
        ]
        agent = script(tmp_path, "\n".join(map(json.dumps, rows)))
        assert [asked(agent, turn) for turn in (0, 1)] == ["x", "y"]
        assert asked(agent, task=1) == "z"

    def test_one_line(self, tmp_path):
        assert asked(script(tmp_path, {"agent": "actor", "reply": "x"})) == "x"

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("", "holds no reply"),
            ("{}", "holds no reply"),
            ("[1]", "line 1"),
            ("[" * 100_000, "line 1"),
            ('{"actor": 1}', "replies of 'actor'"),
            ('{"actor": []}', "replies of 'actor'"),
            ('{"agent": "a", "reply": "x"}\n{"agent": 1}', "line 2"),
            ('{"agent": "a", "reply": null}\n{"agent": "a"}', "line 1, field 'reply'"),
            ('{"agent": "a", "reply": "x", "task": 1}', "line 1, field 'task'"),
        ],
    )
    def test_what_is_no_script(self, tmp_path, text, told):
        with pytest.raises(BadFile, match=told):
            script(tmp_path, text)

    def test_no_file_and_no_reply(self, tmp_path):
        with pytest.raises(BadFile, match="cannot be read"):
            make_agent(f"scripted:{tmp_path}")
        with pytest.raises(BadFile, match="no reply for actor_0"):
            asked(script(tmp_path, {"tool": "x"}))


THEIRS = """
import asyncio
import sys
import threading
import time

from masgym.agents.base import Reply

class Plain:
    def act(self, observation):
        return f"{observation.agent} {observation.slot} {len(observation.messages)} {'Sokoban' in observation.text}"

class Async:
    async def act(self, observation):
        return Reply(text="async", tokens=3)

class Named:
    def __init__(self, name):
        self.name = name
    def act(self, observation):
        return self.name

named = Named("mine")

class Fails:
    def act(self, observation):
        return 1 / 0

class Number:
    def act(self, observation):
        return 7

class Nothing:
    pass

class Hangs:
    def act(self, observation):
        time.sleep(1000)

class HangsAsync:
    async def act(self, observation):
        await asyncio.sleep(1000)

class OwnTimeout:
    async def act(self, observation):
        async with asyncio.timeout(0.01):
            await asyncio.sleep(1000)

class Leaves:
    def act(self, observation):
        sys.exit(3)

class LeavesAtOnce:
    def __init__(self):
        sys.exit(3)

class Cancelled:
    async def act(self, observation):
        raise asyncio.CancelledError

class Crowd:
    def __init__(self):
        self.barrier = threading.Barrier(40, timeout=30)

    def act(self, observation):
        self.barrier.wait()
        return "U"
"""


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_team.py").write_text(THEIRS)
    (tmp_path / "broken_team.py").write_text("import no_such_package_anywhere\n")
    (tmp_path / "script_team.py").write_text("import sys\nsys.exit('usage: script_team')\n")
    yield
    sys.modules.pop("own_team", None)


@pytest.mark.usefixtures("theirs")
class TestPython:
    @pytest.mark.parametrize(
        ("name", "reply"), [("Plain", "actor_0 act 2 True"), ("Async", "async"), ("named", "mine")]
    )
    def test_a_class_or_an_object(self, name, reply):
        assert asked(make_agent(f"python:own_team:{name}")) == reply

    @pytest.mark.parametrize(
        ("name", "told"),
        [
            ("own_team:Plan", "Did you mean 'Plain'"),
            ("no_team:Plain", "'no_team' cannot be imported"),
            ("broken_team:Plain", r"no_such_package_anywhere.*broken_team.py, line 1"),
            ("own_team:Named", "made without arguments"),
            ("script_team:Plain", "cannot be imported: SystemExit: usage: script_team"),
            ("own_team:LeavesAtOnce", r"LeavesAtOnce\(\) raised SystemExit: 3"),
            ("own_team:Nothing", r"no method act\(observation\)"),
            ("own_team", "python:module:Class"),
        ],
    )
    def test_what_is_no_class_of_theirs(self, name, told):
        with pytest.raises((BadValue, UnknownName), match=told) as error:
            make_agent(f"python:{name}")
        assert "\n" not in str(error.value)

    def test_what_it_raises_names_the_place(self):
        with pytest.raises(BadValue, match=r"ZeroDivisionError.*own_team.py, line \d+"):
            asked(make_agent("python:own_team:Fails"))
        with pytest.raises(BadValue, match="gave int; a text was expected"):
            asked(make_agent("python:own_team:Number"))
        for name, told in (("Leaves", "SystemExit: 3"), ("Cancelled", "CancelledError"), ("OwnTimeout", "Timeout")):
            with pytest.raises(BadValue, match=rf"{name} raised {told}.*\.py, line \d+"):
                asked(make_agent(f"python:own_team:{name}"))

    @pytest.mark.parametrize("name", ["Hangs", "HangsAsync"])
    def test_one_that_hangs_is_a_named_failure(self, name):
        agent = make_agent(f"python:own_team:{name}", Options(timeout=0.2))
        records = asyncio.run(evaluate(GAME, {"*": agent}, tasks=3))
        assert [(record.ended, record.success) for record in records] == [("timeout", False)] * 3

    def test_as_many_are_asked_at_once_as_are_played_at_once(self):
        game = masgym.game("sokoban", "solo", T=1)
        assert len(asyncio.run(evaluate(game, {"*": make_agent("python:own_team:Crowd")}, tasks=40))) == 40

    def test_it_plays(self):
        records = asyncio.run(evaluate(GAME, {"*": make_agent("python:own_team:Async")}, tasks=3))
        assert [record.tokens for record in records] == [12] * 3


class TestHuman:
    @pytest.mark.parametrize(
        ("lines", "reply"),
        [
            (["U R"], "U R"),
            (["a\\", "b\\", "c"], "a\nb\nc"),
            (["```python", "x = '\\'", "", "```"], "```python\nx = '\\'\n\n```"),
            (["```print(1)```"], "```print(1)```"),
        ],
    )
    def test_replies_of_one_line_or_more(self, lines, reply):
        rest = iter(lines)
        assert read_reply("> ", lambda prompt: next(rest)) == reply
        assert list(rest) == []

    def test_it_is_shown_what_the_agent_sees_and_the_end_of_the_input_stops(self, monkeypatch, capsys):
        replies = iter(["U", EOFError()])

        def line(prompt):
            if isinstance(said := next(replies), Exception):
                raise said
            return said

        monkeypatch.setattr("builtins.input", line)
        assert asked(make_agent("human")) == "U"
        assert "actor_0 is asked" in (told := capsys.readouterr().out)
        assert "You are the planner" in told
        with pytest.raises(Stopped):
            asked(make_agent("human"))


def test_an_agent_of_the_library_needs_no_name():
    class Mine:
        async def act(self, request):
            return Reply(text="U")

    assert len(asyncio.run(evaluate(GAME, {"*": Mine()}, tasks=2))) == 2
