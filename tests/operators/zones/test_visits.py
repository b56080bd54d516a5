"""Many objects, zones and lines at once."""

from __future__ import annotations

import math

import pytest

from operators.frames.frame import Box
from operators.testing import make_region
from operators.zones.layout import Layout, Line, Zone, zones_at
from operators.zones.passage import Crossed
from operators.zones.presence import Entered
from operators.zones.sighting import Moment, Sighting
from operators.zones.visits import Visits
from tests.operators.zones.walks import GATE, RULES, YARD, seen

PEOPLE = Zone("people", YARD.points, labels=frozenset({"person"}))


def test_every_object_has_a_state_of_its_own_until_it_ends() -> None:
    visits = Visits(Layout((YARD,), (GATE,)), RULES)
    happened = [
        (number, type(each))
        for n in range(10)
        for number, y in ((1, 0.35 + n * 0.03), (2, 0.4))
        for each in visits.see(number, seen((0.5, y), n / 10))
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
        visits.see(1, seen((0.5, 0.5), n / 10, "car"))
        visits.see(2, seen((0.5, 0.5), n / 10, "person"))
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
        Sighting(Box(*corners), "car", Moment(0, 0))
