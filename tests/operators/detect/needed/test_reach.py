"""Which objects of two frames may be one that moved."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from operators.detect.needed.reach import lone_pairs, may_be
from operators.frames.frame import Region
from operators.testing.builders import make_region

SURE = 0.45


def car(x: float, w: float = 0.1, confidence: float = 0.9, label: str = "car") -> Region:
    return make_region(x=x, y=0.4, w=w, h=0.1, label=label, confidence=confidence)


def test_reach_is_twice_the_size_of_the_larger_one() -> None:
    assert may_be(car(0.1), car(0.29), SURE)
    assert not may_be(car(0.1), car(0.32), SURE)
    assert may_be(car(0.1), car(0.3, w=0.2), SURE)


def test_two_that_come_and_go_by_themselves_are_not_worth_it() -> None:
    assert not may_be(car(0.1, confidence=0.4), car(0.2, confidence=0.4), SURE)
    assert may_be(car(0.1, confidence=0.4), car(0.2), SURE)


def test_one_of_another_size_is_another_and_no_choice_either() -> None:
    assert lone_pairs([car(0.1)], [car(0.2, w=0.15)], SURE) == []
    assert lone_pairs([car(0.1)], [car(0.2, w=0.15), car(0.2, w=0.12)], SURE) == [(0, 1)]


def test_those_that_could_be_either_are_left() -> None:
    assert lone_pairs([car(0.1), car(0.6)], [car(0.2), car(0.7)], SURE) == [(0, 0), (1, 1)]
    assert lone_pairs([car(0.1)], [car(0.2), car(0.0)], SURE) == []
    assert lone_pairs([car(0.1), car(0.3)], [car(0.2)], SURE) == []


places = st.lists(st.builds(car, st.floats(0, 0.8), st.floats(0.05, 0.2), st.floats(0.3, 1)), max_size=6)


@given(places, places)
def test_nobody_is_two(gone: list[Region], new: list[Region]) -> None:
    pairs = lone_pairs(gone, new, SURE)
    assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)
    assert all(may_be(gone[i], new[j], SURE) for i, j in pairs)
