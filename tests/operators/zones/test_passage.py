"""Objects cross lines once, the way they go, however they tremble."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.frames.polygon import Point
from operators.zones.layout import Line
from operators.zones.presence import Crossed, Hysteresis
from tests.operators.zones.walks import GATE, trembling, walk, way

ABOVE, BELOW = (0.5, 0.2), (0.5, 0.8)


def ways(places: list[Point], line: Line = GATE, fps: float = 10.0) -> list[str]:
    happened = walk(places, line, fps)
    assert all(isinstance(each, Crossed) and each.line == "gate" for each in happened)
    return [each.direction for each in happened if isinstance(each, Crossed)]


def test_down_over_a_line_that_goes_right_is_from_left_to_right() -> None:
    """One who walks to the right sees what is above at the left hand, as on a map."""
    assert ways(way(ABOVE, BELOW, 31)) == ["left_to_right"]
    assert ways(way(BELOW, ABOVE, 31)) == ["right_to_left"]
    back = Line("gate", GATE.points[::-1])
    assert ways(way(ABOVE, BELOW, 31), back) == ["right_to_left"]


def test_a_crossing_is_at_the_moment_of_the_first_look_beyond() -> None:
    (crossed,) = walk([ABOVE, ABOVE, BELOW, BELOW, BELOW], GATE, fps=1)
    assert crossed.at_s == 102


def test_there_and_back_are_two() -> None:
    there = way(ABOVE, BELOW, 31)
    assert ways([*there, *there[::-1], *there]) == ["left_to_right", "right_to_left", "left_to_right"]


def test_round_its_end_is_none() -> None:
    assert ways([*way(ABOVE, (0.9, 0.3), 20), *way((0.9, 0.3), (0.9, 0.8), 20), *way((0.9, 0.8), BELOW, 20)]) == []


def test_one_look_beyond_is_none_unless_it_is_the_last() -> None:
    assert ways([*[ABOVE] * 10, BELOW, *[ABOVE] * 10]) == []
    assert ways([*[ABOVE] * 10, BELOW]) == ["left_to_right"]


def test_a_track_that_was_lost_on_the_line_and_found_beyond_has_crossed_once() -> None:
    before, beyond = way(ABOVE, (0.5, 0.48), 15), way((0.5, 0.55), BELOW, 15)
    assert ways([*before, *beyond]) == ["left_to_right"]


def test_a_track_that_begins_on_the_line_or_beyond_has_not_crossed() -> None:
    assert ways(way((0.5, 0.5), BELOW, 20)) == []
    assert ways(way((0.5, 0.6), BELOW, 20)) == []


@pytest.mark.parametrize("fps", [1.0, 5.0, 25.0])
@pytest.mark.parametrize("off", [-0.15, -0.075, 0.0, 0.075, 0.15])
def test_an_object_that_is_parked_on_the_line_fires_once_at_most(fps: float, off: float) -> None:
    rng = Random(f"{fps} {off}")
    for place in ((0.5, 0.5 + off * 0.2), (0.8, 0.5 + off * 0.2), (0.2 + off * 0.1, 0.5)):
        assert ways(list(trembling([place] * 1500, 0.03, rng)), fps=fps) == []
        come = [*way((place[0], 0.1), place, 20), *[place] * 1500]
        assert len(ways(list(trembling(come, 0.03, rng)), fps=fps)) <= 1


@pytest.mark.parametrize("fps", [1.0, 5.0, 25.0])
def test_one_that_stands_on_the_line_and_is_seen_beyond_it_now_and_then_has_not_crossed(fps: float) -> None:
    rng = Random(fps)
    assert len(ways(list(trembling([(0.5, 0.5)] * 1500, 0.07, rng)), fps=fps)) <= 1
    assert ways([ABOVE, BELOW, *[(0.5, 0.5)] * 9, BELOW, (0.5, 0.5), ABOVE, ABOVE]) == []


@settings(deadline=None)
@given(st.floats(0, 0.04), st.integers(0, 1000), st.sampled_from([5.0, 10.0, 25.0]), st.booleans())
def test_a_trembling_object_that_crosses_does_so_once(sigma: float, seed: int, fps: float, up: bool) -> None:
    start, end = (BELOW, ABOVE) if up else (ABOVE, BELOW)
    places = list(trembling(way(start, end, int(4 * fps)), sigma, Random(seed)))
    assert ways(places, fps=fps) == ["right_to_left" if up else "left_to_right"]


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=60), st.floats(0, 1), st.floats(0, 0.5))
def test_directions_take_turns_over_a_line_through_the_whole_picture(
    places: list[Point], settle_s: float, margin: float
) -> None:
    whole = Line("gate", ((0, 0.4), (0.3, 0.6), (1, 0.5)))
    happened = walk(places, whole, rules=Hysteresis(settle_s, margin))
    found = [each.direction for each in happened if isinstance(each, Crossed)]
    assert all(one != other for one, other in pairwise(found))
