"""Where rows come from, pickled texts, and the writing of files."""

import contextlib
import gzip
import json
import os
import pickle
import subprocess
import sys
import types
import zlib
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from importer_rows import packed, run_import, write

import masgym
from masgym.errors import BadFile, BadValue, UnknownName
from masgym.importers import import_set, text_pickle
from masgym.importers.sources import Hub, rows
from masgym.importers.text_pickle import pickled_text, unpack
from masgym.tasks import SPLITS

ROWS = [{"problem": f"What is {n}+1?", "answer": n + 1} for n in range(3)]


def fields(source, **options):
    return [dict(row.fields) for row in rows(str(source), **options)]


class TestFiles:
    def test_json_lines(self, tmp_path):
        path = tmp_path / "rows.jsonl"
        path.write_text("\ufeff" + "\n\n".join(map(json.dumps, ROWS)) + "\n", encoding="utf-8")
        found = list(rows(str(path)))
        assert [row.fields for row in found] == ROWS
        assert [row.where.rpartition(", ")[2] for row in found] == ["line 1", "line 3", "line 5"]

    def test_zipped(self, tmp_path):
        path = tmp_path / "rows.jsonl.gz"
        path.write_bytes(gzip.compress("".join(f"{json.dumps(row)}\n" for row in ROWS).encode()))
        assert fields(path) == ROWS

    def test_a_list(self, tmp_path):
        path = tmp_path / "rows.json"
        path.write_text(json.dumps(ROWS, indent=1))
        assert fields(path) == ROWS

    def test_parquet(self, tmp_path):
        arrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        path = tmp_path / "rows.parquet"
        parquet.write_table(arrow.Table.from_pylist(ROWS), path)
        assert fields(path) == ROWS
        path.write_bytes(path.read_bytes()[:-9])
        with pytest.raises(BadFile, match=r"rows\.parquet cannot be read as parquet"):
            fields(path)

    def test_parquet_without_its_library(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
        (tmp_path / "rows.parquet").write_bytes(b"")
        with pytest.raises(BadFile, match="pip install pyarrow"):
            fields(tmp_path / "rows.parquet")

    @pytest.mark.parametrize(
        ("name", "raw", "says"),
        [
            ("a.jsonl", b"{}\n[1]\n", "a.jsonl, line 2: list instead of an object"),
            ("a.jsonl", b"{}\n{\n", "a.jsonl, line 2: no JSON"),
            ("a.jsonl", b"[" * 100_000, "a.jsonl, line 1: no JSON"),
            ("a.jsonl", b"\xff\xfe", "a.jsonl cannot be read as UTF-8"),
            ("a.jsonl.gz", b"{}", "a.jsonl.gz cannot be read"),
            ("a.jsonl.gz", gzip.compress(b"{}\n" * 1000)[:-12], "a.jsonl.gz cannot be read"),
            ("a.json", b"{}", "a.json: dict instead of a list"),
            ("a.json", b"[{}, 3]", "a.json, item 2: int instead of an object"),
            ("a.csv", b"a,b", "is neither a hub id nor"),
        ],
    )
    def test_files_that_hold_no_rows(self, tmp_path, name, raw, says):
        (tmp_path / name).write_bytes(raw)
        with pytest.raises(BadFile) as caught:
            fields(tmp_path / name)
        assert says in str(caught.value)

    def test_no_file(self, tmp_path):
        with pytest.raises(BadFile, match="cannot be read"):
            fields(tmp_path / "none.jsonl")
        with pytest.raises(BadFile, match="is neither a hub id nor"):
            fields(tmp_path / "none")
        write(tmp_path / "rows.jsonl", ROWS)
        with pytest.raises(BadValue, match="is a file"):
            fields(tmp_path / "rows.jsonl", hub=Hub(split="train"))


class Datasets(types.ModuleType):
    """What the importer uses of the library, without a network."""

    @staticmethod
    def get_dataset_split_names(path, config):
        if path == "own/none":
            raise FileNotFoundError("no such data set")
        return {"one": ["train"], None: ["train", "test"]}[config]

    @staticmethod
    def load_dataset(path, config, *, split, streaming):
        assert streaming
        return iter([{**row, "from": [path, config, split]} for row in ROWS])


class TestHub:
    @pytest.fixture(autouse=True)
    def library(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "datasets", Datasets("datasets"))

    def test_an_id(self):
        assert fields("own/set", hub=Hub(split="test"))[0] == {**ROWS[0], "from": ["own/set", None, "test"]}
        found = list(rows("own/set", Hub(config="one")))
        assert found[1].fields["from"] == ["own/set", "one", "train"]
        assert found[1].where == "own/set, train row 2"

    def test_a_split_has_to_be_chosen(self):
        with pytest.raises(BadFile, match="own/set has the splits train, test; choose one"):
            fields("own/set")

    def test_what_the_library_raises(self):
        with pytest.raises(
            BadFile, match="'own/none' cannot be read from the hub: FileNotFoundError: no such data set"
        ):
            fields("own/none")

    def test_no_library(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "datasets", None)
        with pytest.raises(BadFile, match="pip install datasets"):
            fields("own/set")


def test_the_real_library_reads_a_folder(tmp_path):
    pytest.importorskip("datasets")
    write(tmp_path / "test.jsonl", ROWS)
    made = import_set("aime24", str(tmp_path), tmp_path / "out.jsonl", limit=2)
    assert made.written == 2


def test_the_real_library_without_a_network(tmp_path):
    pytest.importorskip("datasets")
    done = subprocess.run(
        [sys.executable, "-m", "masgym", "import", "aime24", "own/no-such-set", "--out", str(tmp_path / "out.jsonl")],
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "the data set 'own/no-such-set' cannot be read from the hub" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


class Evil:
    """Runs a command when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


class TestPickledTexts:
    @given(st.text(), st.integers(0, pickle.HIGHEST_PROTOCOL))
    def test_texts(self, text, protocol):
        assert unpack(packed(text, protocol)) == text

    @given(st.binary(max_size=60))
    def test_any_bytes(self, raw):
        with contextlib.suppress(BadValue):
            assert isinstance(pickled_text(raw), str)

    @pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
    def test_nothing_else_is_built(self, tmp_path, protocol):
        path = tmp_path / "touched"
        for found in (Evil(path), [Evil(path)], {"a": Evil(path)}, ("[]", Evil(path))):
            with pytest.raises(BadValue):
                unpack(packed(found, protocol))
        assert not path.exists()
        for found in (1, None, True, b"[]", ["[]"], ("[]",), {"[]": 1}, 1.5, os.system, 2**5000, frozenset()):
            with pytest.raises(BadValue):
                unpack(packed(found, protocol))

    @pytest.mark.parametrize(
        "raw",
        [
            b"",
            b".",
            b"N.",
            b"cos\nsystem\n(S'true'\ntR.",
            b"(S'true'\nios\nsystem\n.",
            b"Vtrue\ncos\nsystem\n.",
            b"Vone\nVtwo\n.",
            b"Vone\n0Vtwo\n.",
            b"Vone\n2.",
            b"S'bytes or text'\n.",
            b"Vone\n.Vtwo\n.",
            b"Vone\n",
            b"Pid\n.",
            b"\x82\x01.",
            b"\x8d\xff\xff\xff\xff\xff\xff\xff\x7f.",
            b"X\xff\xff\xff\xff.",
            b"I" + b"9" * 5000 + b"\n.",
        ],
    )
    def test_hostile_pickles(self, raw):
        with pytest.raises(BadValue):
            pickled_text(raw)

    @pytest.mark.parametrize(
        "text", ["", "!", "é", b64encode(b"plain").decode(), b64encode(zlib.compress(b"x")[:-3]).decode(), "QUJD\n"]
    )
    def test_what_is_packed_otherwise(self, text):
        with pytest.raises(BadValue):
            unpack(text)

    def test_a_text_that_unpacks_to_too_much(self, monkeypatch):
        monkeypatch.setattr(text_pickle, "MOST", 1000)
        assert unpack(packed("x" * 900))
        with pytest.raises(BadValue, match="at most 1000 bytes"):
            unpack(packed("x" * 10_000))
        two = b64encode(zlib.compress(pickle.dumps("a")) + b"more").decode()
        with pytest.raises(BadValue, match="no whole zlib stream"):
            unpack(two)


class TestWriting:
    def test_a_limit_a_split_and_repeated_rows(self, tmp_path):
        made, lines, _ = run_import(tmp_path, "polaris", [ROWS[0], *ROWS], limit=2, split="train")
        assert (made.written, made.left_out) == (2, {"it is there already": 1})
        assert [(line["question"], line["split"]) for line in lines] == [
            ("What is 0+1?", "train"),
            ("What is 1+1?", "train"),
        ]
        assert made.splits == {"train": 2}
        made, lines, out = run_import(tmp_path, "polaris", ROWS)
        source = masgym.game("math", tasks=out).domain.tasks
        assert made.splits == {split: source.size(split) for split in SPLITS if source.size(split)}
        assert made.written == len(lines) == 3
        assert "split" not in run_import(tmp_path, "polaris", ROWS)[1][0]

    def test_many_rows_stay_in_order(self, tmp_path):
        many = [{"problem": f"What is {n}+1?", "answer": n + 1} for n in range(150)]
        assert [line["answer"] for line in run_import(tmp_path, "polaris", many)[1]] == [str(n + 1) for n in range(150)]

    def test_all_or_nothing(self, tmp_path):
        run_import(tmp_path, "polaris", ROWS)
        before = (tmp_path / "polaris.jsonl").read_bytes()
        for bad, says in [([*ROWS, {"problem": "Why?"}], "line 4"), ([], "holds no row")]:
            with pytest.raises(BadFile, match=says):
                run_import(tmp_path, "polaris", bad)
        assert (tmp_path / "polaris.jsonl").read_bytes() == before
        assert {path.name for path in tmp_path.iterdir()} == {"polaris.jsonl", "polaris_rows.jsonl"}

    def test_where_nothing_can_be_written(self, tmp_path):
        source = write(tmp_path / "rows.jsonl", ROWS)
        for out in (tmp_path / "none" / "out.jsonl", tmp_path / "rows.jsonl" / "out.jsonl"):
            with pytest.raises(BadFile, match="cannot be written"):
                import_set("polaris", source, out)

    def test_arguments_that_do_not_exist(self, tmp_path):
        source = write(tmp_path / "rows.jsonl", ROWS)
        with pytest.raises(UnknownName, match=r"unknown data set 'aime26'\. Did you mean 'aime2"):
            import_set("aime26", source, tmp_path / "out.jsonl")
        with pytest.raises(UnknownName, match="unknown split 'dev'"):
            import_set("polaris", source, tmp_path / "out.jsonl", split="dev")
        with pytest.raises(BadValue, match="limit is 0"):
            import_set("polaris", source, tmp_path / "out.jsonl", limit=0)
        with pytest.raises(BadValue, match=r"should end with \.jsonl"):
            import_set("polaris", source, tmp_path / "out.json")
