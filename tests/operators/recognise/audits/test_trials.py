"""The trials of a run: each object is new once and answered for once, and nothing grows without bound."""

from __future__ import annotations

import pytest

from operators.recognise.audits import trials as module
from operators.recognise.audits.trial import LONGEST_S
from operators.recognise.audits.trials import OpenTrials
from tests.operators.recognise.audits.trials_of import trial


def test_an_object_is_new_once_for_each_shortcut() -> None:
    trials = OpenTrials()
    assert trials.asked_in_shadow(7, "variant") is None
    assert [trials.is_new(7, "variant"), trials.is_new(7, "variant"), trials.is_new(8, "variant")] == [
        True,
        False,
        True,
    ]
    assert trials.is_new(7, "cached")
    assert trials.asked_in_shadow(7, "variant") is False


def test_an_object_that_was_looked_at_in_the_shadow_first_stays_one() -> None:
    trials = OpenTrials()
    trials.is_new(7, "variant", shadow=True)
    trials.is_new(7, "variant")
    assert trials.asked_in_shadow(7, "variant") is True
    assert trials.answers_first(7, "variant")
    assert trials.asked_in_shadow(7, "variant") is True


def test_a_shortcut_answers_for_an_object_for_the_first_time_once() -> None:
    trials = OpenTrials()
    trials.is_new(7, "variant")
    assert not trials.has_answered(7, "variant")
    assert [trials.answers_first(7, "variant") for _ in range(3)] == [True, False, False]
    assert trials.has_answered(7, "variant")
    assert trials.answers_first(7, "cached")
    assert not trials.is_new(7, "cached"), "what was answered for was looked at"


def test_only_the_objects_that_were_looked_at_last_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED", 2)
    trials = OpenTrials()
    for track in (1, 2, 1, 3):
        trials.is_new(track, "variant")
    assert [trials.is_new(track, "variant") for track in (1, 3, 2)] == [False, False, True]


def test_objects_that_were_answered_for_without_a_draw_are_no_more_than_these(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED", 2)
    trials = OpenTrials()
    for track in (1, 2, 3):
        trials.answers_first(track, "variant")
    assert [trials.has_answered(track, "variant") for track in (1, 2, 3)] == [False, True, True]


def test_trials_are_bounded_and_leave_when_they_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_TRIALS", 2)
    trials, mine = OpenTrials(), [trial("variant", opened_s=0.0), trial("cached", opened_s=0.0)]
    trials.frame(100.0)
    trials.open(7, mine[0])
    assert trials.has_room
    trials.open(7, mine[1])
    assert not trials.has_room
    assert [trials.of(7, "variant"), trials.of(7, "cached"), trials.of(8, "cached")] == [*mine, None]
    assert list(trials.done()) == []
    trials.frame(100.1 + LONGEST_S)
    assert list(trials.done()) == [(7, mine[0]), (7, mine[1])]
    assert trials.has_room
    assert trials.of(7, "variant") is None


def test_the_conclusion_about_an_object_ends_all_its_trials_and_no_others() -> None:
    trials, mine = OpenTrials(), [trial("variant"), trial("cached"), trial("variant")]
    for track, each in zip((7, 7, 8), mine, strict=True):
        trials.open(track, each)
    trials.concluded(7)
    assert [each for _, each in trials.done()] == mine[:2]


def test_what_is_looked_at_after_the_conclusion_is_no_part_of_a_trial_that_still_waits() -> None:
    trials, mine = OpenTrials(), trial()
    trials.open(7, mine)
    mine.pending = 1
    trials.concluded(7)
    assert trials.of(7, "variant") is None
    mine.pending = 0
    assert list(trials.done()) == [(7, mine)]


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
    assert list(trials.done()) == [(1, idle)]
    busy.pending = 0
    assert list(trials.done()) == [(2, busy)]
