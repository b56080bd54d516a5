from __future__ import annotations

import numpy as np
from scipy.stats import kstest

from cache_adapt.audit.coin import coin


def test_the_same_answer_has_the_same_coin() -> None:
    assert coin("type", "cam", "r1", 7, 0) == coin("type", "cam", "r1", 7, 0)


def test_identities_do_not_run_together() -> None:
    assert len({coin("a", 11), coin("a1", 1), coin("a", "1", 1), coin("a11")}) == 4


def test_coins_are_uniform_and_know_no_order() -> None:
    coins = np.array([coin("type", "cam", "0123456789ab", seq, region) for seq in range(2000) for region in range(3)])
    assert kstest(coins, "uniform").pvalue > 0.01
    for lag in (1, 2, 3, 6, 30):
        assert abs(np.corrcoef(coins[:-lag], coins[lag:])[0, 1]) < 0.05
    assert abs((coins[::3] < 0.1).mean() - 0.1) < 0.02
