from __future__ import annotations

import numpy as np
import pytest

from datasets.request_times import poisson, uniform


def test_uniform_requests_come_at_equal_distance() -> None:
    assert list(uniform(4.0, 1.0)) == [0.0, 0.25, 0.5, 0.75]


def test_poisson_requests_have_the_rate_and_the_spread() -> None:
    times = np.array(list(poisson(50.0, 200.0, np.random.default_rng(0))))
    gaps = np.diff(times)
    assert times[0] > 0
    assert times[-1] < 200.0
    assert (gaps > 0).all()
    assert gaps.mean() == pytest.approx(1 / 50, rel=0.03)
    assert gaps.std() == pytest.approx(1 / 50, rel=0.05)


def test_the_same_seed_gives_the_same_times() -> None:
    first, second = (list(poisson(10.0, 5.0, np.random.default_rng(seed))) for seed in (1, 1))
    assert first == second
    assert first != list(poisson(10.0, 5.0, np.random.default_rng(2)))
