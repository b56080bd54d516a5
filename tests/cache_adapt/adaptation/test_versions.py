"""Versions ascend over any restart, and what is not as it was announced is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cache_adapt.adaptation.versions import (
    AHEAD_S,
    LARGEST_BYTES,
    LEAST_HELD,
    digest,
    next_version,
    why_not_published,
    why_refused,
)


@given(st.lists(st.tuples(st.floats(0, 1e6), st.booleans()), max_size=30))
def test_versions_ascend_also_where_a_restart_forgot_them(steps: list[tuple[float, bool]]) -> None:
    now_s, last, known = 1_700_000_000.0, 0, 0
    for passed_s, restarts in steps:
        now_s += 1 + passed_s
        fresh = next_version(0 if restarts else known, now_s)
        assert why_refused(b"a", digest(b"a"), fresh, last, now_s) is None
        last = known = fresh


@given(st.integers(0, 2**53), st.floats(0, 4e9))
def test_the_next_is_always_greater(last: int, now_s: float) -> None:
    assert next_version(last, now_s) > last


@pytest.mark.parametrize(
    ("data", "sha256", "version", "reason"),
    [
        (b"a", digest(b"a"), 101, None),
        (b"a", digest(b"a"), 100, "stale"),
        (b"a", digest(b"a"), 1000 + AHEAD_S + 1, "from the future"),
        (b"a", digest(b"b"), 101, "damaged"),
        (b"", "", 101, "damaged"),
        (bytes(LARGEST_BYTES + 1), digest(bytes(LARGEST_BYTES + 1)), 101, "too large"),
    ],
)
def test_what_is_refused(data: bytes, sha256: str, version: int, reason: str | None) -> None:
    assert why_refused(data, sha256, version, known=100, now_s=1000.0) == reason


@pytest.mark.parametrize(
    ("new", "current", "held", "published"),
    [
        (0.1, None, 0, True),
        (0.8, 0.7, 100, True),
        (0.7, 0.7, 100, False),
        (0.9, 0.1, LEAST_HELD - 1, False),
    ],
)
def test_something_new_is_published_only_where_it_is_better(
    new: float, current: float | None, held: int, published: bool
) -> None:
    assert (why_not_published(b"new", new, current, held) is None) == published


def test_what_no_worker_would_take_is_not_published() -> None:
    assert "bytes" in str(why_not_published(bytes(LARGEST_BYTES + 1), 1.0, None, 100))
