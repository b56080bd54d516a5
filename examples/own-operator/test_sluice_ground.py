"""The ground: by the foot of the box, the first part that holds it."""

import pytest
from sluice_ground import OUTSIDE, Ground

import sluice

ROAD = [(0, 0), (1, 0), (1, 0.5), (0, 0.5)]
YARD = [(0, 0.5), (0.5, 0.5), (0.5, 1), (0, 1)]


@pytest.mark.parametrize(
    ("box", "part"),
    [((0.1, 0.1, 0.2, 0.2), "road"), ((0.1, 0.4, 0.2, 0.8), "yard"), ((0.7, 0.6, 0.8, 0.8), OUTSIDE)],
)
def test_an_object_is_where_its_foot_stands(box, part):
    assert Ground("place", {"road": ROAD, "yard": YARD}).part_of(sluice.Box(*box)) == part
