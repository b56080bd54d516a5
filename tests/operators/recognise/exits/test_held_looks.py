"""Looks that thresholds are tuned on are kept by stream, within a number of looks and of bytes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cache_adapt.adaptation.targets import Subject
from cache_adapt.learned.pooled import ShownLooks
from cache_adapt.learned.rows import ExitRows
from operators.recognise.exits import held_looks
from operators.recognise.exits.held_looks import HeldWindows, size_bytes
from tests.cache_adapt.learned.taught import SHA, in_folds, samples

ONE, OTHER = (Subject("type", "vehicle", SHA, "words", stream) for stream in ("one", "other"))


def looks(count: int, seed: int = 1) -> ExitRows:
    shown = ShownLooks.of([f"{seed}/{each}" for each in range(count)])
    return replace(in_folds(samples(count, seed)), shown=shown)


def objects(found: ExitRows | None) -> list[str]:
    assert found is not None
    assert found.shown is not None
    return list(found.shown.objects)


def test_they_come_oldest_first_and_only_the_newest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_looks, "KEPT", 5)
    held = HeldWindows()
    for seed in range(4):
        held.add(ONE, looks(2, seed))
    found = held.of(ONE)
    assert found is not None
    assert objects(found) == ["1/1", "2/0", "2/1", "3/0", "3/1"]
    assert found.words.tolist() == [looks(2, 1).words[1], *looks(2, 2).words, *looks(2, 3).words]
    assert found.folds is not None
    assert found.folds.tolist() == [1, 0, 1, 0, 1]
    assert held.size_bytes == 3 * size_bytes(looks(2).kept())


def test_exits_read_them_as_they_were_but_for_what_two_bytes_hold() -> None:
    held, shown = HeldWindows(), looks(6)
    held.add(ONE, shown)
    found = held.of(ONE)
    assert found is not None
    rows = found.at([1])
    assert [tap.dtype for tap in rows.taps] == [np.float32]
    assert np.allclose(rows.taps[0], shown.taps[1], rtol=1e-3, atol=1e-3)
    assert rows.shares.tolist() == shown.shares.tolist()
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
    assert (len(now), len(later)) == (1, 2)


def test_streams_are_apart_and_can_be_forgotten() -> None:
    held = HeldWindows()
    held.add(ONE, looks(2))
    assert held.of(OTHER) is None
    held.forget(OTHER)
    held.forget(ONE)
    assert held.of(ONE) is None
    assert held.size_bytes == 0


def test_where_there_is_no_room_those_with_most_give_way_first() -> None:
    one_bytes = size_bytes(looks(1).kept())
    held = HeldWindows(16 * one_bytes)
    held.add(OTHER, looks(1, 99))
    for seed in range(40):
        held.add(ONE, looks(1, seed))
    few, many = held.of(OTHER), held.of(ONE)
    assert few is not None
    assert many is not None
    assert objects(few) == ["99/0"]
    assert 10 <= len(many) <= 15
    assert objects(many)[-1] == "39/0"
    assert held.size_bytes == (1 + len(many)) * one_bytes <= 16 * one_bytes


def test_where_there_is_no_room_a_look_costs_the_same_however_many_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = list[int]()
    monkeypatch.setattr(held_looks, "size_bytes", lambda some: measured.append(len(some)) or size_bytes(some))
    held = HeldWindows(100 * size_bytes(looks(1).kept()))
    for seed in range(110):
        held.add((ONE, OTHER)[seed % 2], looks(1, seed))
    measured.clear()
    held.add(ONE, looks(1))
    assert measured == [1, 1], "the one that comes, and the one that goes"
