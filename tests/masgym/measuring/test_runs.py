"""Run folders: what they hold, that they can be gone on with, and what is refused."""

import asyncio
import json
import subprocess
import sys

import jsonschema
import pytest
from played_runs import SCHEMA, Failing, planned, played, stripped

import masgym
from masgym.agents.base import Reply
from masgym.agents.oracle import OracleAgent
from masgym.agents.random import RandomAgent
from masgym.errors import BadFile, BadValue, UnknownName
from masgym.folder import load, play_run, read_run
from masgym.report import from_json
from masgym.run_json import report_json
from masgym.runs import game_of, plan


def test_a_run_folder_holds_everything(tmp_path):
    run = planned(seed=4, settings={"level": "none", "temperature": 0.5})
    out = played(run, Failing(), tmp_path / "run")
    folder = tmp_path / "run"
    assert {p.name for p in folder.iterdir()} == {
        *("run.json", "episodes.jsonl", "report.json", "report.md", "report.csv", ".lock")
    }
    report = json.loads((folder / "report.json").read_text())
    jsonschema.validate(report, SCHEMA)
    assert report == report_json(out)
    assert report["success"]["mean"] == pytest.approx(4 / 6)
    assert report["failures"] == {"timeout": 4}
    assert report["run"] == json.loads((folder / "run.json").read_text())
    assert (report["run"]["seed"], report["run"]["settings"]["temperature"]) == (4, 0.5)
    assert (report["run"]["sandbox"], report["run"]["environment"]) == ("bubblewrap", "masgym/plan_path_v0")
    assert report["cost"]["C_tok"] == sum(r.tokens for r in out.records)
    assert report["cost"]["C_call"] == sum(r.replies for r in out.records)
    assert report["cost"]["U_tok"] == pytest.approx(1e6 * 8 / report["cost"]["C_tok"])
    assert load(folder) == out
    assert from_json(report) == out.report


def test_the_game_can_be_made_again_from_the_folder(tmp_path):
    game = masgym.game("math", "verify", level="hard", T=3, style="compact", alpha=0.5)
    played(plan(game, {"*": "oracle"}, tasks=1), OracleAgent(), tmp_path)
    again = game_of(read_run(tmp_path))
    assert again.fingerprint == game.fingerprint
    assert again.domain.tasks.get("test", 3) == game.domain.tasks.get("test", 3)


def test_results_do_not_depend_on_the_number_of_workers(tmp_path):
    class Waiting(RandomAgent):
        async def act(self, request):
            for _ in range(request.state.task.index * 7 % 5):
                await asyncio.sleep(0)
            return await super().act(request)

    run = planned(T=3)
    for workers in (1, 3, 100):
        played(run, Waiting(), tmp_path / str(workers), workers=workers)
    assert stripped(tmp_path / "1") == stripped(tmp_path / "3") == stripped(tmp_path / "100")


def test_at_most_so_many_episodes_are_open_as_there_are_workers():
    open_now, most = set(), []

    class Counting(OracleAgent):
        async def act(self, request):
            open_now.add(request.state.task.index)
            most.append(len(open_now))
            await asyncio.sleep(0)
            return await super().act(request)

    def over(record):
        open_now.discard(record.index)

    played(planned(samples=1, tasks=9), Counting(), None, workers=2, on_episode=over)
    assert max(most) == 2


class Broken(RandomAgent):
    """Raises when `after` episodes are over."""

    def __init__(self, after):
        self.left = after

    async def act(self, request):
        if not self.left:
            raise ConnectionError("gone")
        return await super().act(request)

    def count(self, record):
        self.left -= 1


def test_only_missing_episodes_are_played_when_a_run_is_resumed(tmp_path):
    played(planned(), RandomAgent(), tmp_path / "whole")
    broken, folder, seen = Broken(5), tmp_path / "run", []
    with pytest.raises(ConnectionError):
        played(planned(), broken, folder, workers=1, on_episode=broken.count)
    assert len((folder / "episodes.jsonl").read_bytes().splitlines()) == 5
    assert not (folder / "report.json").exists()
    with (folder / "episodes.jsonl").open("ab") as file:
        file.write(b'{"task": "torn by a ki')
    with pytest.raises(BadFile, match="5 of its 12 episodes"):
        load(folder)
    starts = []
    played(
        planned(),
        RandomAgent(),
        folder,
        resume=True,
        on_start=lambda *a: starts.append((len(a[0]), a[1])),
        on_episode=seen.append,
    )
    assert (starts, len(seen)) == ([(5, 12)], 7)
    assert stripped(folder) == stripped(tmp_path / "whole")
    played(planned(), Broken(0), folder, resume=True)  # nothing is left to play
    assert stripped(folder) == stripped(tmp_path / "whole")


def test_a_folder_without_a_run_can_be_resumed(tmp_path):
    """The process may have been killed before it wrote anything."""
    assert len(played(planned(tasks=1), OracleAgent(), tmp_path / "new", resume=True).records) == 2


def test_a_run_is_not_overwritten_and_no_other_run_is_gone_on_with(tmp_path):
    played(planned(), OracleAgent(), tmp_path)
    with pytest.raises(BadValue, match="holds a run already"):
        played(planned(), OracleAgent(), tmp_path)
    with pytest.raises(BadValue, match=r"seed differ \(seed: 0 there, 1 here\)"):
        played(planned(seed=1), OracleAgent(), tmp_path, resume=True)
    with pytest.raises(BadValue, match=r"agents differ .*'x'.*'y'"):
        played(planned(names={"*": "y"}), OracleAgent(), tmp_path, resume=True)
    with pytest.raises(BadValue, match="game, fingerprint differ"):
        played(planned(workflow="solo"), OracleAgent(), tmp_path, resume=True)
    with pytest.raises(BadValue, match="tasks, task_hash differ"):
        played(planned(tasks=7), OracleAgent(), tmp_path, resume=True)


def test_two_processes_cannot_play_one_folder(tmp_path):
    program = f"import fcntl; f = open({str(tmp_path / '.lock')!r}, 'a'); fcntl.lockf(f, fcntl.LOCK_EX); input('.')"
    run = planned(tasks=1, samples=1)
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdout.read(1)
        with pytest.raises(BadValue, match="in use by another process"):
            played(run, OracleAgent(), tmp_path)
    assert len(played(planned(tasks=1, samples=1), OracleAgent(), tmp_path).records) == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"tasks": 0}, "tasks is 0"),
        ({"tasks": "x"}, "tasks is 'x'; a whole number"),
        ({"samples": True}, "samples is True"),
        ({"seed": -1}, "seed is -1"),
        ({"split": "exam"}, "unknown split 'exam'"),
        ({"sandbox": "docker"}, "unknown sandbox 'docker'"),
    ],
)
def test_bad_arguments_of_a_plan(options, says):
    with pytest.raises((BadValue, UnknownName), match=says):
        planned(**options)


def test_a_number_of_workers_that_cannot_be_is_told_before_anything_is_made(tmp_path):
    for workers in (0, -1, 1.5, True, None):
        with pytest.raises(BadValue, match="workers is"):
            played(planned(tasks=1), OracleAgent(), tmp_path / "run", workers=workers)
    assert not (tmp_path / "run").exists()


def test_more_episodes_than_can_be_kept_are_refused_at_once():
    for counts in ({"tasks": 10**12}, {"tasks": 1, "samples": 10**12}):
        with pytest.raises(BadValue, match="at most 1e\\+07 episodes"):
            asyncio.run(play_run(planned(**counts), {"*": OracleAgent()}, None))


@pytest.mark.parametrize("folder", [None, "run"])
def test_no_episode_is_kept_that_could_not_be_read_again(tmp_path, folder):
    class Boastful(OracleAgent):
        async def act(self, request):
            return Reply(text="", tokens=10**20)

    with pytest.raises(BadFile, match="an episode that was played, field 'tokens': 16000000"):
        played(planned(tasks=1), Boastful(), folder and tmp_path / folder)
    assert not list(tmp_path.glob("run/episodes.jsonl"))
