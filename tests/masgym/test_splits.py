"""Splits are disjoint, by the content of their tasks."""

import pytest

import masgym
from masgym.tasks import SPLITS, content_hash, split_of


def check(domain: str, count: int) -> None:
    source = masgym.game(domain).domain.tasks
    hashes = {}
    for split in SPLITS:
        tasks = [source.get(split, index) for index in range(count)]
        assert all(content_hash(task.content) == task.content_hash for task in tasks)
        assert all(split_of(task.content_hash) == split == task.split for task in tasks)
        hashes[split] = {task.content_hash for task in tasks}
        assert len(hashes[split]) > count / 2  # few are drawn twice
    assert not hashes["train"] & hashes["validation"]
    assert not hashes["train"] & hashes["test"]
    assert not hashes["validation"] & hashes["test"]


@pytest.mark.parametrize("domain", ["sokoban", "plan_path"])
def test_a_thousand_tasks_of_each_split_are_disjoint(domain: str) -> None:
    check(domain, 1_000)


@pytest.mark.slow
@pytest.mark.parametrize("domain", ["sokoban", "plan_path"])
def test_ten_thousand_tasks_of_each_split_are_disjoint(domain: str) -> None:
    check(domain, 10_000)
