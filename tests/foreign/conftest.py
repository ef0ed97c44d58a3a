"""Agents that answer by a function of what they are shown."""

import asyncio
from pathlib import Path

import pytest

from masgym.agents.base import Reply
from masgym.evaluate import evaluate


class Says:
    def __init__(self, answer):
        self.answer, self.shown = answer, []

    async def act(self, request):
        self.shown.append(request.observation.text)
        return Reply(text=self.answer(request.observation.text), tokens=1)


@pytest.fixture
def says():
    return Says


@pytest.fixture
def played():
    """(game, agents, tasks) -> records, by the evaluator."""
    return lambda game, agents, tasks=3, **more: asyncio.run(evaluate(game, agents, tasks=tasks, **more))


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
