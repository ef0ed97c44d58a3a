"""Runs, played into a folder."""

import asyncio
import json
from importlib.resources import files

import masgym
from masgym.agents.base import Reply
from masgym.folder import play_run
from masgym.runs import plan

SCHEMA = json.loads(files("masgym").joinpath("report.schema.json").read_text())


class Failing:
    """Fails on every third task."""

    async def act(self, request):
        if request.state.task.index % 3 == 2:
            return Reply(text="", tokens=1, failure="timeout")
        return Reply(text=request.game.oracle(request.state, request.observation.agent), tokens=10, prompt_tokens=100)


def planned(workflow="pair", domain="plan_path", tasks=6, samples=2, names=None, T=8, **options):
    return plan(masgym.game(domain, workflow, T=T), names or {"*": "x"}, tasks=tasks, samples=samples, **options)


def played(plan, agent, folder, **options):
    return asyncio.run(play_run(plan, {"*": agent}, folder, **options))


def stripped(folder):
    report = json.loads((folder / "report.json").read_text())
    del report["latency"]
    return json.dumps(report)


class Wordy:
    """Its first replies are cut off."""

    async def act(self, request):
        first = not request.state.log
        return Reply(text="<answer>" if first else "no", tokens=3, cut=first)
