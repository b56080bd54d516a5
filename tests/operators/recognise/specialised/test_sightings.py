"""Which looks at a track count as observations of its stream."""

from __future__ import annotations

import pytest

from operators.recognise.specialised import sightings
from operators.recognise.specialised.sightings import EVERY_S, Sightings


def test_a_track_is_an_observation_now_and_then() -> None:
    made = Sightings()
    counted = [step / 8 for step in range(16) if made.is_news(7, step / 8)]
    assert counted == [0, 0.375, 0.75, 1.125, 1.5, 1.875]
    assert counted[1] >= EVERY_S


def test_every_track_is_an_observation_of_its_own() -> None:
    made = Sightings()
    assert [made.is_news(track, 0.0) for track in range(3)] == [True] * 3


def test_an_object_without_a_track_always_counts() -> None:
    made = Sightings()
    assert [made.is_news(None, 0.0) for _ in range(3)] == [True] * 3


def test_a_clock_that_went_back_counts_anew() -> None:
    made = Sightings()
    assert [made.is_news(7, at_s) for at_s in (5.0, 4.9, 5.1)] == [True, True, False]


def test_the_tracks_looked_at_last_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sightings, "REMEMBERED", 2)
    made = Sightings()
    assert [made.is_news(track, 0.0) for track in (1, 2, 1, 3, 1, 3, 2)] == [
        True,
        True,
        False,
        True,
        False,
        False,
        True,
    ]
