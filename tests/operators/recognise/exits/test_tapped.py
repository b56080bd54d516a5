"""What exits would have said of looks that ran on, beside what the end said: the newest are kept."""

from __future__ import annotations

import numpy as np
import pytest

from operators.recognise.exits import tapped
from operators.recognise.exits.tapped import AnswersHeard, TappedLooks

EXITS, NAMES = 2, 3


def looks(*words: int, weight: float = 1.0) -> TappedLooks:
    """Looks of one frame to which the end gave these words, each at an object of its own."""
    count = len(words)
    taps = [np.zeros((count, 4), np.float32)] * EXITS
    shares, weights = np.zeros((count, NAMES), np.float32), np.full(count, weight, np.float32)
    return TappedLooks("cam", taps, np.array(words, np.intp), shares, weights, [f"run-1/{each}" for each in words])


def hear(heard: AnswersHeard, frame: TappedLooks) -> None:
    """Both exits say another word than the end, and the second is surer."""
    count = len(frame.words)
    errors = np.tile(np.array([[0.4], [0.1]], np.float32), (1, count))
    heard.add(errors, np.stack([frame.words + 1, frame.words + 2]), frame)


def test_each_look_is_kept_with_what_all_exits_and_the_end_said_of_it() -> None:
    heard = AnswersHeard()
    hear(heard, looks(0, 3, weight=20.0))
    first, second = heard.now
    assert (first.word, second.word, first.whom, second.whom) == (0, 3, "run-1/0", "run-1/3")
    assert (first.said.tolist(), second.said.tolist()) == ([1, 2], [4, 5])
    assert first.errors.tolist() == pytest.approx([0.4, 0.1])
    assert (first.weight, second.weight) == (20.0, 20.0)


def test_they_come_oldest_first_and_only_the_newest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tapped, "KEPT", 5)
    heard = AnswersHeard()
    for word in range(4):
        hear(heard, looks(word, word))
    assert [look.word for look in heard.now] == [1, 2, 2, 3, 3]
    assert heard.taken == 8


def test_what_is_at_present_does_not_change_with_what_comes() -> None:
    heard = AnswersHeard()
    hear(heard, looks(0))
    now = heard.now
    hear(heard, looks(1))
    assert (len(now), len(heard.now)) == (1, 2)
