"""When a track's answer is given again."""

from __future__ import annotations

import pytest

from operators.recognise.shortcuts import track_answers
from operators.recognise.shortcuts.track_answers import TrackAnswers
from operators.wire.schema import Attribute, Model

SURE = 0.8


def said(label: str, confidence: float = 0.9) -> Attribute:
    model = Model(name="big", version="1", tier="reference")
    return Attribute(name="type", label=label, confidence=confidence, provenance="oracle", model=model)


def memory(*labels: str, reuse_s: float = 2.0) -> TrackAnswers:
    """Looks at track 7, one every tenth of a second from 0 on, in epoch 1, of an object of a tenth of the frame."""
    made = TrackAnswers(reuse_s, SURE)
    for number, label in enumerate(labels):
        made.looked(7, number / 10, 0.1, 1, said(label))
    return made


def test_an_answer_given_twice_running_is_given_again() -> None:
    assert memory("car", "car").recall(7, 0.2, 0.1, 1) == said("car")


@pytest.mark.parametrize("labels", [(), ("car",), ("car", "bike"), ("car", "car", "bike")])
def test_an_answer_that_was_not_confirmed_is_not(labels: tuple[str, ...]) -> None:
    assert memory(*labels).recall(7, 0.3, 0.1, 1) is None


@pytest.mark.parametrize(("first", "second"), [(0.79, 0.9), (0.9, 0.79)])
def test_an_answer_that_was_not_sure_is_not(first: float, second: float) -> None:
    made = TrackAnswers(2.0, SURE)
    made.looked(7, 0.0, 0.1, 1, said("car", first))
    made.looked(7, 0.1, 0.1, 1, said("car", second))
    assert made.recall(7, 0.2, 0.1, 1) is None


def test_another_track_is_looked_at() -> None:
    assert memory("car", "car").recall(8, 0.2, 0.1, 1) is None


def test_answers_grow_old() -> None:
    made = memory("car", "car")
    assert made.recall(7, 2.0999, 0.1, 1)
    assert made.recall(7, 2.1001, 0.1, 1) is None


def test_reuse_does_not_prolong_itself() -> None:
    made = memory("car", "car")
    for step in range(20):
        made.recall(7, 0.1 + step / 10, 0.1, 1)
    assert made.recall(7, 2.2, 0.1, 1) is None


def test_an_object_that_has_come_nearer_is_looked_at() -> None:
    made = memory("car", "car")
    assert made.recall(7, 0.2, 0.14, 1)
    assert made.recall(7, 0.2, 0.16, 1) is None


def test_answers_of_another_epoch_are_not_given_again() -> None:
    assert memory("car", "car").recall(7, 0.2, 0.1, 2) is None


def test_a_clock_that_went_back_reuses_nothing() -> None:
    assert memory("car", "car", "car").recall(7, 0.0, 0.1, 1) is None


def test_without_reuse_everything_is_looked_at() -> None:
    assert memory("car", "car", reuse_s=0.0).recall(7, 0.1, 0.1, 1) is None


def test_the_tracks_seen_last_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(track_answers, "REMEMBERED", 2)
    made = TrackAnswers(2.0, SURE)
    for track in (1, 2, 1, 3, 1, 3):
        made.looked(track, 0.0, 0.1, 1, said("car"))
    assert [made.recall(track, 0.1, 0.1, 1) is not None for track in (1, 2, 3)] == [True, False, True]
