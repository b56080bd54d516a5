from __future__ import annotations

import random

import pytest

from cache_adapt.audit.alarm import RARE, pressure, rings


def audits_until_it_rings(disagree: float, tolerance: float, seed: int, most: int) -> int:
    rng, value = random.Random(seed), 0.0
    for audit in range(1, most + 1):
        value = pressure(value, rng.random() >= disagree, tolerance)
        if rings(value):
            return audit
    return most


@pytest.mark.parametrize(("tolerance", "audits"), [(0.03, 6), (0.1, 10), (0.01, 5), (0.3, 26)])
def test_it_rings_soon_when_everything_is_wrong(tolerance: float, audits: int) -> None:
    assert audits_until_it_rings(1.0, tolerance, 0, 1000) == audits


def test_a_long_good_past_does_not_delay_it() -> None:
    value = 0.0
    for _ in range(5000):
        value = pressure(value, True, 0.03)
    for _ in range(7):
        value = pressure(value, False, 0.03)
    assert rings(value)


@pytest.mark.parametrize("tolerance", [0.03, 0.3])
def test_at_the_tolerated_share_it_rings_seldom(tolerance: float) -> None:
    until = [audits_until_it_rings(tolerance, tolerance, seed, 4000) for seed in range(30)]
    false_alarms = sum(audits < 4000 for audits in until)
    assert false_alarms <= 3 * sum(until) / RARE
