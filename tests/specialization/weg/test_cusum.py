from __future__ import annotations

from math import log

import numpy as np
import pytest

from specialization.weg.change import accumulate, threshold


def test_one_observation() -> None:
    assert accumulate(1.0, True, 0.2, 0.4) == pytest.approx(1 + log(2))
    assert accumulate(1.0, False, 0.2, 0.4) == pytest.approx(1 + log(0.75))
    assert accumulate(0.1, False, 0.2, 0.4) == 0.0


def test_false_alarms_are_as_rare_as_asked_for() -> None:
    rng, total, alarms = np.random.default_rng(0), 0.0, 0
    for happened in (rng.random(100_000) < 0.2).tolist():
        total = accumulate(total, happened, 0.2, 0.5)
        if total > threshold(0.01):
            alarms, total = alarms + 1, 0.0
    assert 0 < alarms <= 1000


@pytest.mark.parametrize(("after", "at_most"), [(0.5, 120), (0.9, 40)])
def test_a_change_is_found_soon(after: float, at_most: int) -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        total, needed = 0.0, 0
        while total <= threshold(1e-5):
            total = accumulate(total, bool(rng.random() < after), 0.2, 0.5)
            needed += 1
        assert needed <= at_most
