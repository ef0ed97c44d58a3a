"""`masgym.audit`: which form of the advantage a file has, and which are wrong."""

import math

import pytest
from forged_rollouts import advantages_of_another_group, not_centred, turned_sign
from rollout_files import centred, divided, faults, tree, written

from masgym.audit import audit, text


@pytest.mark.parametrize(
    ("scale", "name"),
    [
        (lambda n, deviation: n / (n - 1), "mean of the others"),
        (lambda n, deviation: 1 / (deviation * math.sqrt(n / (n - 1)) + 1e-4), "n - 1"),
    ],
)
def test_other_forms_of_the_advantage_are_recognised(tmp_path, scale, name):
    def form(rewards):
        deviation = math.sqrt(sum(c * c for c in centred(rewards)) / len(rewards))
        return [c * scale(len(rewards), deviation) if deviation else 0.0 for c in centred(rewards)]

    found = audit(written(tmp_path, tree(advantages=form)))
    assert found.ok, text(found)
    assert name in found.advantage


def over_the_file(rows, scaled):
    rows = list(rows)
    rewards = [row["reward"] for row in rows]
    made = divided(rewards) if scaled else centred(rewards)
    return [row | {"advantage": a} for row, a in zip(rows, made, strict=True)]


def over_batches(rows, size=240):
    rows = list(rows)
    return [row for i in range(0, len(rows), size) for row in over_the_file(rows[i : i + size], False)]


def clipped(rows):
    return (row | {"advantage": min(max(row["advantage"], -1.2), 1.2)} for row in rows)


def rounded(rows):
    return (row | {"advantage": round(row["advantage"], 2)} for row in rows)


@pytest.mark.parametrize(
    ("finished", "form"),
    [
        (clipped, "group's standard deviation"),
        (rounded, "group's standard deviation"),
        (lambda rows: clipped(rounded(rows)), "group's standard deviation"),
        (lambda rows: over_the_file(rows, False), "mean of a batch"),
        (lambda rows: rounded(over_the_file(rows, False)), "mean of a batch"),
        (over_batches, "mean of a batch"),
        (lambda rows: over_the_file(rows, True), "standard deviation of all"),
    ],
)
def test_what_trainers_rightly_do_to_advantages_is_no_fault(tmp_path, finished, form):
    found = audit(written(tmp_path, finished(tree())))
    assert found.ok, text(found)
    assert form in found.advantage


def zeros(rows):
    return (row | {"advantage": 0.0} for row in rows)


def zeros_in_one_group(rows):
    return (row | ({"advantage": 0.0} if i < 6 else {}) for i, row in enumerate(rows))


def one_group_turned(rows):
    return (row | ({"advantage": -row["advantage"]} if i < 6 else {}) for i, row in enumerate(rows))


@pytest.mark.parametrize(
    ("forge", "title"),
    [
        (lambda rows: turned_sign(rows), "advantages have the wrong sign"),
        (lambda rows: rounded(clipped(turned_sign(rows))), "advantages have the wrong sign"),
        (one_group_turned, "advantages have the wrong sign"),
        (zeros, "advantages are all 0"),
        (zeros_in_one_group, "advantages are all 0"),
        (lambda rows: rounded(not_centred(rows)), "advantages do not fit the rewards"),
        (lambda rows: rounded(clipped(advantages_of_another_group(rows))), "advantages do not fit the rewards"),
    ],
)
def test_wrong_advantages_are_named_as_what_they_are(tmp_path, forge, title):
    found = audit(written(tmp_path, forge(tree())))
    assert {finding.name for finding in found.findings} >= {title}, text(found)
    assert faults(found) == {None}
    if title != "advantages do not fit the rewards":
        assert len(found.findings) == 1, text(found)
