"""Files that appear whole, whatever happens to who writes them."""

import json
import subprocess
import sys

import pytest

from masgym.cli import main
from masgym.errors import BadFile
from masgym.files import whole_file
from masgym.viewer import write_page

WRITER = """
import sys, time
from pathlib import Path
from masgym.files import whole_file

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
    (out.parent / ".tasks.jsonl.old").touch()  # somebody's own
    process = writing(out)
    unfinished = f".tasks.jsonl.{process.pid}"
    assert main(["import", "polaris", str(source), "--out", str(out)]) == 0
    assert names(out.parent) == sorted([unfinished, ".tasks.jsonl.old", "tasks.jsonl"])
    process.kill()
    process.wait()
    assert unfinished in names(out.parent)
    assert main(["import", "polaris", str(source), "--out", str(out)]) == 0
    assert names(out.parent) == [".tasks.jsonl.old", "tasks.jsonl"]
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
