"""Objects enter and leave zones once, however they tremble."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.zones.layout import Zone
from operators.zones.presence import Entered, Hysteresis, Left
from tests.operators.zones.walks import YARD, trembling, walk, way

THROUGH = way((0.1, 0.6), (0.9, 0.6), 81)
"""Eight seconds from left to right at ten frames a second: inside from the 20th to the 60th."""


def test_an_object_that_passes_through_enters_and_leaves_at_the_border() -> None:
    entered, left = walk(THROUGH, YARD)
    assert isinstance(entered, Entered)
    assert isinstance(left, Left)
    assert (entered.zone, entered.cause) == ("yard", "crossed")
    assert (left.zone, left.cause) == ("yard", "crossed")
    assert entered.at_s == pytest.approx(102.0, abs=0.11)
    assert left.at_s == pytest.approx(106.0, abs=0.11)
    assert left.dwell_s == pytest.approx(left.at_s - entered.at_s)


def test_a_track_that_begins_and_ends_inside_says_so() -> None:
    entered, left = walk(way((0.4, 0.6), (0.6, 0.6), 30), YARD)
    assert isinstance(entered, Entered)
    assert isinstance(left, Left)
    assert (entered.at_s, entered.cause) == (100, "appeared")
    assert (left.dwell_s, left.cause) == (pytest.approx(2.9), "ended")


def test_who_was_inside_for_a_moment_only_was_not() -> None:
    outside = [(0.1, 0.6)] * 10
    assert walk([*outside, (0.5, 0.6), *outside], YARD) == []
    assert walk([*outside, (0.5, 0.6)], YARD) == []


def test_who_was_outside_for_a_moment_only_has_not_left() -> None:
    inside = [(0.5, 0.6)] * 20
    assert [type(each) for each in walk([*inside, (0.1, 0.6), *inside], YARD)] == [Entered, Left]


def test_without_settling_every_frame_counts() -> None:
    rules = Hysteresis(settle_s=0.0, margin=0.0)
    happened = walk([(0.1, 0.6), (0.5, 0.6), (0.1, 0.6), (0.5, 0.6)], YARD, rules=rules)
    assert [type(each) for each in happened] == [Entered, Left, Entered, Left]


@pytest.mark.parametrize("fps", [1.0, 5.0, 25.0])
@pytest.mark.parametrize("inside", [-0.15, -0.075, 0.0, 0.075, 0.15])
def test_an_object_that_is_parked_on_the_border_fires_once_at_most(fps: float, inside: float) -> None:
    """Its box trembles by 3 % of its size in 3000 frames; ``inside``: how far, in its own size."""
    rng = Random(f"{fps} {inside}")
    for border in ((0.5, 0.3 + inside * 0.2), (0.3 + inside * 0.1, 0.6)):
        happened = walk(trembling([border] * 3000, 0.03, rng), YARD, fps)
        assert len(happened) in (0, 2)
        assert [each.cause for each in happened if isinstance(each, Left)] in ([], ["ended"])


@settings(deadline=None)
@given(st.floats(0, 0.04), st.integers(0, 1000), st.sampled_from([5.0, 10.0, 25.0]))
def test_a_trembling_object_that_passes_through_enters_and_leaves_once(sigma: float, seed: int, fps: float) -> None:
    places = trembling(way((0.1, 0.6), (0.9, 0.6), int(8 * fps) + 1), sigma, Random(seed))
    entered, left = walk(places, YARD, fps)
    assert isinstance(entered, Entered)
    assert isinstance(left, Left)
    assert left.cause == "crossed"
    assert left.dwell_s == pytest.approx(4, abs=0.6)


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=60), st.floats(0, 1), st.floats(0, 0.5))
def test_enter_and_leave_take_turns_wherever_it_goes(
    places: list[tuple[float, float]], settle_s: float, margin: float
) -> None:
    happened = walk(places, YARD, rules=Hysteresis(settle_s, margin))
    assert [type(each) for each in happened] == [Entered, Left] * (len(happened) // 2)
    times = [each.at_s for each in happened]
    assert times == sorted(times)
    assert all(each.dwell_s >= settle_s - 1e-5 for each in happened if isinstance(each, Left))


def test_the_centre_may_stand_for_the_object() -> None:
    high = Zone("high", ((0, 0), (1, 0), (1, 0.5), (0, 0.5)), anchor="centre")
    assert len(walk([(0.5, 0.58)] * 9, high)) == 2
    assert walk([(0.5, 0.61)] * 9, high) == []


def test_what_the_frame_cuts_off_stands_at_its_edge() -> None:
    low = Zone("low", ((0, 0.8), (1, 0.8), (1, 1), (0, 1)))
    assert len(walk([(0.5, 1.0)] * 9, low)) == len(walk([(1.3, 1.4)] * 9, low)) == 2
