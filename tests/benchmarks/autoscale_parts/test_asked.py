"""The load that random requests show: steady where it is steady, and soon another one where it has changed."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import stdev

import numpy as np

from benchmarks.autoscale_parts.asked import WINDOWS_S, asked_per_s


def requests(rates: Sequence[float], seed: int = 0) -> list[float]:
    """Poisson's, by second."""
    rng = np.random.default_rng(seed)
    return [second + float(at) for second, rate in enumerate(rates) for at in sorted(rng.random(rng.poisson(rate)))]


def rates_at(times_s: Sequence[float], seconds: Sequence[int]) -> list[float]:
    return [asked_per_s([each for each in times_s if each < now_s], now_s) for now_s in seconds]


def test_a_low_load_does_not_rise_and_fall_by_chance() -> None:
    times_s, seconds = requests([4.0] * 400), range(40, 400)
    shortest = [sum(now_s - WINDOWS_S[0] <= each < now_s for each in times_s) / WINDOWS_S[0] for now_s in seconds]
    assert stdev(rates_at(times_s, seconds)) < stdev(shortest) / 2


def test_a_spike_is_seen_while_long_windows_still_hold_the_time_before_it_and_so_is_its_end() -> None:
    times_s = requests([4.0] * 60 + [80.0] * 60 + [4.0] * 60)
    before, risen, fallen = rates_at(times_s, [60, 63, 128])
    assert before < 8
    assert risen > 40
    assert fallen < 8


def test_of_the_first_seconds_only_what_is_sure_counts() -> None:
    """A few requests in the first second are no reason for more instances."""
    assert 0 < asked_per_s([0.1 * each for each in range(7)], 1.0) < 4
    assert asked_per_s(requests([650.0]), 1.0) > 500


def test_where_nothing_is_asked_nothing_is() -> None:
    assert asked_per_s([], 100.0) == 0
