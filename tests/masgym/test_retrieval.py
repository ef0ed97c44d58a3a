"""BM25 against its formula, one index for all threads, passages files, and an HTTP retriever against a real server."""

import asyncio
import hashlib
import json
import math
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from masgym.errors import BadFile, BadValue, UnknownName
from masgym.tools import retrieval
from masgym.tools.driver import default_driver
from masgym.tools.http_retriever import HttpRetriever, endpoint
from masgym.tools.retrieval import Bm25, Shared, read_passages, register_corpus, sha256_of, tokens
from masgym.types import ToolCall

PASSAGES = ["red fox\nA red fox ran.", "blue fox\nIt sat.", "red hen\nThe hen sat, and sat, and sat.", "a hen", "owl"]


def contents(result):
    assert result.outcome == "ok"
    return [found["contents"] for found in result.value["passages"]]


def bm25_by_hand(query, passages, k1=1.5, b=0.75):
    """Robertson's term weight without its constant factor and Lucene's inverse document frequency."""
    rows = [tokens(text) for text in passages]
    mean = sum(map(len, rows)) / len(rows)
    scores = []
    for row in rows:
        score = 0.0
        for word in tokens(query):
            frequency, holders = row.count(word), sum(word in other for other in rows)
            idf = math.log(1 + (len(rows) - holders + 0.5) / (holders + 0.5))
            score += idf * frequency / (frequency + k1 * (1 - b + b * len(row) / mean))
        scores.append(score)
    return scores


class TestBm25:
    @pytest.mark.parametrize("query", ["red fox", "hen", "sat", "The RED, hen!", "fox fox owl", "red owl zebra"])
    def test_scores_are_those_of_the_formula(self, query):
        expected = bm25_by_hand(query, PASSAGES)
        ranked = sorted((i for i, score in enumerate(expected) if score > 0), key=lambda i: (-expected[i], i))
        found = Bm25(PASSAGES).search(query, 10).value["passages"]
        assert [row["contents"] for row in found] == [PASSAGES[i] for i in ranked]
        assert [row["score"] for row in found] == pytest.approx([expected[i] for i in ranked], rel=1e-5)

    def test_only_top_k_and_only_what_shares_a_word(self):
        index = Bm25(PASSAGES)
        assert len(contents(index.search("red fox hen owl", 2))) == 2
        assert contents(index.search("zebra", 3)) == []
        assert contents(index.search("!?", 3)) == []
        assert contents(index.search("", 3)) == []

    def test_equal_scores_come_in_the_order_of_the_passages(self):
        passages = [f"same words {chr(97 + i)}" for i in range(26)]
        assert contents(Bm25(passages).search("same words", 5)) == passages[:5]
        assert contents(Bm25(passages[::-1]).search("same words", 5)) == passages[::-1][:5]

    def test_words_are_split_at_anything_but_letters_and_digits(self):
        assert tokens("Old_Mill’s ÉTÉ, 12-3\n½x") == ["old", "mill", "s", "été", "12", "3", "½x"]

    def test_the_index_says_nothing_to_the_log(self, caplog):
        with caplog.at_level("DEBUG"):
            contents(Bm25(PASSAGES).search("red", 1))
            contents(Bm25(PASSAGES).search("", 1))
        assert not caplog.records

    def test_nothing_depends_on_how_strings_hash(self):
        code = (
            "import json; from masgym.tools.retrieval import Bm25; "
            f"print(json.dumps(Bm25({PASSAGES!r}).search('sat red fox hen', 4).value))"
        )
        shown = {
            subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
            ).stdout
            for seed in ("1", "2", "3")
        }
        assert len(shown) == 1


class TestShared:
    def test_a_value_is_made_once_by_eight_threads_at_the_same_time(self):
        made, start = [], threading.Barrier(8)

        def make(key):
            time.sleep(0.02)
            made.append(key)
            return object()

        def ask(_):
            start.wait()
            return cache.get("key")

        cache = Shared(make)
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(ask, range(8)))
        assert made == ["key"]
        assert len(set(map(id, found))) == 1

    def test_the_oldest_is_dropped_and_a_failure_is_not_kept(self):
        made = []

        def make(key):
            made.append(key)
            if key == "bad" and made.count("bad") == 1:
                raise BadValue("once")
            return key

        cache = Shared(make, most=2)
        with pytest.raises(BadValue):
            cache.get("bad")
        assert [cache.get(key) for key in ("bad", "b", "bad", "c", "bad")] == ["bad", "b", "bad", "c", "bad"]
        assert made == ["bad", "bad", "b", "c", "bad"]


class TestTool:
    def test_an_index_is_built_once_for_all_calls_and_threads(self):
        made = []

        def corpus(spec):
            made.append(spec)
            return [f"number {i}" for i in range(spec["size"])]

        register_corpus("counted", corpus)

        def calls(size):
            arguments = {"query": "number 3", "top_k": 1, "corpus": {"kind": "counted", "size": size}}
            return {f"a_{i}": (ToolCall(tool="search", arguments=arguments),) * 4 for i in range(4)}

        driver = default_driver()
        for size in (10, 20, 10):
            results = asyncio.run(driver(calls(size)))
            assert all(contents(result) == ["number 3"] for answers in results.values() for result in answers)
        assert driver.run(calls(10)) == results
        assert [spec["size"] for spec in made] == [10, 20]

    def test_an_unknown_corpus_is_told_with_what_exists(self):
        with pytest.raises(UnknownName, match="Did you mean 'file'"):
            retrieval.search({"query": "x", "top_k": 1, "corpus": {"kind": "files"}})


class TestPassagesFile:
    @staticmethod
    def search(path, query):
        return contents(retrieval.search({"query": query, "top_k": 2, "corpus": {"kind": "file", "path": str(path)}}))

    def test_is_searched_and_read_again_when_it_changed(self, tmp_path):
        path = tmp_path / "passages.jsonl"
        path.write_text('\ufeff{"id": "0", "contents": "\\"Owl\\"\\nIt hoots."}\n\n{"contents": "Hen"}\n')
        assert self.search(path, "owl") == ['"Owl"\nIt hoots.']
        assert read_passages(str(path)) is read_passages(str(path))
        before = sha256_of(str(path))
        assert sha256_of(str(path)) == before == hashlib.sha256(path.read_bytes()).hexdigest()
        path.write_text('{"contents": "Owl two"}\n{"contents": "x"}')
        assert self.search(path, "owl") == ["Owl two"]
        assert sha256_of(str(path)) == hashlib.sha256(path.read_bytes()).hexdigest() != before

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            (b"", "holds no passage"),
            (b"\n \n", "holds no passage"),
            (b'{"contents": "a"}\nnot json', "line 2: no JSON"),
            (b'{"contents": "a"}\n[1]', "line 2: list instead of a JSON object"),
            (b'{"content": "a"}', "line 1: `contents` is None"),
            (b'{"contents": 3}', "line 1: `contents` is 3"),
            (b'{"contents": " ... "}', "line 1: `contents`"),
            (b"\xff\xfe", "UTF-8"),
            (b"[" * 100_000, "line 1: no JSON"),
        ],
    )
    def test_a_bad_one_is_told_with_line_and_field(self, tmp_path, text, says):
        path = tmp_path / "bad.jsonl"
        path.write_bytes(text)
        with pytest.raises(BadFile, match=says) as caught:
            read_passages(str(path))
        assert "bad.jsonl" in str(caught.value)

    @pytest.mark.parametrize("path", ["/nowhere/x.jsonl", "a\0b"])
    def test_one_that_is_not_there(self, path):
        with pytest.raises(BadFile, match="cannot be read"):
            read_passages(path)


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
