"""Looks that thresholds are tuned on are kept by stream, within a number of looks and of bytes."""

from __future__ import annotations

import numpy as np
import pytest

from cache_adapt.adaptation.targets import Subject
from cache_adapt.learned.pooled import ShownLooks
from operators.recognise.exits import held_looks
from operators.recognise.exits.held_looks import HeldLooks, HeldWindows
from operators.recognise.exits.tapped import TappedLooks
from tests.cache_adapt.learned.taught import SHA, in_folds, samples

ONE, OTHER = (Subject("type", "vehicle", SHA, "words", stream) for stream in ("one", "other"))


def looks(count: int, seed: int = 1) -> TappedLooks:
    shown, every = ShownLooks.of([f"{seed}/{each}" for each in range(count)]), np.ones(count, np.bool_)
    return TappedLooks("cam", 0.0, in_folds(samples(count, seed)), every, shown)


def test_they_come_oldest_first_and_only_the_newest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_looks, "KEPT", 5)
    held = HeldWindows()
    for seed in range(4):
        held.add(ONE, looks(2, seed))
    found = held.of(ONE)
    assert found is not None
    assert found.shown.objects == ["1/1", "2/0", "2/1", "3/0", "3/1"]
    assert found.words.tolist() == [looks(2, 1).rows.words[1], *looks(2, 2).rows.words, *looks(2, 3).rows.words]
    assert found.folds.tolist() == [1, 0, 1, 0, 1]
    assert held.size_bytes == 3 * HeldLooks.of(looks(2)).size_bytes


def test_exits_read_them_as_they_were_but_for_what_two_bytes_hold() -> None:
    held, shown = HeldWindows(), looks(6)
    held.add(ONE, shown)
    found = held.of(ONE)
    assert found is not None
    rows = found.rows([1])
    assert [tap.dtype for tap in rows.taps] == [np.float32]
    assert np.allclose(rows.taps[0], shown.rows.taps[1], rtol=1e-3, atol=1e-3)
    assert rows.shares.tolist() == shown.rows.shares.tolist()
    assert rows.weights.tolist() == [1.0] * 6
    assert rows.folds is not None
    assert rows.folds.tolist() == [0, 1, 2, 0, 1, 2]


def test_what_is_there_does_not_change_with_what_comes() -> None:
    held = HeldWindows()
    held.add(ONE, looks(1))
    now = held.of(ONE)
    held.add(ONE, looks(1, 2))
    later = held.of(ONE)
    assert now is not None
    assert later is not None
    assert (len(now.words), len(later.words)) == (1, 2)


def test_streams_are_apart_and_can_be_forgotten() -> None:
    held = HeldWindows()
    held.add(ONE, looks(2))
    assert held.of(OTHER) is None
    held.forget(OTHER)
    held.forget(ONE)
    assert held.of(ONE) is None
    assert held.size_bytes == 0


def test_where_there_is_no_room_those_with_most_give_way_first() -> None:
    one_bytes = HeldLooks.of(looks(1)).size_bytes
    held = HeldWindows(16 * one_bytes)
    held.add(OTHER, looks(1, 99))
    for seed in range(40):
        held.add(ONE, looks(1, seed))
    few, many = held.of(OTHER), held.of(ONE)
    assert few is not None
    assert many is not None
    assert few.shown.objects == ["99/0"]
    assert 10 <= len(many.words) <= 15
    assert many.shown.objects[-1] == "39/0"
    assert held.size_bytes == (1 + len(many.words)) * one_bytes <= 16 * one_bytes
