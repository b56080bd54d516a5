"""The window: bounded whatever comes, fair to cameras and classes, newest last, nothing on both sides."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cache_adapt.adaptation.window import (
    HALF_LIFE_S,
    OVERHEAD_BYTES,
    SPAN_S,
    Rows,
    Sample,
    SampleWindow,
    draw,
    fair_level,
)

DIMS = 4
BYTES = OVERHEAD_BYTES + 2 * DIMS


def sample(at_s: float, label: int = 0) -> Sample:
    """Its features tell when it was seen."""
    return Sample(at_s, label, np.full(DIMS, at_s, np.float16))


def split(window: SampleWindow) -> tuple[Rows, Rows]:
    return window.split(100.0, 1000, np.random.default_rng(0))


@given(
    seen=st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3), st.floats(-4000, 4000)), max_size=200),
    room=st.integers(1, 50),
)
def test_it_never_takes_more_than_its_bytes_and_tells_them_rightly(
    seen: list[tuple[str, int, float]], room: int
) -> None:
    window = SampleWindow(DIMS, room * BYTES)
    for stream, label, at_s in seen:
        window.add(stream, sample(at_s, label), now_s=0.0)
        assert window.size_bytes <= room * BYTES
    training, held = window.split(0.0, 1000, np.random.default_rng(0))
    assert len(training) + len(held) == len(window)
    assert window.size_bytes == len(window) * BYTES


@given(st.lists(st.integers(0, 60), max_size=30), st.integers(0, 200))
def test_the_level_is_the_greatest_that_fits(sizes: list[int], total: int) -> None:
    level = fair_level(sizes, total)
    assert sum(min(size, level) for size in sizes) <= total
    if level < max(sizes, default=0):
        assert sum(min(size, level + 1) for size in sizes) > total


def test_a_busy_camera_does_not_displace_a_quiet_one_nor_a_frequent_class_a_rare_one() -> None:
    window = SampleWindow(DIMS, 100 * BYTES)
    for second in range(1000):
        window.add("busy", sample(second, label=0), now_s=1000.0)
        if second % 50 == 0:
            window.add("quiet", sample(second, label=0), now_s=1000.0)
            window.add("busy", sample(second, label=1), now_s=1000.0)
    training, held = window.split(1000.0, 1000, np.random.default_rng(0))
    counts = Counter([*training.labels.tolist(), *held.labels.tolist()])
    assert counts[1] == 20
    assert max(training.features[:, 0].max(), held.features[:, 0].max()) == np.float16(999)


def test_what_is_too_old_is_not_taken_and_goes() -> None:
    window = SampleWindow(DIMS, 1 << 20)
    window.add("gate", sample(0.0), now_s=SPAN_S + 1)
    assert len(window) == 0
    window.add("gate", sample(0.0), now_s=SPAN_S)
    window.add("gate", sample(100.0), now_s=SPAN_S)
    window.expire(SPAN_S + 50)
    assert len(window) == 1


def test_a_sample_from_the_future_is_one_of_now_and_grows_old_like_others() -> None:
    window = SampleWindow(DIMS, 1 << 20)
    window.add("gate", sample(1.0)._replace(at_s=1e12), now_s=0.0)
    window.expire(SPAN_S + 1)
    assert len(window) == 0


def test_the_newest_of_every_group_are_held_back() -> None:
    window = SampleWindow(DIMS, 1 << 20)
    for second in range(100):
        window.add("gate", sample(second, label=int(second >= 50)), now_s=100.0)
    training, held = window.split(100.0, 1000, np.random.default_rng(0))
    assert held.features[:, 0].tolist() == [*range(40, 50), *range(90, 100)]
    assert training.features[:, 0].tolist() == [*range(40), *range(50, 90)]
    assert Counter(held.labels.tolist()) == {0: 10, 1: 10}


def test_a_window_that_shrinks_keeps_the_newest_of_all_groups() -> None:
    window = SampleWindow(DIMS, 1 << 20)
    for second in range(100):
        window.add("gate", sample(second, label=int(second % 10 == 0)), now_s=100.0)
    window.shrink(50 * BYTES)
    assert window.size_bytes <= 50 * BYTES
    assert Counter(np.concatenate([part.labels for part in split(window)]).tolist()) == {0: 40, 1: 10}
    window.shrink(60 * BYTES)
    assert len(window) == 50


def test_a_copy_stays_as_it_is() -> None:
    window = SampleWindow(DIMS, 1 << 20)
    window.add("gate", sample(0.0), now_s=1.0)
    copied = window.copy()
    window.add("gate", sample(1.0), now_s=1.0)
    window.expire(SPAN_S + 0.5)
    assert (len(copied), sum(map(len, split(copied)))) == (1, 1)


def test_an_empty_window_gives_rows_of_the_right_shape() -> None:
    training, held = SampleWindow(DIMS, 1 << 20).split(0.0, 10, np.random.default_rng(0))
    assert training.features.shape == held.features.shape == (0, DIMS)


def test_samples_are_drawn_as_often_as_their_age_says() -> None:
    ages = [0.0] * 500 + [HALF_LIFE_S] * 500
    drawn = [each for seed in range(40) for each in draw(ages, 20, np.random.default_rng(seed))]
    young = sum(each < 500 for each in drawn) / len(drawn)
    assert young == pytest.approx(2 / 3, abs=0.06)


@given(st.lists(st.floats(0, SPAN_S), max_size=100), st.integers(0, 120))
def test_what_is_drawn_is_drawn_once(ages: list[float], most: int) -> None:
    drawn = draw(ages, most, np.random.default_rng(1))
    assert len(set(drawn)) == len(drawn) == min(most, len(ages))
    assert set(drawn) <= set(range(len(ages)))
