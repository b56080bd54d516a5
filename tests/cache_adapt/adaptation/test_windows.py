"""All windows together: bounded in bytes and number whatever comes, and the small ones are not displaced."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cache_adapt.adaptation.window import HALF_LIFE_S, OVERHEAD_BYTES, SPAN_S, Sample
from cache_adapt.adaptation.windows import MOST_WINDOWS, WINDOWS_BYTES, SampleWindows
from tests.cache_adapt.adaptation.majority import SUBJECT


def samples(count: int, dims: int = 4, at_s: float = 0.0) -> list[Sample]:
    return [Sample(at_s, number % 3, np.zeros(dims, np.float16)) for number in range(count)]


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(1, 8), st.integers(1, 40)), max_size=60))
def test_all_together_take_no_more_than_their_bytes_and_that_is_told_rightly(
    batches: list[tuple[str, int, int]],
) -> None:
    budget_bytes = 100 * (OVERHEAD_BYTES + 8)
    windows = SampleWindows(budget_bytes)
    for stream, dims, count in batches:
        windows.add(replace(SUBJECT, stream=stream), stream, samples(count, dims), now_s=0.0)
        found = list(windows._windows.values())
        assert windows.size_bytes == sum(window.size_bytes for window in found) <= budget_bytes
        assert len(windows) == sum(map(len, found))


def test_a_busy_stream_does_not_displace_the_samples_of_a_quiet_one() -> None:
    windows = SampleWindows(100 * (OVERHEAD_BYTES + 8))
    quiet, busy = (replace(SUBJECT, stream=name) for name in ("quiet", "busy"))
    windows.add(quiet, "quiet", samples(20), now_s=0.0)
    for _ in range(50):
        windows.add(busy, "busy", samples(10), now_s=0.0)
    assert len(windows.of(quiet, 4)) == 20
    assert len(windows.of(busy, 4)) >= 70


def test_where_there_are_as_many_windows_as_may_be_those_of_streams_that_go_on_stay(
    caplog: pytest.LogCaptureFixture,
) -> None:
    windows = SampleWindows()
    subjects = [replace(SUBJECT, stream=str(number)) for number in range(MOST_WINDOWS + 20)]
    for second in range(5):
        for subject in subjects:
            windows.add(subject, subject.stream, samples(1, at_s=float(second)), now_s=float(second))
    assert [len(windows.of(each, 4)) for each in subjects] == [5] * MOST_WINDOWS + [0] * 20
    (said,) = caplog.messages
    assert f"{MOST_WINDOWS} windows of samples are in use: nothing is learnt of stream {MOST_WINDOWS}," in said
    assert windows.size_bytes == len(windows) * (OVERHEAD_BYTES + 8)


def test_one_that_has_long_had_no_sample_gives_way_to_another() -> None:
    windows = SampleWindows()
    for number in range(MOST_WINDOWS):
        subject = replace(SUBJECT, stream=str(number))
        windows.add(subject, subject.stream, samples(20 if number else 30, at_s=float(number > 0)), now_s=1.0)
    for count in (1, 2):
        windows.add(SUBJECT, "gate", samples(1, at_s=HALF_LIFE_S), now_s=HALF_LIFE_S)
        assert len(windows.of(SUBJECT, 4)) == count
    windows.add(replace(SUBJECT, stream="late"), "late", samples(1, at_s=HALF_LIFE_S), now_s=HALF_LIFE_S)
    assert [len(windows.of(replace(SUBJECT, stream=each), 4)) for each in ("0", "1", "late")] == [0, 20, 0]
    assert windows.size_bytes == len(windows) * (OVERHEAD_BYTES + 8)


def test_samples_with_other_numbers_of_values_do_not_come_between() -> None:
    windows = SampleWindows()
    windows.add(SUBJECT, "gate", samples(3), now_s=0.0)
    windows.add(SUBJECT, "gate", samples(50, dims=5), now_s=0.0)
    assert [(len(windows.of(SUBJECT, dims)), windows.of(SUBJECT, dims).dims) for dims in (4, 5, 6)] == [
        (3, 4),
        (50, 5),
        (0, 6),
    ]


def test_what_has_grown_old_leaves_no_window() -> None:
    windows = SampleWindows()
    windows.add(SUBJECT, "gate", samples(5), now_s=0.0)
    windows.expire(SPAN_S + 1)
    assert (len(windows), windows.size_bytes, windows._windows) == (0, 0, {})


def test_by_default_they_take_128_mebibytes() -> None:
    assert WINDOWS_BYTES == 128 << 20
    assert SampleWindows()._budget_bytes == WINDOWS_BYTES
