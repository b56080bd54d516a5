from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from serving.common.retrying import Backoff, Persistence


class Longest(random.Random):
    def uniform(self, a: float, b: float) -> float:
        return b


def test_doubles_up_to_the_bound() -> None:
    delays = [Backoff(first_s=1, max_s=10).delay_s(attempt, Longest()) for attempt in range(6)]
    assert delays == [1, 2, 4, 8, 10, 10]


def test_waits_longer_where_trying_soon_is_useless() -> None:
    assert Backoff().delay_s(0, Longest(), persistent=True) == 15.0


@given(attempt=st.integers(0, 10_000), seed=st.integers(), persistent=st.booleans())
def test_jitter_keeps_between_half_and_all(attempt: int, seed: int, persistent: bool) -> None:
    backoff = Backoff(first_s=0.5, max_s=30, persistent_first_s=5)
    longest_s = backoff.delay_s(attempt, Longest(), persistent=persistent)
    assert longest_s / 2 <= backoff.delay_s(attempt, random.Random(seed), persistent=persistent) <= longest_s <= 30


@given(failures=st.integers(1, 200), waited_s=st.floats(0, 100), seed=st.integers())
def test_nobody_waits_beyond_what_was_allowed(failures: int, waited_s: float, seed: int) -> None:
    persistence = Persistence(Backoff(first_s=0.5, max_s=30), attempts=100, within_s=60)
    delay_s = persistence.delay_s(failures, waited_s, random.Random(seed))
    assert (delay_s is None) == (failures >= 100 or waited_s >= 60)
    assert delay_s is None or 0 < delay_s <= 60 - waited_s


def test_without_bounds_it_goes_on_for_ever() -> None:
    assert Persistence(Backoff(first_s=1, max_s=10)).delay_s(10_000, 1e9, Longest()) == 10
