"""`openai:MODEL` against an endpoint on this machine, well-behaved and not."""

import asyncio
import json
from collections import Counter

import pytest
from endpoint import BAD, GOOD, completion, endpoint, says

import masgym
from masgym.agents import openai
from masgym.agents.base import Request
from masgym.agents.names import Options, make_team
from masgym.cli import main
from masgym.errors import BadValue

BUSY = says(429, {"error": {"message": "too many"}})


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(openai, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(openai, "MOST_BYTES", 2**18)
    monkeypatch.setenv("OPENAI_API_KEY", "secret-key")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def asked(url, number=1, **options):
    """The replies to one prompt, asked `number` times."""
    game = masgym.game("sokoban", "solo")
    state = game.initial(game.domain.tasks.get("test", 0))
    seen = game.observe(state, "actor_0")

    async def all_of_them():
        agent = openai.make("m", Options(base_url=url, **{"timeout": 20, "retries": 2, **options}))
        requests = [Request(game=game, state=state, observation=seen, key=("k", n)) for n in range(number)]
        try:
            return await asyncio.gather(*map(agent.act, requests))
        finally:
            await agent.aclose()

    return asyncio.run(all_of_them())


def test_a_reply_its_tokens_and_what_was_asked():
    with endpoint(lambda request: GOOD) as (url, seen):
        (reply,) = asked(url, temperature=0.5, max_tokens=9)
    assert (reply.text, reply.tokens, reply.prompt_tokens, reply.failure) == ("<answer>U</answer>", 5, 30, "")
    (request,) = seen
    assert [message["role"] for message in request["messages"]] == ["system", "user"]
    assert "Sokoban" in request["messages"][0]["content"]
    assert (request["model"], request["temperature"], request["max_tokens"]) == ("m", 0.5, 9)


def test_what_is_not_asked_for_is_not_sent_and_seeds_are_the_keys():
    with endpoint(lambda request: GOOD) as (url, seen):
        asked(url, number=2)
        asked(url, number=2)
    assert set(seen[0]) == {"model", "messages", "seed"}
    assert len({request["seed"] for request in seen}) == 2


@pytest.mark.parametrize(
    "usage", [{"prompt_tokens": -1, "completion_tokens": "5"}, {"completion_tokens": True}, {"a": 1}]
)
def test_counts_that_are_none(usage):
    with endpoint(lambda request: says(200, completion(**usage))) as (url, _):
        assert asked(url)[0].tokens == asked(url)[0].prompt_tokens == 0


@pytest.mark.parametrize("content", ["", None])
def test_a_message_without_content_is_an_empty_reply(content):
    with endpoint(lambda request: says(200, completion(content))) as (url, _):
        assert (asked(url)[0].text, asked(url)[0].failure) == ("", "")


@pytest.mark.parametrize(("reason", "cut"), [("length", True), ("stop", False), (None, False), ([], False)])
def test_a_reply_that_the_token_limit_cut_says_so(reason, cut):
    answer = completion("<answer>U")
    answer["choices"][0]["finish_reason"] = reason
    with endpoint(lambda request: says(200, answer)) as (url, _):
        assert asked(url)[0].cut is cut


def test_it_tries_again_and_gives_up_after_retries():
    answers = iter([says(500, {}), says(429, {}), GOOD])
    with endpoint(lambda request: next(answers)) as (url, seen):
        assert asked(url)[0].failure == ""
        assert len(seen) == 3
    with endpoint(lambda request: says(500, {})) as (url, seen):
        assert asked(url, retries=1)[0].failure == "server_error"
        assert len(seen) == 2
    with endpoint(lambda request: says(401, {})) as (url, seen):
        assert asked(url)[0].failure == "unauthorized"
        assert len(seen) == 1


def test_what_a_server_says_of_a_failure_is_kept_without_the_key():
    refused = {"error": {"message": "secret-key may not use temperature" + "!" * 1000}}
    with endpoint(lambda request: says(422, refused)) as (url, _):
        (reply,) = asked(url)
    assert reply.failure == "bad_request"
    assert "... may not use temperature" in reply.text
    assert "secret-key" not in reply.text
    assert len(reply.text) == openai.MOST_SAID


def test_a_prompt_too_long_for_llama_cpp():
    told = "request (6031 tokens) exceeds the available context size (4096 tokens), try increasing it"
    with endpoint(lambda request: says(400, {"error": {"code": 400, "message": told}})) as (url, _):
        assert asked(url)[0].failure == "context_overflow"


def test_waits_double_jitter_and_heed_the_server():
    key, failed = ("k",), openai.Failed(outcome="rate_limited")
    waits = [openai._wait(failed, n, key) for n in range(3)]
    assert all(0.005 * 2**n <= wait <= 0.01 * 2**n for n, wait in enumerate(waits))
    assert openai._wait(failed, 0, ("other",)) != waits[0]
    assert openai._wait(openai.Failed(outcome="rate_limited", wait=7.0), 0, key) == 7.0
    assert openai._wait(openai.Failed(outcome="rate_limited", wait=1e9), 0, key) == openai.LONGEST_WAIT


def test_newer_models_call_the_limit_by_another_name():
    def behaviour(request):
        return says(400, {"error": {"message": "use 'max_completion_tokens'"}}) if "max_tokens" in request else GOOD

    with endpoint(behaviour) as (url, seen):
        assert asked(url, max_tokens=9)[0].failure == ""
    assert seen[-1]["max_completion_tokens"] == 9


def test_no_more_requests_at_once_than_asked_for():
    open_now, most = [0], [0]

    def behaviour(request):
        async def answer(writer):
            open_now[0] += 1
            most[0] = max(most[0], open_now[0])
            await asyncio.sleep(0.05)
            open_now[0] -= 1
            await GOOD(writer)

        return answer

    with endpoint(behaviour) as (url, seen):
        asked(url, number=12, concurrency=3)
    assert len(seen) == 12
    assert most[0] <= 3


def test_nobody_listens():
    with endpoint(lambda request: GOOD) as (url, _):
        pass
    assert asked(url, retries=0)[0].failure == "connection"


def test_an_agent_of_its_own_endpoint():
    with endpoint(lambda request: GOOD) as (url, seen):
        (agent,) = make_team([f"openai:org/model@{url}"], Options(base_url="http://127.0.0.1:9/v1")).values()
        game = masgym.game("sokoban", "solo")
        state = game.initial(game.domain.tasks.get("test", 0))
        request = Request(game=game, state=state, observation=game.observe(state, "actor_0"), key=("k",))
        assert asyncio.run(agent.act(request)).failure == ""
    assert seen[0]["model"] == "org/model"


def test_it_needs_a_key_or_a_server(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(BadValue, match="OPENAI_API_KEY"):
        openai.make("m", Options())
    with pytest.raises(BadValue, match="base URL"):
        openai.make("m", Options(base_url="localhost:8000"))
    openai.make("m", Options(base_url="http://localhost:8000/v1"))


def test_64_episodes_at_once_against_a_server_that_misbehaves(tmp_path, capsys):
    """Every episode ends in the outcome that the server's behaviour stands for, and the report counts them all."""
    kinds, chosen = [*BAD, *[GOOD] * 12], {}

    def behaviour(request):
        return chosen.setdefault(request["seed"], kinds[len(chosen) % len(kinds)])

    with endpoint(behaviour) as (url, _):
        words = ["--workflow", "solo", "--turns", "1", "--tasks", "64", "--workers", "64", "--json"]
        words += ["--base-url", url, "--retries", "0", "--timeout", "5", "--out", str(tmp_path / "run")]
        main(["eval", "sokoban", "--agent", "openai:m", *words])
    report = json.loads(capsys.readouterr().out)
    expected = Counter(BAD.get(behaviour, "played") for behaviour in chosen.values())
    found = Counter(report["failures"])
    found["played"] = report["episodes"] - found.total()
    assert set(expected) == {*BAD.values(), "played"}
    late = found["timeout"] - expected["timeout"]  # on a machine with too much else to do the others come late too
    assert (expected - found).total() == late == (found - expected)["timeout"]
    assert expected.total() == found.total() == 64
    assert not any("secret-key" in path.read_text() for path in (tmp_path / "run").iterdir() if path.is_file())


def test_where_nothing_can_be_played_the_report_says_so_and_what_to_do(capsys):
    with endpoint(lambda request: says(401, {})) as (url, _):
        assert main(["eval", "sokoban", "--agent", "openai:m", "--tasks", "3", "--base-url", url]) == 1
    told = capsys.readouterr()
    assert "unauthorized" in told.out
    assert told.err == (
        "masgym: no episode could be played to its end: unauthorized 3. Set the environment variable OPENAI_API_KEY.\n"
    )


@pytest.mark.parametrize("suite", [False, True])
def test_lost_episodes_are_told_and_played_again_by_a_server_elsewhere(tmp_path, capsys, suite):
    run, down = tmp_path / "run", {}
    what = ["--suite", "v1", "--only", "plan_path-easy-solo"] if suite else ["plan_path", "--workflow", "solo"]
    words = [
        "eval",
        *what,
        "--agent",
        "openai:m",
        "--retries",
        "0",
        "--out",
        str(run),
        "--json",
        *(() if suite else ("--tasks", "6")),
    ]

    def behaviour(request):
        return BUSY if down.setdefault(json.dumps(request["messages"]), len(down) < 2) else GOOD

    with endpoint(behaviour) as (url, _):
        assert main([*words, "--base-url", url]) == 0
    told = capsys.readouterr()
    count = 25 if suite else 6
    assert told.err.startswith(
        f"masgym: 2 of {count} episodes were lost to the endpoint: rate_limited 2. --resume plays"
    )
    assert told.err.count("\n") == 1
    assert f"masgym {' '.join(words)} --base-url {url} --resume" in told.err
    with endpoint(lambda request: GOOD) as (url, seen):
        assert main([*words, "--base-url", url, "--timeout", "60", "--concurrency", "2", "--resume"]) == 0
    assert capsys.readouterr().err == ""
    assert 2 <= len(seen) <= 2 * 8  # of the two alone
    report = next(run.rglob("episodes.jsonl")).with_name("report.json")
    assert json.loads(report.read_text())["failures"] == {}


def test_all_lost_is_one_line_too(tmp_path, capsys):
    words = [
        "eval",
        "plan_path",
        "--agent",
        "openai:m",
        "--tasks",
        "2",
        "--retries",
        "0",
        "--out",
        str(tmp_path / "run"),
    ]
    with endpoint(lambda request: BUSY) as (url, _):
        assert main([*words, "--base-url", url]) == 1
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "no episode could be played to its end: rate_limited 2. Lower --concurrency" in told
    assert "2 of 2 were lost to the endpoint. " in told
    assert f"--resume plays them again: masgym {' '.join(words)} --base-url {url} --resume" in told


def test_a_bad_request_points_to_what_the_server_said_of_it(tmp_path, capsys):
    run = tmp_path / "run"
    words = ["--tasks", "2", "--out", str(run)]
    with endpoint(lambda request: says(400, {"error": {"message": "no such temperature"}})) as (url, _):
        assert main(["eval", "sokoban", "--agent", "openai:m", "--base-url", url, *words]) == 1
    assert "bad_request 2. What the server said of it stands in the run folder (--out)" in capsys.readouterr().err
    rows = [json.loads(line) for line in (run / "episodes.jsonl").read_text().splitlines()]
    assert all("no such temperature" in row["events"][0]["members"][0]["reply"] for row in rows)
