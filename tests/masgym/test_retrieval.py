"""BM25 against its formula, one index for all threads, passages files."""

import asyncio
import hashlib
import math
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from retrieved import contents

from masgym.errors import BadFile, BadValue, UnknownName
from masgym.tools import retrieval
from masgym.tools.driver import default_driver
from masgym.tools.retrieval import Bm25, Shared, read_passages, register_corpus, sha256_of, tokens
from masgym.types import ToolCall

PASSAGES = ["red fox\nA red fox ran.", "blue fox\nIt sat.", "red hen\nThe hen sat, and sat, and sat.", "a hen", "owl"]


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
