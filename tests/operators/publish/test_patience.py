"""Waiting ends at a moment, or after a silence, whichever comes first."""

from __future__ import annotations

import math

from operators.publish.sending import Patience


def test_waits_for_ever_unless_told_otherwise() -> None:
    assert Patience(answered_at=5.0).left_s(now=1e9) == math.inf


def test_ends_at_the_earliest_of_the_moments_given() -> None:
    patience = Patience(answered_at=0.0)
    patience.end_at(30.0)
    patience.end_at(20.0)
    patience.end_at(25.0)
    assert patience.left_s(now=15.0) == 5.0


def test_an_answer_ends_a_silence_but_moves_no_end() -> None:
    patience = Patience(answered_at=0.0)
    patience.allow_silence(10.0, now=100.0)
    assert patience.left_s(now=104.0) == 6.0
    patience.answered(now=104.0)
    assert patience.left_s(now=104.0) == 10.0
    patience.end_at(105.0)
    patience.answered(now=104.5)
    assert patience.left_s(now=104.5) == 0.5


def test_allowing_the_same_silence_again_does_not_begin_it_anew() -> None:
    patience = Patience(answered_at=0.0)
    patience.allow_silence(10.0, now=100.0)
    patience.allow_silence(10.0, now=108.0)
    assert patience.left_s(now=108.0) == 2.0
    patience.allow_silence(5.0, now=108.0)
    assert patience.left_s(now=108.0) == 5.0
