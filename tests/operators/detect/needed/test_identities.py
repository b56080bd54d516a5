"""Audits find out whether objects are the same at both ends of a gap."""

from __future__ import annotations

import pytest

from operators.detect.needed.account import SkipTally
from operators.detect.needed.identities import MOST_GAPS, MOST_OBJECTS, DetectedFrame, Gaps, kept_identities
from operators.frames.frame import Region
from operators.testing.builders import make_region


def walker(at_s: float, start: float, speed: float, identity: int | None = None) -> Region:
    return make_region(x=start + speed * at_s, w=0.06, h=0.2, label="person", identity=identity)


def crossing(at_s: float, left: int | None = None, right: int | None = None) -> DetectedFrame:
    """Two that walk towards each other, meet after a second and a half, and go on."""
    return DetectedFrame(at_s, [walker(at_s, 0.2, 0.2, left), walker(at_s, 0.8, -0.2, right)])


BEFORE = [crossing(0.8), crossing(1.2, 1, 2)]


def test_who_was_followed_past_another_is_kept() -> None:
    assert kept_identities(BEFORE, crossing(1.5), crossing(1.8, 1, 2)) == (2, 2)


def test_two_that_were_exchanged_are_not() -> None:
    assert kept_identities(BEFORE, crossing(1.5), crossing(1.8, 2, 1)) == (0, 2)


def test_one_that_was_taken_for_new_is_not() -> None:
    assert kept_identities(BEFORE, crossing(1.5), crossing(1.8, 1, 3)) == (1, 2)


def test_one_that_came_in_between_is_no_object_of_both_ends() -> None:
    after = crossing(1.8, 1, 2)
    late = DetectedFrame(1.8, [*after.regions, walker(0.0, 0.1, 0.0, 3)])
    assert kept_identities(BEFORE, crossing(1.5), late) == (2, 2)


@pytest.mark.parametrize("audit_first", [True, False])
def test_a_gap_is_compared_once_its_audit_and_its_end_are_known(audit_first: bool) -> None:
    tally = SkipTally()
    gaps = Gaps(tally)
    for end in BEFORE:
        gaps.detected(end)
    gap = gaps.opened()
    if audit_first:
        gaps.audited(gap, crossing(1.5))
        assert tally.identities_compared == 0
    gaps.detected(crossing(1.8, 1, 2))
    if not audit_first:
        assert tally.identities_compared == 0
        gaps.audited(gap, crossing(1.5))
    gaps.audited(gap, crossing(1.5))
    assert (tally.identities_kept, tally.identities_compared) == (2, 2)


def test_gaps_that_wait_are_bounded_and_crowds_are_not_compared() -> None:
    tally = SkipTally()
    gaps = Gaps(tally)
    for end in BEFORE:
        gaps.detected(end)
    waiting = [gaps.opened() for _ in range(MOST_GAPS + 1)]
    gaps.detected(crossing(1.8, 1, 2))
    gaps.audited(waiting[0], crossing(1.5))
    assert tally.identities_compared == 0
    gaps.audited(waiting[1], DetectedFrame(1.5, [walker(0.0, 0.1, 0.0)] * (MOST_OBJECTS + 1)))
    assert tally.identities_compared == 0
    gaps.audited(waiting[2], crossing(1.5))
    assert tally.identities_compared == 2


def test_nothing_is_compared_before_the_first_detection() -> None:
    tally = SkipTally()
    gaps = Gaps(tally)
    gap = gaps.opened()
    gaps.audited(gap, crossing(1.5))
    gaps.detected(crossing(1.8, 1, 2))
    assert tally.identities_compared == 0
