"""The run folder's files: whole or not there, owned by one process, and never silently incomplete."""

import json
import math
import os
from pathlib import Path

import pytest

from masgym import files
from masgym.errors import BadFile, BadValue
from mastrain import runlog
from mastrain.runlog import CONFIG, METRICS, TIMINGS, RunLog


def write(folder, steps, name=METRICS):
    (folder / name).write_text("".join(json.dumps({"step": step, "x": 0.5}) + "\n" for step in steps))


def test_a_resumed_log_goes_on_after_the_checkpoint(tmp_path):
    write(tmp_path, range(1, 6))
    with (tmp_path / METRICS).open("a") as out:
        out.write('{"step": 6, "ha')
    log = RunLog(tmp_path, 3)
    log.metrics(4, {"x": 1.0})
    log.close()
    rows = [json.loads(line) for line in (tmp_path / METRICS).read_text().splitlines()]
    assert [(row["step"], row["x"]) for row in rows] == [(1, 0.5), (2, 0.5), (3, 0.5), (4, 1.0)]


def test_a_last_line_without_its_newline_counts(tmp_path):
    (tmp_path / METRICS).write_text('{"step": 1}\n{"step": 2}')
    RunLog(tmp_path, 2).close()
    assert (tmp_path / METRICS).read_text() == '{"step": 1}\n{"step": 2}\n'


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([], "lacks step 1, 2, 3, 4,"),
        ([1, 2], "lacks step 3, 4,.*after step 2"),
        ([1, 3, 4], "lacks step 2,.*after step 1"),
        ([1, 2, 3, 3, 4], "every step once"),
        ([1, 2, 4, 3], "in order"),
    ],
)
def test_metrics_short_of_the_checkpoint(tmp_path, steps, told):
    write(tmp_path, steps)
    before = (tmp_path / METRICS).read_bytes()
    with pytest.raises(BadFile, match=told):
        RunLog(tmp_path, 4)
    assert (tmp_path / METRICS).read_bytes() == before


def test_deleted_metrics_are_told_and_deleted_timings_are_not_needed(tmp_path):
    with pytest.raises(BadFile, match=r"lacks step 1, .* and 5 more"):
        RunLog(tmp_path, 15)
    write(tmp_path, [1, 2])
    RunLog(tmp_path, 2).close()


@pytest.mark.parametrize(
    "line",
    [b"\xff\xfe", b'{"step": "x"}', b'{"step": null}', b'{"step": true}', b"[]", b"3", b"{}", b"", b"[" * 99_999],
)
@pytest.mark.parametrize("name", [METRICS, TIMINGS])
def test_a_line_that_is_no_row(tmp_path, name, line):
    write(tmp_path, [1, 2])
    write(tmp_path, [1, 2], TIMINGS)
    data = (tmp_path / name).read_bytes().replace(b"\n", b"\n" + line + b"\n", 1)
    (tmp_path / name).write_bytes(data)
    with pytest.raises(BadFile, match=rf"{name}, line 2: "):
        RunLog(tmp_path, 2)
    assert (tmp_path / name).read_bytes() == data


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_metrics_that_are_no_file(tmp_path, make):
    make(tmp_path / METRICS)
    with pytest.raises(BadFile, match="cannot be read"):
        RunLog(tmp_path, 0)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"\x00\x01", b"[1]", b"a: [", b"", b"[" * 99_999])
def test_a_config_that_is_none(tmp_path, content):
    (tmp_path / CONFIG).write_bytes(content)
    with pytest.raises(BadFile, match=CONFIG):
        runlog.read_config(tmp_path)


@pytest.mark.parametrize("left", ["checkpoints/step_000009", "checkpoints", METRICS])
def test_remains_of_another_run_are_not_taken_over(tmp_path, left):
    (tmp_path / left).mkdir(parents=True)
    with pytest.raises(BadValue, match="of another run"):
        runlog.create(tmp_path, {"seed": 0})
    assert not (tmp_path / CONFIG).exists()


def test_of_two_that_create_one_wins(tmp_path, monkeypatch):
    """The other looked before the config was there."""
    locked = runlog.locked

    def late(folder):
        monkeypatch.undo()
        runlog.create(folder, {"seed": 0})
        return locked(folder)

    monkeypatch.setattr(runlog, "locked", late)
    with pytest.raises(BadValue, match="holds a run already"):
        runlog.create(tmp_path, {"seed": 1})
    assert runlog.read_config(tmp_path) == {"seed": 0}


def test_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "run").write_text("")
    with pytest.raises(BadValue, match="cannot be written"):
        runlog.create(tmp_path / "run", {})


@pytest.mark.parametrize(
    "write_it", [lambda log: log.report("before.json", {"a": 2}), lambda log: RunLog(log.folder, 1)]
)
def test_a_write_that_fails_half_way_leaves_the_old_file(tmp_path, monkeypatch, write_it):
    write(tmp_path, [1, 2])
    log = RunLog(tmp_path, 2)
    log.report("before.json", {"a": 1})
    before = {name: (tmp_path / name).read_bytes() for name in (METRICS, "before.json")}

    there = sorted(tmp_path.iterdir())

    def on_full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "replace", on_full_disk)
    with pytest.raises(BadFile, match="cannot be written: No space left"):
        write_it(log)
    assert {name: (tmp_path / name).read_bytes() for name in before} == before
    assert sorted(tmp_path.iterdir()) == there


@pytest.mark.parametrize("spent", ["123", None, True, math.nan, math.inf, -math.inf, -1, 10**400])
def test_what_was_spent_is_a_number(tmp_path, spent):
    write(tmp_path, [1])
    (tmp_path / METRICS).write_text(json.dumps({"step": 1, runlog.SPENT: spent}) + "\n")
    with pytest.raises(BadFile, match="a number from 0 to 1e"):
        RunLog(tmp_path, 1)
