"""Files that appear whole, whatever happens to who writes them."""

import json
import os
import re
import subprocess
import sys

import pytest

from masgym.cli import main
from masgym.errors import BadFile
from masgym.files import drop_torn_line, whole_file, write_whole
from masgym.viewer import write_page

WRITER = """
import sys, time
from pathlib import Path
from masgym.files import drop_torn_line, whole_file, write_whole

with whole_file(Path(sys.argv[1])) as file:
    file.write("a part")
    file.flush()
    print("there", flush=True)
    time.sleep(1000)
"""


@pytest.fixture
def writing():
    """Path -> a process that has begun to write it, and does not go on."""
    begun = []

    def go(path):
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=-1, text=True)
        begun.append(process)
        assert process.stdout.readline() == "there\n"
        return process

    yield go
    for process in begun:
        process.kill()
        process.communicate()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_what_a_killed_process_left_is_removed_by_the_next_and_what_a_living_one_writes_is_not(writing, tmp_path):
    source, out = tmp_path / "rows.jsonl", tmp_path / "out" / "tasks.jsonl"
    source.write_text(json.dumps({"problem": "What is 1+1?", "answer": 2}) + "\n")
    out.parent.mkdir()
    own = [".tasks.jsonl.2024", ".tasks.jsonl.old"]  # somebody's
    for name in own:
        (out.parent / name).touch()
    process = writing(out)
    (unfinished,) = set(names(out.parent)) - set(own)
    assert re.fullmatch(r"\.tasks\.jsonl\.[0-9a-f]{16}\.part", unfinished)
    assert main(["import", "polaris", str(source), "--out", str(out)]) == 0
    assert names(out.parent) == sorted([unfinished, *own, "tasks.jsonl"])
    process.kill()
    process.wait()
    assert unfinished in names(out.parent)
    assert main(["import", "polaris", str(source), "--out", str(out)]) == 0
    assert names(out.parent) == [*own, "tasks.jsonl"]
    assert len(out.read_text().splitlines()) == 1


def test_a_page_as_well(writing, tmp_path):
    run, page = tmp_path / "run", tmp_path / "pages" / "page.html"
    page.parent.mkdir()
    assert main(["eval", "sokoban", "--agent", "random", "--tasks", "1", "--turns", "1", "--out", str(run)]) == 0
    process = writing(page)
    process.kill()
    process.wait()
    write_page(run, page)
    assert names(page.parent) == ["page.html"]


def test_nothing_is_left_where_the_block_fails(tmp_path):
    (tmp_path / "a").write_text("old")
    with pytest.raises(ZeroDivisionError), whole_file(tmp_path / "a") as file:
        file.write(f"{1 // 0}")
    assert (names(tmp_path), (tmp_path / "a").read_text()) == (["a"], "old")


def test_a_link_goes_on_leading_to_the_file(tmp_path):
    (tmp_path / "link").symlink_to("there")
    for text in ("one", "two"):
        with whole_file(tmp_path / "link") as file:
            file.write(text)
        assert (tmp_path / "there").read_text() == text
    assert (names(tmp_path), (tmp_path / "link").is_symlink()) == (["link", "there"], True)


def test_what_is_no_file_is_not_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "null").symlink_to("/dev/null")
    for path in (tmp_path / "folder", tmp_path / "null"):
        with pytest.raises(BadFile, match="no regular file"), whole_file(path):
            pass
    with pytest.raises(BadFile, match="cannot be written"), whole_file(tmp_path / "none" / "file"):
        pass
    assert names(tmp_path) == ["folder", "null"]


def test_writers_with_the_same_process_number_do_not_meet(tmp_path, monkeypatch):
    """Such as two containers on one folder, or two threads: each text is whole, the last to end has the name."""
    monkeypatch.setattr(os, "getpid", lambda: 7)
    with whole_file(tmp_path / "a") as one:
        one.write("one, and long")
        one.flush()
        with whole_file(tmp_path / "a") as other:
            other.write("other")
        assert (tmp_path / "a").read_text() == "other"
        one.write(".")
    assert ((tmp_path / "a").read_text(), names(tmp_path)) == ("one, and long.", ["a"])


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
def test_a_file_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "a"
    path.touch()
    path.chmod(mode)
    write_whole(path, "x")
    assert (path.stat().st_mode & 0o777, path.read_text()) == (mode, "x")


@pytest.mark.parametrize("name", ["a" * 255, "\u00e4" * 127, "b" * 240])
def test_a_name_may_have_as_many_bytes_as_any(tmp_path, writing, name):
    process = writing(tmp_path / name)
    process.kill()
    process.wait()
    write_whole(tmp_path / name, "x")
    assert names(tmp_path) == [name]
    with pytest.raises(BadFile, match="cannot be written"):
        write_whole(tmp_path / (name + "a" * 20), "x")


def test_a_file_whose_torn_line_cannot_be_dropped_is_told(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(BadFile, match="folder cannot be written: Is a directory"):
        drop_torn_line(tmp_path / "folder")


@pytest.mark.parametrize("out", ["a" * 300, "file/run"])
def test_another_folder_that_cannot_be_made_is_told(tmp_path, capsys, monkeypatch, out):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    assert main(["eval", "sokoban", "--agent", "random", "--tasks", "1", "--turns", "1", "--out", out]) == 2
    assert re.search("cannot be written .(File name too long|Not a directory)", capsys.readouterr().err)


@pytest.mark.parametrize("out", ["link", "link/run"])
def test_a_link_that_leads_to_nothing_is_told_as_such(tmp_path, capsys, monkeypatch, out):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to("gone/runs")
    assert main(["eval", "sokoban", "--agent", "random", "--tasks", "1", "--turns", "1", "--out", out]) == 2
    told = capsys.readouterr().err
    assert f"the folder {out} cannot be written (the link link leads to gone/runs, where nothing is)" in told
