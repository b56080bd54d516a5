"""Looks that ran on are joined, and the newest answers of exits are kept."""

from __future__ import annotations

import numpy as np
import pytest

from cache_adapt.learned.pooled import ShownLooks
from operators.recognise.exits import tapped
from operators.recognise.exits.tapped import AnswersHeard, TappedLooks, joined
from tests.cache_adapt.learned.taught import exits, listened, samples


def looks(count: int, seed: int = 1, at_s: float = 0.0) -> TappedLooks:
    shown = ShownLooks.of([f"{seed}/{each}" for each in range(count)])
    return TappedLooks("cam", at_s, samples(count, seed), np.arange(count) % 2 == 0, shown)


def test_looks_of_several_frames_are_joined_in_their_order() -> None:
    one, other = looks(3, 1, 0.5), looks(2, 2, 0.7)
    assert joined([one]) is one
    both = joined([one, other])
    assert (both.stream, both.media_time_s) == ("cam", 0.7)
    assert both.rows.words.tolist() == [*one.rows.words, *other.rows.words]
    assert [len(tap) for tap in both.rows.taps] == [5, 5]
    assert both.drawn.tolist() == [True, False, True, True, False]
    assert both.shown.objects == ["1/0", "1/1", "1/2", "2/0", "2/1"]
    assert len(both.shown.weights) == len(both.shown.whole) == 5


def test_they_come_oldest_first_and_only_the_newest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tapped, "KEPT", 5)
    heard, rows, artefact = AnswersHeard(), samples(8, 1), exits()
    for first in range(0, 8, 2):
        heard.add(listened(artefact, rows.of(slice(first, first + 2)), [str(first), str(first + 1)]))
    assert heard.now.shown.objects == ["3", "4", "5", "6", "7"]
    assert heard.now.words.tolist() == rows.words[3:].tolist()
    assert heard.now.errors.shape == (2, 5)
    assert heard.taken == 8


def test_what_is_at_present_does_not_change_with_what_comes() -> None:
    heard, artefact = AnswersHeard(), exits()
    heard.add(listened(artefact, samples(1, 1)))
    now = heard.now
    heard.add(listened(artefact, samples(1, 2)))
    assert (len(now.words), len(heard.now.words)) == (1, 2)
