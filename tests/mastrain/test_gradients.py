"""Greedy trees against random continuation: the numbers on a case made by hand, and the whole at the smallest size."""

import json
import math

import numpy as np
import pytest
import torch
from rich.console import Console
from update_batches import ragged_rows, tiny_model

from masgym.errors import BadValue
from mastrain import gradients
from mastrain.batch import pad
from mastrain.moments import compare
from mastrain.nano import nano_tokenizer
from mastrain.objectives import token_clip
from mastrain.update_settings import UpdateSettings
from mastrain.updater import Updater

TINY = ["experiment=smoke", "model.hidden=32", "model.layers=1", "model.heads=2", "model.warmstart.steps=60"]


@pytest.fixture(autouse=True)
def _cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("MASGYM_CACHE", str(tmp_path_factory.getbasetemp() / "gradients-cache"))


def gram(*vectors):
    every = np.array(vectors, dtype=float)
    return every @ every.T


def test_two_batches_of_each_kind_worked_by_hand():
    """(1, 0), (3, 0): mean (2, 0), variance 2, squared norm of the mean 1 * 3 = 4 - 2/2. (0, 1), (0, 2): 2 and 1/2."""
    found = compare(gram((1, 0), (3, 0), (0, 1), (0, 2)), 2, 0)
    assert found.one.norm.mean == pytest.approx(math.sqrt(3))
    assert found.one.variance.mean == pytest.approx(2)
    assert found.one.snr.mean == pytest.approx(1.5)
    assert found.other.norm.mean == pytest.approx(math.sqrt(2))
    assert found.other.variance.mean == pytest.approx(0.5)
    assert found.other.snr.mean == pytest.approx(4)
    assert found.snr_ratio.mean == pytest.approx(1.5 / 4)
    assert found.cosine.mean == 0


def test_variance_is_the_trace_of_the_covariance_and_norms_are_unbiased():
    rng = np.random.default_rng(0)
    mean = np.array([3.0, -1.0, 2.0, 0.0])
    norms = []
    for _ in range(300):
        one = mean + 2 * rng.standard_normal((8, 4))
        other = -mean + rng.standard_normal((6, 4))
        found = compare(gram(*one, *other), 8, 0) if not norms else None
        if found:
            assert found.one.variance.mean == pytest.approx(np.trace(np.cov(one.T)))
            assert found.other.variance.mean == pytest.approx(np.trace(np.cov(other.T)))
            assert found.cosine.mean < -0.8
        products = one @ one.T
        norms.append((products.sum() - np.trace(products)) / (8 * 7))
    assert np.mean(norms) == pytest.approx(mean @ mean, rel=0.1)


def test_intervals_hold_the_truth_as_often_as_they_say():
    rng, hits = np.random.default_rng(5), []
    for seed in range(60):
        one, other = 1 + rng.standard_normal((32, 30)), 1 + 3 * rng.standard_normal((32, 30))
        found = compare(gram(*one, *other), 32, seed)
        truths = [
            *((found.one.norm, math.sqrt(30)), (found.other.norm, math.sqrt(30))),
            *((found.one.variance, 30), (found.other.variance, 270), (found.snr_ratio, 9)),
        ]
        hits.append([interval.low < truth < interval.high for interval, truth in truths])
    assert (np.mean(hits, axis=0) > 0.85).all()


def test_a_mean_that_cannot_be_told_from_nothing_has_no_direction():
    found = compare(gram((1, 0), (-1, 0), (0, 1), (0, 2)), 2, 0)
    assert found.one.norm.mean == found.one.snr.mean == 0
    assert math.isnan(found.cosine.mean)


@pytest.mark.parametrize("parts", [1, 3])
def test_the_gradient_is_that_of_the_update_and_nothing_moves(tmp_path, parts):
    updater = Updater(tiny_model(), nano_tokenizer(), UpdateSettings(), tmp_path)
    rows = ragged_rows()
    batches = [pad(rows[i::parts], 0) for i in range(parts)]
    before = [x.detach().clone() for x in updater._policy.parameters()]
    gradient = updater.gradient(batches, token_clip(0.2))
    assert all(torch.equal(x, y) for x, y in zip(before, updater._policy.parameters(), strict=True))
    assert updater.steps == 0
    assert all(x.grad is None for x in updater._policy.parameters())
    assert gradient.norm().item() == pytest.approx(updater.step(batches, token_clip(0.2))["grad_norm"], rel=1e-5)


def measured(folder, *overrides):
    found = gradients.main([*TINY, "batches=3", "tokens=300", f"out={folder}", *overrides], Console(quiet=True))
    return found, json.loads((folder / "gradients.json").read_text())


def test_greedy_and_random_trees_of_a_small_model(tmp_path):
    found, told = measured(tmp_path / "one")
    assert set(found) == set(told["policies"]) == {"tool", "actor"}
    for kind in ("greedy", "random"):
        assert 300 <= told["kinds"][kind]["tokens"] < 3000
        assert told["policies"]["actor"][kind]["variance"]["mean"] > 0
    assert told["config"]["algo"]["entropy"] == 0
    assert "greedy / random" in (tmp_path / "one" / "table.md").read_text()
    left = {path.name for path in (tmp_path / "one").iterdir()}
    assert left == {"table.md", "gradients.json", ".lock"}
    assert measured(tmp_path / "two")[1]["policies"] == told["policies"]
    assert measured(tmp_path / "three", "seed=1")[1]["policies"] != told["policies"]


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        ("batches=1", "from 2"),
        ("tokens=none", "whole number"),
        ("algo=team_grpo", "algo=team_grpo plays no trees"),
        ("algo=warm", "algo=warm plays no trees"),
        ("algo.greedy_fraction=2", "greedy_fraction is 2"),
        ("resume=runs/other", "out=FOLDER says"),
        ("run_dir=runs/other", "out=FOLDER says"),
    ],
)
def test_mistakes_are_told(tmp_path, argument, says):
    with pytest.raises(BadValue, match=says):
        measured(tmp_path / "out", argument)


def test_an_empty_folder_is_not_the_working_directory():
    with pytest.raises(BadValue, match="out= names no folder"):
        gradients.main(["out=", *TINY], Console())
