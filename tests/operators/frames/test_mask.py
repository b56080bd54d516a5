"""Which objects count where."""

from __future__ import annotations

from operators.frames.frame import Region
from operators.frames.mask import Mask, kept, masks_of
from operators.frames.polygon import Polygon
from operators.testing import make_region

LEFT: Polygon = ((0.0, 0.0), (0.5, 0.0), (0.5, 1.0), (0.0, 1.0))
TOP: Polygon = ((0.0, 0.0), (1.0, 0.0), (1.0, 0.5), (0.0, 0.5))

TOP_LEFT, TOP_RIGHT = make_region(0.1, 0.1), make_region(0.7, 0.1)
LOW_LEFT, LOW_RIGHT = make_region(0.1, 0.7), make_region(0.7, 0.7)
ALL = [TOP_LEFT, TOP_RIGHT, LOW_LEFT, LOW_RIGHT]


def test_without_masks_everything_counts() -> None:
    assert kept([], ALL) == ALL


def test_what_lies_in_an_ignored_area_does_not_count() -> None:
    assert kept([Mask(LEFT, "ignore")], ALL) == [TOP_RIGHT, LOW_RIGHT]
    assert kept([Mask(LEFT, "ignore"), Mask(TOP, "ignore")], ALL) == [LOW_RIGHT]


def test_only_what_lies_in_one_of_the_required_areas_counts() -> None:
    assert kept([Mask(LEFT, "require")], ALL) == [TOP_LEFT, LOW_LEFT]
    assert kept([Mask(LEFT, "require"), Mask(TOP, "require")], ALL) == [TOP_LEFT, TOP_RIGHT, LOW_LEFT]


def test_an_area_may_be_ignored_within_a_required_one() -> None:
    assert kept([Mask(LEFT, "require"), Mask(TOP, "ignore")], ALL) == [LOW_LEFT]


def test_half_of_the_box_decides() -> None:
    def box(x: float) -> Region:
        return make_region(x, 0.2, 0.2, 0.2)

    assert kept([Mask(LEFT, "ignore")], [box(0.4)]) == []
    assert kept([Mask(LEFT, "ignore")], [box(0.41)]) != []
    assert kept([Mask(LEFT, "require")], [box(0.4)]) != []
    assert kept([Mask(LEFT, "require")], [box(0.41)]) == []


def test_other_labels_are_left_alone() -> None:
    car, person = make_region(0.1, 0.1, label="car"), make_region(0.1, 0.1, label="person")
    assert kept([Mask(LEFT, "ignore", labels=frozenset({"person"}))], [car, person]) == [car]
    away = make_region(0.7, 0.1, label="car")
    assert kept([Mask(LEFT, "require", labels=frozenset({"person"}))], [away, person]) == [away, person]


def test_a_mask_is_for_streams_by_name_or_pattern() -> None:
    yard, gates, every = Mask(LEFT, "ignore", ("yard",)), Mask(LEFT, "ignore", ("gate-*", "door")), Mask(LEFT, "ignore")
    masks = [yard, gates, every]
    assert masks_of(masks, "yard") == (yard, every)
    assert masks_of(masks, "gate-2") == masks_of(masks, "door") == (gates, every)
    assert masks_of(masks, "Yard") == (every,)
