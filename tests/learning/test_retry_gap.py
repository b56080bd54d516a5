"""Gaps between attempts that bring nothing."""

from __future__ import annotations

import msgspec

from learning.retry_gap import MOST_DOUBLINGS, RetryGap


def test_the_first_attempt_need_not_wait() -> None:
    assert RetryGap(first=60).is_over(at=0)


def test_every_failure_doubles_the_gap_up_to_a_bound() -> None:
    gap, at, lengths = RetryGap(first=60), 0, list[int]()
    for _ in range(MOST_DOUBLINGS + 3):
        gap.failed(at)
        lengths.append(gap.until - at)
        at = gap.until
    assert lengths[:3] == [60, 120, 240]
    assert lengths[-3:] == [60 << MOST_DOUBLINGS] * 3


def test_a_success_starts_anew() -> None:
    gap = RetryGap(first=60)
    gap.failed(0)
    gap.failed(60)
    gap.succeeded()
    gap.failed(1000)
    assert not gap.is_over(1059)
    assert gap.is_over(1060)


def test_a_gap_survives_a_restart() -> None:
    gap = RetryGap(first=60, failures=2, until=300)
    assert msgspec.json.decode(msgspec.json.encode(gap), type=RetryGap) == gap
