"""Whether looking at frames pays: what it may lose, when it is tried again, and that it is never left where it pays."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.detect.needed.account import (
    FIRST_CREDIT,
    FIRST_REST,
    LONGEST_REST,
    MOST_CREDIT,
    OVERDRAFT_REST,
    Account,
    SkipTally,
)

DETECTION_S, LOOK_S = 0.015, 0.0025


class Stream:
    """Frames of a stream of which a share must be detected; what is looked at costs, and is audited now and then."""

    def __init__(self) -> None:
        self.tally = SkipTally()
        self.account = Account(self.tally)
        self.looked = self.rests = self.frames = 0

    def show(self, frames: int, skipped: float, audited: float = 0.0) -> None:
        before, at = self.tally.skipped, self.looked
        for _ in range(frames):
            self.frames += 1
            self.rests += self.account.frame(DETECTION_S)
            if self.account.rest:
                continue
            self.looked += 1
            self.tally.looked(LOOK_S)
            self.tally.skipped = before + int((self.looked - at) * skipped)
            self.tally.audit_runs = int(self.tally.skipped * audited)

    @property
    def lost(self) -> float:
        """Detections that looking has cost beyond what it has saved."""
        tally = self.tally
        return (tally.look_s + (tally.audit_runs - tally.skipped) * DETECTION_S) / DETECTION_S


def test_a_busy_stream_is_left_before_it_has_lost_much_and_tried_ever_more_seldom() -> None:
    stream = Stream()
    stream.show(10_000, skipped=0.12)
    assert 5 <= stream.rests <= 7
    assert stream.lost <= (FIRST_CREDIT + 1) * (math.log2(10_000 / FIRST_REST) + 1)
    assert stream.lost / 10_000 < 0.004


def test_a_quiet_stream_is_never_left() -> None:
    stream = Stream()
    stream.show(10_000, skipped=0.5, audited=0.1)
    assert stream.rests == 0
    assert stream.account.why_not() is None
    assert stream.account.saved_s == pytest.approx(-stream.lost * DETECTION_S, rel=0.01)


def test_a_busy_moment_of_a_quiet_stream_is_borne() -> None:
    stream = Stream()
    for _ in range(50):
        stream.show(100, skipped=0.8)
        stream.show(100, skipped=0.0)
    assert stream.rests == 0


def test_a_try_that_has_cost_much_at_once_is_followed_by_a_longer_rest() -> None:
    stream = Stream()
    stream.show(1, skipped=0.0)
    stream.tally.looked(9 * DETECTION_S)
    stream.show(1, skipped=0.0)
    assert stream.account.rest == pytest.approx(6 * OVERDRAFT_REST, abs=OVERDRAFT_REST)


def test_what_costs_very_much_once_does_not_end_what_has_paid() -> None:
    stream = Stream()
    stream.show(200, skipped=0.8)
    stream.tally.looked(1000 * DETECTION_S)
    stream.show(200, skipped=0.8)
    assert stream.rests == 0
    assert stream.account.saved_s < 0, "it is in the books all the same"


def test_audits_count() -> None:
    stream = Stream()
    stream.show(500, skipped=0.3, audited=0.6)
    assert stream.rests > 0


def test_what_becomes_quiet_is_found_before_as_many_frames_again_have_passed() -> None:
    stream = Stream()
    stream.show(2_000, skipped=0.0)
    rests, looked = stream.rests, stream.looked
    stream.show(2_000, skipped=0.8)
    assert stream.rests == rests
    assert stream.looked - looked > 300
    stream.show(400, skipped=0.0)
    assert 0 < stream.account.rest <= 2 * FIRST_REST, "rests are short again once looking has paid"


def test_a_rest_says_why_and_how_long_it_lasts() -> None:
    stream = Stream()
    stream.show(30, skipped=0.0)
    assert stream.account.why_not() == (
        "skipping does not pay: it has saved 0.00 s of processor time, and looking at frames and audits have cost "
        f"0.05 s; it is tried again after {stream.account.rest} frames"
    )


def test_as_long_as_nobody_knows_what_a_detection_takes_it_goes_on() -> None:
    tally = SkipTally()
    account = Account(tally)
    for _ in range(1000):
        assert not account.frame(None)
        tally.looked(1.0)
    assert account.detection_s is None
    assert account.frame(DETECTION_S), "what was counted meanwhile is booked then"


@given(st.lists(st.tuples(st.integers(1, 400), st.floats(0, 1), st.floats(0, 0.2)), min_size=1, max_size=30))
def test_whatever_is_shown_no_more_is_lost_than_what_was_saved_and_the_credits(
    spans: list[tuple[int, float, float]],
) -> None:
    stream = Stream()
    for frames, skipped, audited in spans:
        stream.show(frames, skipped, audited)
    assert stream.lost <= (FIRST_CREDIT + 2) * (stream.rests + 1) + MOST_CREDIT
    assert stream.account.rest <= LONGEST_REST
