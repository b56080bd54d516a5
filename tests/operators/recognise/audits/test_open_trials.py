from __future__ import annotations

import pytest

from operators.recognise.audits import open_trials
from operators.recognise.audits.open_trials import OpenTrials
from operators.recognise.audits.trial import LONGEST_S
from tests.operators.recognise.audits.test_trial import trial


def test_an_object_is_new_once_and_counted_once_for_each_kind() -> None:
    trials = OpenTrials()
    assert [trials.is_new(7), trials.is_new(7), trials.is_new(8)] == [True, False, True]
    assert [trials.counts(7, "variant"), trials.counts(7, "variant"), trials.counts(7, "cached")] == [True, False, True]
    assert (trials.has_counted(7, "variant"), trials.has_counted(8, "variant")) == (True, False)
    assert not trials.has_counted(9, "variant")


def test_only_the_objects_that_were_looked_at_last_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_trials, "REMEMBERED", 2)
    trials = OpenTrials()
    for track in (1, 2, 1, 3):
        trials.is_new(track)
    assert [trials.is_new(track) for track in (1, 3, 2)] == [False, False, True]


def test_trials_are_bounded_and_leave_when_they_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_trials, "MOST_TRIALS", 2)
    trials, mine = OpenTrials(), [trial(), trial()]
    trials.frame(100.0)
    trials.open(7, mine[0])
    assert trials.has_room
    trials.open(7, mine[1])
    assert not trials.has_room
    assert trials.of(7) == mine
    assert list(trials.done()) == []
    trials.frame(101.0 + LONGEST_S)
    assert list(trials.done()) == mine
    assert trials.has_room
    assert trials.of(7) == []


def test_time_that_goes_back_neither_ends_nor_prolongs_a_trial() -> None:
    trials = OpenTrials()
    for media_s in (1000.0, 1001.0, 5.0, 6.0):
        trials.frame(media_s)
    assert trials.now_s == 2.0


def test_closing_ends_what_is_not_under_way() -> None:
    trials, idle, busy = OpenTrials(), trial(), trial()
    busy.pending = 1
    trials.open(1, idle)
    trials.open(2, busy)
    trials.close()
    assert list(trials.done()) == [idle]
    busy.pending = 0
    assert list(trials.done()) == [busy]
