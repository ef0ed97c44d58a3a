"""Learning rates, entropy bonus and what settings may not be."""

import math

import pytest

from masgym.errors import BadValue
from mastrain.update_settings import UpdateSettings


def test_the_entropy_bonus_has_bounds_and_needs_a_start():
    settings = UpdateSettings(entropy_coefficient=0.01, entropy_target=0.5)
    assert settings.next_entropy_coefficient(0.02, 0.4) == pytest.approx(0.02 * math.exp(0.04))
    assert settings.next_entropy_coefficient(0.02, 0.5) == pytest.approx(0.02)
    assert settings.next_entropy_coefficient(0.5, 0.1) == pytest.approx(0.5)
    assert settings.next_entropy_coefficient(0.01, 0.9) == pytest.approx(0.01)
    with pytest.raises(BadValue, match="coefficient to start from"):
        UpdateSettings(entropy_target=0.5)
    with pytest.raises(BadValue, match="only `group`"):
        UpdateSettings(entropy_coefficient=0.01, entropy_target=0.5, loss="dapo")


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        ("constant", [0.25, 0.5, 0.75, 1, 1, 1, 1, 1]),
        ("linear", [0.25, 0.5, 0.75, 1, 0.75, 0.5, 0.25, 0, 0]),
        ("cosine", [0.25, 0.5, 0.75, 1, 0.5 + math.sqrt(0.125), 0.5, 0.5 - math.sqrt(0.125), 0, 0]),
    ],
)
def test_learning_rates(schedule, rates):
    settings = UpdateSettings(learning_rate=2.0, schedule=schedule, warmup_steps=3, total_steps=7)
    assert [settings.learning_rate_at(s) / 2 for s in range(len(rates))] == pytest.approx(rates)


def test_a_falling_rate_reaches_0_where_the_budget_is_spent():
    linear = UpdateSettings(learning_rate=2.0, schedule="linear", warmup_steps=2, total_steps=102)
    assert linear.learning_rate_at(12, 0.5) == pytest.approx(1)  # the budget ends first
    assert linear.learning_rate_at(92, 0.5) == pytest.approx(0.2)  # the steps do
    assert linear.learning_rate_at(12, 1.2) == 0
    assert linear.learning_rate_at(0, 0.5) == pytest.approx(2 / 3)  # warm-up
    assert UpdateSettings(learning_rate=2.0).learning_rate_at(12, 0.5) == 2


@pytest.mark.parametrize(
    "bad", [{"temperature": 0.0}, {"schedule": "cosine"}, {"schedule": "linear", "warmup_steps": 4}]
)
def test_settings_that_contradict_themselves_are_refused(bad):
    with pytest.raises(BadValue):
        UpdateSettings(**bad)
