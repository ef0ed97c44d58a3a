"""Whole runs at the smallest size: determinism, interruption, resuming, and what lies in the run folder."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from safetensors.torch import load_file

import masgym
from masgym.errors import BadFile, BadValue
from mastrain import checkpoint, runlog
from mastrain.__main__ import compose_run
from mastrain.assemble import assemble, identity_of
from mastrain.config import parse
from mastrain.main import main

TINY = [
    "experiment=smoke",
    "model.hidden=32",
    "model.layers=1",
    "model.heads=2",
    "model.warmstart.steps=4",
    "train.tasks=2",
    "train.eval_tasks=4",
    "train.validate_tasks=3",
    "train.steps=4",
    "algo.entropy=0.01",
]


@pytest.fixture(autouse=True, scope="module")
def _cache(tmp_path_factory):
    os.environ["MASGYM_CACHE"] = str(tmp_path_factory.mktemp("cache"))


def test_runs_with_other_seeds_start_from_the_same_model(tmp_path):
    def weights(*overrides):
        run = assemble(parse(compose_run([*TINY, f"run_dir={tmp_path}", *overrides])), tmp_path, lambda line: None)
        return run.models["actor"].state_dict()

    first, second, third = weights("seed=0"), weights("seed=5"), weights("model.warmstart.seed=5")
    assert all(first[name].equal(second[name]) for name in first)
    assert not all(first[name].equal(third[name]) for name in first)


def start(folder, *overrides):
    data = compose_run([*TINY, f"run_dir={folder}", *overrides])
    return main(parse(data), data)


def resume(folder):
    data = compose_run([f"resume={folder}"])
    return main(parse(data), data)


def files(folder):
    return {name: (folder / name).read_text() for name in (runlog.METRICS, "before.json", "after.json")}


def weights(folder):
    last = checkpoint.latest(folder / "checkpoints")
    return {p: load_file(last / p / "model.safetensors") for p in ("tool", "actor") if (last / p).is_dir()}


def equal(a, b):
    return all((a[p][k] == b[p][k]).all() for p in a for k in a[p])


def test_same_seed_same_metrics_same_weights(tmp_path):
    for name in ("one", "two"):
        assert start(tmp_path / name) == 0
    assert files(tmp_path / "one") == files(tmp_path / "two")
    assert equal(weights(tmp_path / "one"), weights(tmp_path / "two"))
    assert start(tmp_path / "other", "seed=1") == 0
    assert files(tmp_path / "other")[runlog.METRICS] != files(tmp_path / "one")[runlog.METRICS]


@pytest.mark.parametrize("changes", [("env=plan_path",), ("policies=shared", "workflow=solo"), ("policies=shared",)])
def test_other_envs_workflows_and_policies_run(tmp_path, changes):
    assert start(tmp_path / "run", *changes) == 0


@pytest.mark.slow
@pytest.mark.parametrize("env", ["sokoban", "plan_path", "sudoku", "code", "math", "search"])
def test_the_smoke_run_takes_less_than_a_minute_on_two_cores(tmp_path, env):
    """Measured in CPU time, that of programs and workers included, so that a busy machine changes nothing."""
    data = compose_run([f"env={env}", "experiment=smoke", f"run_dir={tmp_path / 'run'}"])
    begun = sum(os.times()[:4])
    assert main(parse(data), data) == 0
    assert sum(os.times()[:4]) - begun < 60


def test_what_a_run_leaves(tmp_path):
    folder = tmp_path / "run"
    assert start(folder, "sandbox=unsafe") == 0
    steps = [json.loads(line) for line in (folder / runlog.METRICS).read_text().splitlines()]
    assert [row["step"] for row in steps] == [1, 2, 3, 4]
    for name in ("sample/success", "groups/zero_variance", "tool/entropy", "actor/grad_norm", "actor/term/legal"):
        assert name in steps[0], name
    assert "validation/success" in steps[1]
    assert list((folder / "tensorboard").glob("events.*"))
    assert yaml.safe_load((folder / runlog.CONFIG).read_text())["env"]["name"] == "sokoban"
    assert [path.name for path in checkpoint.all_of(folder / "checkpoints")] == ["step_000002", "step_000004"]
    report = json.loads((folder / "after.json").read_text())
    assert set(report) == {"sampled", "greedy"}
    assert set(report["sampled"]["success"]) == {"mean", "low", "high"}
    assert report["sampled"]["sandbox"] == report["greedy"]["sandbox"] == "unsafe"


def test_an_interrupted_run_goes_on_bit_for_bit(tmp_path, monkeypatch):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert start(whole) == 0
    from mastrain import main as module

    class Once(module.Interrupt):
        checks = 0

        @property
        def asked(self):
            Once.checks += 1
            return Once.checks > 3

        @asked.setter
        def asked(self, value):
            pass

    with monkeypatch.context() as patch:
        patch.setattr(module, "Interrupt", Once)
        assert start(broken) == 130
    assert checkpoint.latest(broken / "checkpoints").name == "step_000003"
    assert resume(broken) == 0
    assert files(broken) == files(whole)
    assert equal(weights(broken), weights(whole))


def test_a_killed_run_goes_on_bit_for_bit(tmp_path):
    """Killed at once, wherever it is: the last whole checkpoint counts, and what was logged beyond it is cut off."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert start(whole) == 0
    assert start(killed, "train.keep_checkpoints=9") == 0
    for path in checkpoint.all_of(killed / "checkpoints")[2:]:
        (path / "manifest.json").unlink()  # as if killed before the folder got its name
    (killed / "checkpoints" / ".making_000004").mkdir()
    with (killed / runlog.METRICS).open("a") as out:
        out.write('{"step": 4, "half')
    (killed / "after.json").unlink()
    assert resume(killed) == 0
    assert files(killed) == files(whole)


@pytest.mark.slow
def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path):
    folder = tmp_path / "run"
    command = [sys.executable, "-m", "mastrain", *TINY, f"run_dir={folder}", "train.steps=2000"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    metrics = folder / runlog.METRICS
    for _ in range(600):
        if metrics.exists() and metrics.read_text().count("\n") > 2:
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130, out
    assert f"resume={folder}" in out.replace("\n", "")
    assert checkpoint.latest(folder / "checkpoints")


def test_a_run_folder_is_never_overwritten(tmp_path):
    folder = tmp_path / "run"
    runlog.create(folder, {"seed": 0})
    with pytest.raises(BadValue, match="holds a run already"):
        runlog.create(folder, {"seed": 1})
    assert yaml.safe_load((folder / runlog.CONFIG).read_text()) == {"seed": 0}


def test_an_unwritable_run_folder_is_told_before_time_is_spent(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadValue, match="cannot be written"):
        start(tmp_path / "file" / "run")


def test_a_run_that_failed_before_its_first_checkpoint_leaves_its_folder_free(tmp_path, monkeypatch):
    from mastrain import main as module

    def fail(*_, **__):
        raise BadValue("no")

    with monkeypatch.context() as patch:
        patch.setattr(module, "assemble", fail)
        with pytest.raises(BadValue, match="no"):
            start(tmp_path / "run")
    assert start(tmp_path / "run", "train.steps=1") == 0


def test_a_run_killed_before_its_first_checkpoint_can_be_resumed(tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert start(whole, "train.steps=1") == 0
    runlog.create(killed, compose_run([*TINY, f"run_dir={killed}", "train.steps=1"]))
    assert resume(killed) == 0
    assert files(killed) == files(whole)


@pytest.mark.parametrize("name", [runlog.METRICS, runlog.TIMINGS, runlog.ROLLOUTS])
def test_metrics_without_any_checkpoint_are_told_and_kept(tmp_path, name):
    runlog.create(tmp_path, compose_run([*TINY, f"run_dir={tmp_path}"]))
    (tmp_path / name).write_text('{"step": 1}\n{"step": 2}\n{"st')
    with pytest.raises(BadFile, match="holds the metrics of a run, but none of its checkpoints; put them back, or"):
        resume(tmp_path)
    assert (tmp_path / name).read_text() == '{"step": 1}\n{"step": 2}\n{"st'
    assert not (tmp_path / "checkpoints").exists()


def test_ctrl_c_outside_of_the_steps_stops_at_once_and_says_how_to_go_on(tmp_path, monkeypatch, capsys):
    from mastrain import main as module

    def interrupted(*_, **__):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)

    with monkeypatch.context() as patch:
        patch.setattr(module, "evaluate_run", interrupted)
        assert start(tmp_path / "run", "train.steps=1") == 130
    assert "resume=" in capsys.readouterr().out
    assert resume(tmp_path / "run") == 0


def test_a_step_that_samples_nothing_is_an_error(tmp_path, monkeypatch):
    from mastrain.engines.base import SamplingFailed
    from mastrain.engines.transformers import TransformersEngine

    def nothing(self, requests):
        return [SamplingFailed("timeout") for _ in requests]

    monkeypatch.setattr(TransformersEngine, "generate", nothing)
    with pytest.raises(BadValue, match=r"nothing to learn from.*timeout"):
        start(tmp_path / "run", "train.steps=1")


def test_a_task_file_that_has_changed_since_is_told(tmp_path):
    lines = [json.dumps({"question": f"{n}+1", "answer": str(n + 1)}) for n in range(200)]
    file, folder = tmp_path / "tasks.jsonl", tmp_path / "run"
    file.write_text("\n".join(lines))
    assert start(folder, "env=math", "env.level=null", f"+env.params.file={file}", "train.steps=1") == 0
    (folder / "after.json").unlink()
    assert resume(folder) == 0
    file.write_text("\n".join([*lines, '{"question": "2*3", "answer": "6"}']))
    with pytest.raises(BadValue, match=r"tasks\.jsonl.*has changed"):
        resume(folder)


def test_passages_that_have_changed_since_are_told(tmp_path):
    """A checkpoint says which ones its questions were asked about."""
    file, passages = tmp_path / "tasks.jsonl", tmp_path / "passages.jsonl"
    file.write_text('{"question": "Who lives in the mill?", "golden_answers": ["Ana"]}')
    passages.write_text('{"contents": "Ana\\nAna lives in the mill."}')
    game = masgym.game("search", tasks=str(file), corpus=str(passages))
    before = identity_of(game, {}, {})
    assert identity_of(game, {}, {}) == before
    passages.write_text('{"contents": "Ana\\nAna lives in the old mill."}')
    assert identity_of(game, {}, {})["tasks"] != before["tasks"]


@pytest.mark.parametrize("broken", ["nothing", "config"])
def test_resuming_what_is_no_run(tmp_path, broken):
    if broken == "config":
        (tmp_path / runlog.CONFIG).write_text(": [")
    with pytest.raises(BadFile):
        resume(tmp_path)


def test_reports_of_before_that_are_none_are_told(tmp_path):
    folder = tmp_path / "run"
    assert start(folder, "train.steps=2") == 0
    before = (folder / "before.json").read_text()
    for damaged in (
        "{",
        "[]",
        "[" * 99_999,
        '{"sampled": ' + "[" * 99_999,
        '{"sampled": 1}',
        "{}",
        json.dumps({"sampled": json.loads(before)["sampled"]}),
    ):
        (folder / "before.json").write_text(damaged)
        with pytest.raises(BadFile, match="holds no reports"):
            resume(folder)


def test_the_folder_is_the_runs_own_from_its_start_to_its_end(tmp_path, monkeypatch):
    """Also while its last lines are said, when the log is closed."""
    from mastrain import main as module

    folder, seen = tmp_path / "run", []
    other = f"from pathlib import Path\nfrom masgym.files import locked\nwith locked(Path({str(folder)!r})): pass"

    def look(*_):
        seen.append(subprocess.run([sys.executable, "-c", other], capture_output=True, text=True).stderr)
        return ""

    monkeypatch.setattr(module, "_who", look)
    monkeypatch.setattr(module, "eval_command", look)
    assert start(folder, "train.steps=1") == 0
    look()
    assert ["in use by another process" in told for told in seen] == [True, True, False]


def test_who_comes_second_is_told_before_time_is_spent(tmp_path):
    """Also while the first one makes its model and has no checkpoint: nothing of the folder is touched."""
    folder = tmp_path / "run"
    runlog.create(folder, compose_run([*TINY, f"run_dir={folder}"]))
    hold = f"from pathlib import Path\nfrom masgym.files import locked\nwith locked(Path({str(folder)!r})):\n"
    command = [sys.executable, "-c", hold + "    print(1, flush=True)\n    input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"1\n"
        with pytest.raises(BadValue, match="in use by another process"):
            resume(folder)
        other.kill()
    assert {path.name for path in folder.iterdir()} == {runlog.CONFIG, ".lock"}


def test_a_disk_that_is_full_at_the_first_checkpoint(tmp_path, monkeypatch):
    """What the error says to do is what works."""
    folder = tmp_path / "run"

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "_sha256", full)
        with pytest.raises(BadFile, match=f"No space left.*go on with resume={folder}"):
            start(folder)
    assert resume(folder) == 0


def test_reports_that_cannot_be_read(tmp_path):
    folder = tmp_path / "run"
    assert start(folder, "train.steps=1") == 0
    for make in (Path.mkdir, os.mkfifo):
        (folder / "before.json").rename(tmp_path / f"before of {make.__name__}")
        make(folder / "before.json")
        with pytest.raises(BadFile, match="holds no reports"):
            resume(folder)
