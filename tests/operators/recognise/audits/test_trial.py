"""One object's looks in both pools, and when nothing more is to be waited for."""

from __future__ import annotations

import numpy as np

from operators.recognise.audits.trial import LONGEST_S, Trial
from operators.recognise.objects.sight import cut_off
from operators.recognise.objects.tracked_object import TrackedObject
from tests.operators.recognise.audits.trials_of import WORDS, trial
from tests.operators.recognise.objects.looks import box, look


def words(mine: Trial) -> list[str]:
    """What the shortcut would have found out, and what the oracle."""
    assert mine.beliefs is not None
    return [each.said.label for each in mine.beliefs]


def counts(mine: Trial) -> list[int]:
    assert mine.pools is not None
    return [each.looks for each in mine.pools]


def test_both_answers_pool_the_same_looks() -> None:
    mine = trial()
    assert mine.beliefs is None
    for said, reference in (("bus", "bus"), ("van", "bus"), ("van", "bus")):
        mine.looked(look(said), look(reference), whole=True)
    assert (counts(mine), words(mine)) == ([3, 3], ["van", "bus"])


def test_the_first_look_at_the_whole_object_takes_the_place_of_those_at_a_part_of_it() -> None:
    mine = trial()
    for _ in range(3):
        mine.looked(look("van"), look("truck"), whole=False)
    mine.crop = np.zeros((4, 4, 3), np.uint8)
    assert (counts(mine), words(mine)) == ([3, 3], ["van", "truck"])
    mine.looked(look("bus"), look("bus"), whole=True)
    assert (counts(mine), words(mine)) == ([1, 1], ["bus", "bus"])
    assert mine.crop is None
    mine.looked(look("bus"), look("bus"), whole=True)
    assert counts(mine) == [2, 2]


def test_what_a_trial_finds_out_is_what_is_published_of_the_object() -> None:
    mine, known = trial(), TrackedObject(box(x=0.0), 0.0, WORDS)
    for at_s, x, said in ((0.0, 0.0, "truck"), (1.0, 0.0, "truck"), (2.0, 0.3, "bus"), (3.0, 0.3, "car")):
        assert known.is_due(box(x), at_s)
        made = look(said, 0.6)
        known.look(made, at_s)
        mine.looked(made, made, whole=not cut_off(box(x)))
        assert mine.beliefs is not None
        assert set(mine.beliefs) == {known.belief}


def test_it_ends_with_the_object_and_waits_for_looks_that_are_under_way() -> None:
    mine = trial()
    assert not mine.is_done(1.0)
    mine.over, mine.pending = True, 1
    assert not mine.is_done(1.0)
    mine.pending = 0
    assert mine.is_done(1.0)


def test_an_object_that_never_leaves_the_border_does_not_keep_it_open() -> None:
    mine = trial(opened_s=5.0)
    assert not mine.is_done(5.0 + LONGEST_S)
    assert mine.is_done(5.1 + LONGEST_S)
    mine.pending = 1
    assert not mine.is_done(1000.0)
