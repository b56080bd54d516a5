"""Looks that are taken: bounded, and spread over the recording."""

from __future__ import annotations

import numpy as np
import pytest

from cache_adapt.learned.pooled import ShownLooks
from cache_adapt.learned.vocabulary import Vocabulary
from pipelines.run.learn import taken
from pipelines.run.learn.taken import TakenLooks, Thinned
from serving.engines.exits import ExitResult

WORDS = Vocabulary(labels=2, least_confidence=0.6)


def looks(count: int, into: TakenLooks, began: int = 0) -> None:
    """Looks of which each is at an object of its own, whose tap is its number."""
    numbers = np.arange(began, began + count, dtype=np.float32)[:, None]
    shares = np.tile(np.array([[0.8, 0.2]], np.float32), (count, 1))
    found = ExitResult(shares, np.full(count, 1, np.int32), np.zeros(count, bool), np.zeros((count, 0)), [numbers])
    into.add(
        np.tile(numbers, (1, 3)),
        found,
        shares,
        ShownLooks.of([f"object {number}" for number in numbers[:, 0].astype(int)]),
    )


def test_looks_have_taps_words_and_objects() -> None:
    found = TakenLooks(WORDS)
    looks(3, found)
    rows = found.rows
    assert [tap.tolist() for tap in rows.taps] == [[[0.0], [1.0], [2.0]]]
    assert rows.words.tolist() == [0, 0, 0]
    assert rows.shown is not None
    assert rows.shown.objects == ["object 0", "object 1", "object 2"]
    assert found.item is not None
    assert found.item.tolist() == [[0, 0, 0]]
    assert rows.at([0]).weights.tolist() == [1, 1, 1]


def test_of_a_long_recording_an_even_share_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taken, "MOST_LOOKS", 8)
    found = TakenLooks(WORDS)
    for began in range(0, 100, 5):
        looks(5, found, began)
    assert found.seen == 100
    assert found.rows.taps[0][:, 0].tolist() == [0, 16, 32, 48, 64, 80, 96]


@pytest.mark.parametrize("count", [1, 4, 5, 8, 9, 100])
def test_what_is_kept_lies_evenly(count: int) -> None:
    kept = Thinned[int](4)
    for number in range(count):
        kept.add(number)
    assert len(kept.things) <= 4
    assert len(set(np.diff(kept.things))) <= 1
    assert kept.seen == count
