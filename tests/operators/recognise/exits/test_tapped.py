"""Looks that ran on are joined, and parted."""

from __future__ import annotations

import numpy as np

from cache_adapt.learned.pooled import ShownLooks
from operators.recognise.exits.tapped import TappedLooks, joined
from tests.cache_adapt.learned.taught import in_folds, samples


def looks(count: int, seed: int = 1, at_s: float = 0.0) -> TappedLooks:
    shown, even = ShownLooks.of([f"{seed}/{each}" for each in range(count)]), np.arange(count) % 2 == 0
    return TappedLooks("cam", at_s, in_folds(samples(count, seed)), even, shown)


def test_looks_of_several_frames_are_joined_in_their_order() -> None:
    one, other = looks(3, 1, 0.5), looks(2, 2, 0.7)
    assert joined([one]) is one
    both = joined([one, other])
    assert (both.stream, both.media_time_s, len(both)) == ("cam", 0.7, 5)
    assert both.rows.words.tolist() == [*one.rows.words, *other.rows.words]
    assert [len(tap) for tap in both.rows.taps] == [5, 5]
    assert both.whole.tolist() == [True, False, True, True, False]
    assert both.rows.folds is not None
    assert both.rows.folds.tolist() == [0, 1, 2, 0, 1]
    assert both.shown.objects == ["1/0", "1/1", "1/2", "2/0", "2/1"]
    assert len(both.shown.weights) == len(both.shown.whole) == 5


def test_some_of_them_are_all_that_belongs_to_them() -> None:
    every = looks(5)
    some = every.of(every.whole)
    assert (some.stream, some.media_time_s, len(some)) == ("cam", 0.0, 3)
    assert some.rows.words.tolist() == every.rows.words[::2].tolist()
    assert some.shown.objects == ["1/0", "1/2", "1/4"]
    assert some.whole.tolist() == [True, True, True]
