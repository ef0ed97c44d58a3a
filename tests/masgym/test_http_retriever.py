"""The HTTP retriever against a real server, whatever that does."""

import asyncio
import json
import math
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from retrieved import contents

from masgym.errors import BadValue
from masgym.tools.driver import default_driver
from masgym.tools.http_retriever import HttpRetriever, endpoint
from masgym.types import ToolCall

FOUND = [{"document": {"id": str(i), "contents": f'"T{i}"\ntext {i}'}, "score": 9.5 - i} for i in range(5)]


class Server(ThreadingHTTPServer):
    """Plays the responses of `script` in turn, the last one for ever; keeps what it was asked."""

    daemon_threads = True

    def __init__(self, script):
        self.script, self.asked = list(script), []
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def handle_error(self, request, client_address):
        """Clients that give up are part of the tests."""

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, self.headers["Content-Type"], body))
        script = self.server.script
        (script.pop(0) if len(script) > 1 else script[0])(self)

    def log_message(self, *_):
        """Quiet."""


def says(body, status=200):
    def answer(handler):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    return answer


def slow(handler):
    time.sleep(1.2)
    good(handler)


def drips(handler):
    """A byte at a time: every single one in time, the whole too late."""
    handler.send_response(200)
    handler.end_headers()
    for _ in range(80):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.05)


def drops(handler):
    handler.connection.shutdown(socket.SHUT_RDWR)


def drops_midway(handler):
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(json.dumps({"result": [FOUND]}).encode()[:50])
    handler.wfile.flush()
    handler.connection.shutdown(socket.SHUT_RDWR)


def no_http(handler):
    handler.wfile.write(b"hello\r\n")


def leads_to(location):
    def answer(handler):
        handler.send_response(302)
        handler.send_header("Location", location)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


def not_printed(handler):
    handler.wfile.write(b"\x1b[2J" * 2000 + b"\r\n")


good = says({"result": [FOUND]})


@pytest.fixture
def ask():
    """(script, ...) -> (result, what the server was asked, the waits between attempts)."""
    servers = []

    def run(*script, path="", top_k=2, timeout_s=0.5, attempts=3):
        server, waits = Server(script), []
        servers.append(server)
        retriever = HttpRetriever(
            url=server.url + path, timeout_s=timeout_s, attempts=attempts, wait_s=0.25, sleep=waits.append
        )
        return retriever.search("who?", top_k), server.asked, waits

    yield run
    for server in servers:
        server.shutdown()
        server.server_close()


class TestHttp:
    def test_speaks_the_form_of_search_r1(self, ask):
        result, asked, waits = ask(good)
        body = {"queries": ["who?"], "topk": 2, "return_scores": True}
        assert asked == [("/retrieve", "application/json", body)]
        assert result.value == {
            "passages": [{"contents": '"T0"\ntext 0', "score": 9.5}, {"contents": '"T1"\ntext 1', "score": 8.5}]
        }
        assert (result.outcome, waits) == ("ok", [])

    def test_the_path_that_was_given_is_kept(self, ask):
        assert ask(good, path="/v2/find?index=a")[1][0][0] == "/v2/find?index=a"
        assert ask(good, path="/")[1][0][0] == "/retrieve"

    @pytest.mark.parametrize("bad", [says(b"", 500), says(b"x", 503), says({}, 429), drops, drops_midway, slow, drips])
    def test_what_passes_is_tried_again_after_waits_that_double(self, ask, bad):
        result, asked, waits = ask(bad, bad, good)
        assert (len(contents(result)), len(asked), waits) == (2, 3, [0.25, 0.5])

    @pytest.mark.parametrize(
        ("bad", "outcome"),
        [
            (says(b"", 500), "busy"),
            (says(b"", 429), "busy"),
            (drops, "unreachable"),
            (drops_midway, "unreachable"),
            (no_http, "unreachable"),
            (slow, "timeout"),
            (drips, "timeout"),
        ],
    )
    def test_what_does_not_pass_is_a_named_outcome(self, ask, bad, outcome):
        result, asked, waits = ask(bad, attempts=2)
        assert (result.outcome, len(asked), waits) == (outcome, 2, [0.25])
        assert result.value["attempts"] == 2
        assert result.value["detail"]

    def test_slow_is_bounded_by_the_timeout(self, ask):
        began = time.monotonic()
        ask(drips, attempts=1)
        assert 0.45 < time.monotonic() - began < 2

    @pytest.mark.parametrize("status", [400, 401, 404, 422])
    def test_a_refusal_is_not_repeated(self, ask, status):
        result, asked, _ = ask(says(b"no", status))
        assert (result.outcome, len(asked)) == ("refused", 1)
        assert str(status) in result.value["detail"]

    @pytest.mark.parametrize("place", ["/retrieve", "http://[bad", f"http://{'a' * 80}..com/", "ftp://127.0.0.1:1/x"])
    def test_redirections_are_not_followed(self, ask, place):
        result, asked, _ = ask(leads_to(place))
        assert (result.outcome, result.value["detail"], len(asked)) == ("refused", "status 302", 1)

    def test_what_a_server_sends_is_told_in_short_and_moves_no_cursor(self, ask):
        detail = ask(not_printed, attempts=1)[0].value["detail"]
        assert detail.isprintable()
        assert 10 < len(detail) <= 200

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"<html>",
            b"\xff",
            b"[" * 50_000,
            [],
            {"results": [FOUND]},
            {"result": []},
            {"result": 3},
            {"result": [[{"contents": "a", "score": 1}]]},
            {"result": [[{"document": "a", "score": 1}]]},
            {"result": [[{"document": {"contents": None}, "score": 1}]]},
            {"result": [[{"document": {"contents": "a"}}]]},
            {"result": [[{"document": {"contents": "a"}, "score": "1"}]]},
            {"result": [[{"document": {"contents": "a"}, "score": True}]]},
            {"result": [[{"document": {"contents": "a"}, "score": math.nan}]]},
            b'{"result": [[{"document": {"contents": "a"}, "score": 1' + b"0" * 400 + b"}]]}",
            b'{"result": [[{"document": {"contents": "a"}, "score": 1' + b"0" * 5000 + b"}]]}",
            {"result": [FOUND[0]]},
            {"result": [FOUND[0]], "document": 1},
        ],
    )
    def test_garbage_is_named_and_not_repeated(self, ask, body):
        result, asked, _ = ask(says(body))
        assert (result.outcome, len(asked)) == ("garbage", 1)

    def test_an_endless_answer_is_cut_off(self, ask, monkeypatch):
        monkeypatch.setattr("masgym.tools.http_retriever._MOST_BYTES", 1000)
        assert ask(says(b" " * 5000))[0].outcome == "garbage"

    def test_nothing_found_is_ok_and_surrogates_are_replaced(self, ask):
        assert contents(ask(says({"result": [[]]}))[0]) == []
        odd = [{"document": {"contents": "a\ud800b"}, "score": 1}]
        assert contents(ask(says({"result": [odd]}))[0]) == ["a?b"]

    def test_nobody_there(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{free.getsockname()[1]}"
        result = HttpRetriever(url=url, attempts=2, wait_s=0.0).search("x", 1)
        assert (result.outcome, result.value["attempts"]) == ("unreachable", 2)

    @pytest.mark.parametrize("url", ["", "127.0.0.1:8000", "file:///etc/passwd", "ftp://a/b", "http://", "http://a:b"])
    def test_what_is_no_url_is_an_error(self, url):
        with pytest.raises(BadValue, match="URL"):
            HttpRetriever(url=url)
        with pytest.raises(BadValue, match="URL"):
            endpoint(url)

    def test_at_least_one_attempt(self):
        with pytest.raises(BadValue, match="attempts is 0"):
            HttpRetriever(url="http://127.0.0.1", attempts=0)

    def test_through_the_driver(self):
        server = Server([good])
        try:
            arguments = {"query": "q", "top_k": 3, "corpus": {"kind": "http", "url": server.url}}
            results = asyncio.run(default_driver()({"a": (ToolCall(tool="search", arguments=arguments),) * 8}))
        finally:
            server.shutdown()
            server.server_close()
        assert all(len(contents(result)) == 3 for result in results["a"])
        assert len(server.asked) == 8
