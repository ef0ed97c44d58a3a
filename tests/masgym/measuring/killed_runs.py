"""Kills a run at random moments, resumes it, compares the reports. A program of its own, since it forks.

python killed_runs.py FOLDER KILLS [outage] -> a line of JSON: how many episodes each kill left, which reports parted.
With `outage` what is killed is the resuming of a run whose server was down half of the time.
"""

import asyncio
import csv
import io
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import masgym
from masgym.agents.base import Reply
from masgym.agents.random import random_reply
from masgym.folder import play_run
from masgym.rng import keyed
from masgym.runs import plan

EPISODES = 18


class Slow:
    def __init__(self, down=False):
        self.down = down

    async def act(self, request):
        rng = keyed(*request.key)
        if self.down and request.state.task.index % 2:
            return Reply(text="", failure="connection")
        await asyncio.sleep(float(rng.uniform(0, 0.004)))
        reply = random_reply(request.game, request.state, request.observation.agent, rng)
        return Reply(text=reply, tokens=len(reply), failure="timeout" if rng.random() < 0.01 else "")


PLAN = plan(masgym.game("plan_path", "pair", T=3), {"*": "slow"}, tasks=EPISODES // 3, samples=3)


def play(folder, resume, down):
    asyncio.run(play_run(PLAN, {"*": Slow(down)}, folder, workers=3, resume=resume))


def forked(folder, resume, down=False):
    child = os.fork()
    if child == 0:
        play(folder, resume, down)
        os._exit(0)
    return child


def ended(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def without_latency(folder):
    """The reports, and what else the folder holds."""
    report = json.loads((folder / "report.json").read_text())
    del report["latency"]
    page = [line for line in (folder / "report.md").read_text().splitlines() if not line.startswith("| seconds")]
    rows = [row[:-2] for row in csv.reader(io.StringIO((folder / "report.csv").read_text()))]
    return json.dumps(report), page, rows, sorted(path.name for path in folder.iterdir())


def lines(folder):
    path = folder / "episodes.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def main(root, kills, outage):
    started = time.perf_counter()
    assert ended(forked(root / "whole", False)) == 0
    whole = time.perf_counter() - started
    there, parted = [], []
    for number in range(kills):
        folder = root / str(number)
        if outage:
            assert ended(forked(folder, False, down=True)) == 0
            assert json.loads((folder / "report.json").read_text())["failures"]["connection"] == EPISODES // 2
        child = forked(folder, outage)
        time.sleep(random.uniform(0, whole))
        os.kill(child, signal.SIGKILL)
        ended(child)
        there.append(lines(folder))
        assert ended(forked(folder, True)) == 0
        if without_latency(folder) != without_latency(root / "whole"):
            parted.append(number)
    print(json.dumps({"there": there, "parted": parted}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), "outage" in sys.argv[3:])
