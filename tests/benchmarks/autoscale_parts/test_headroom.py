"""How much of its peak an instance may be asked for, against servers in virtual time."""

from __future__ import annotations

import random
from heapq import heapreplace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.autoscale_parts.headroom import usable_rate, usable_share


@given(st.floats(0, 20), st.floats(0.01, 0.5))
def test_more_room_to_wait_and_more_that_may_be_late_raise_what_is_usable(waiting: float, late: float) -> None:
    share = usable_share(waiting, late)
    assert 0 <= share <= 1
    assert usable_share(waiting + 0.5, late) >= share - 0.02
    assert usable_share(waiting, min(late + 0.1, 0.9)) >= share - 1e-9


@pytest.mark.parametrize("instances", [1, 4])
@pytest.mark.parametrize("slo_s", [0.2, 0.3, 0.5, 1.0])
def test_few_are_late_at_the_usable_rate(slo_s: float, instances: int) -> None:
    """Servers in virtual time: 200 ms a request, Poisson arrivals, each to the server that is free first."""
    peak = 5.0 * instances
    rate, rng = peak * usable_share(peak * (slo_s - 0.2), 0.05), random.Random(0)
    now_s, free_s, late = 0.0, [0.0] * instances, 0
    for _ in range(20_000):
        now_s += rng.expovariate(rate)
        done_s = max(now_s, free_s[0]) + 0.2
        heapreplace(free_s, done_s)
        late += done_s > now_s + slo_s + 1e-9
    assert late / 20_000 < 0.06


def test_as_many_instances_as_a_load_takes_share_their_queue() -> None:
    one, many = usable_rate(5.0, 0.3, 1.0, 0.05), usable_rate(5.0, 0.3, 60.0, 0.05)
    assert one == pytest.approx(5 * usable_share(1.5, 0.05))
    assert one < many < 5
    assert usable_rate(5.0, 0.3, 1e9, 0.05) < 5
