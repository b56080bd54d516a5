"""Many objects, zones and lines at once."""

from __future__ import annotations

import math

import pytest

from operators.frames.frame import Box
from operators.testing import make_region
from operators.zones.geometry import Sighting, SightingMoment
from operators.zones.layout import Layout, Line, Zone, zones_at
from operators.zones.presence import Crossed, Entered, Left
from operators.zones.visits import Visits
from tests.operators.zones.walks import GATE, RULES, YARD, seen

PEOPLE = Zone("people", YARD.points, labels=frozenset({"person"}))


def test_every_object_has_a_state_of_its_own_until_it_ends() -> None:
    visits = Visits(Layout((YARD,), (GATE,)), RULES)
    happened = [
        (number, type(each))
        for n in range(10)
        for number, y in ((1, 0.35 + n * 0.03), (2, 0.4))
        for each in visits.see(seen((0.5, y), n / 10, number))
    ]
    assert happened == [(1, Entered), (2, Entered)]
    assert visits.inside() == {"yard": [1, 2]}
    assert next(map(type, visits.end(1))) is Crossed
    assert visits.inside() == {"yard": [2]}
    assert len(visits) == 1
    assert visits.end(1) == []


def test_a_zone_for_some_labels_leaves_others_alone() -> None:
    visits = Visits(Layout((PEOPLE,)), RULES)
    for n in range(9):
        visits.see(seen((0.5, 0.5), n / 10, 1, "car"))
        visits.see(seen((0.5, 0.5), n / 10, 2, "person"))
    assert visits.inside() == {"people": [2]}


def test_zones_and_lines_are_for_streams_by_name_or_pattern() -> None:
    layout = Layout(
        (Zone("a", YARD.points, ("gate-*",)), Zone("b", YARD.points)), (Line("c", GATE.points, ("door", "yard")),)
    )
    found = {stream: layout.of(stream) for stream in ("gate-1", "door")}
    names = {stream: [each.name for each in (*of.zones, *of.lines)] for stream, of in found.items()}
    assert names == {"gate-1": ["a", "b"], "door": ["b", "c"]}
    assert not Layout().of("door")


def test_an_object_is_in_all_zones_that_hold_its_point() -> None:
    zones = [YARD, PEOPLE, Zone("sky", ((0, 0), (1, 0), (1, 0.2), (0, 0.2)))]
    assert zones_at(zones, make_region(0.4, 0.4, label="person").box, "person") == ("yard", "people")
    assert zones_at(zones, make_region(0.4, 0.4).box, "car") == ("yard",)
    assert zones_at(zones, make_region(0.0, 0.3).box, "car") == ()


@pytest.mark.parametrize("odd", [math.nan, math.inf])
@pytest.mark.parametrize("place", range(4))
def test_a_box_without_a_place_is_in_no_zone(odd: float, place: int) -> None:
    corners = [0.4, 0.4, 0.6, 0.6]
    corners[place] = odd
    assert zones_at([YARD], Box(*corners), "car") == ()
    with pytest.raises(ValueError, match="numbers"):
        Sighting(1, Box(*corners), "car", SightingMoment(0, 0))


def parked(visits: Visits, *frames: tuple[int, ...], x: float = 0.5) -> list[tuple[int, str]]:
    """Frames with the tracks that are seen in each, ten a second; who entered or left, and as whom."""
    found = []
    for n, numbers in enumerate(frames):
        visits.move()
        for number in numbers:
            for each in visits.see(seen((x + number / 1000, 0.6), n / 10, number)):
                found.append((number, type(each).__name__))
    return found


def test_a_parked_object_that_becomes_another_track_has_neither_left_nor_come() -> None:
    visits = Visits(Layout((YARD,)), RULES)
    assert parked(visits, *[(1,)] * 9, *[()] * 5, *[(2,)] * 9, *[()] * 5, *[(3,)] * 9) == [(1, "Entered")]
    assert (visits.end(1), visits.end(2), visits.inside()) == ([], [], {"yard": [3]})
    (left,) = visits.end(3)
    assert isinstance(left, Left)
    assert (left.entered_as, left.cause, left.dwell_s) == (1, "ended", pytest.approx(3.6))


def test_a_track_that_is_still_seen_is_nobody_s_predecessor() -> None:
    visits = Visits(Layout((YARD,)), RULES)
    assert parked(visits, *[(1,)] * 9, *[(2, 1)] * 9) == [(1, "Entered"), (2, "Entered")]


def test_a_new_track_elsewhere_or_of_another_label_is_another_object() -> None:
    visits = Visits(Layout((YARD,)), RULES)
    parked(visits, *[(1,)] * 9, (), ())
    for place, label in (((0.6, 0.6), "car"), ((0.5, 0.6), "person")):
        for n in range(5):
            visits.move()
            visits.see(seen(place, 2 + n / 10, 2 if label == "car" else 3, label))
    assert visits.inside() == {"yard": [1, 2, 3]}
