"""What counts as changed between two results of a frame, also against a search through all matchings."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import msgspec
import numpy as np
import pytest

from operators.wire.schema import BoundingBox, Object
from pipelines.run.replay.match import MOST_OBJECTS, SAME_PLACE, Compared, compare
from tests.operators.publish.messages import result, thing


def at(x: float, label: str = "car", *answers: str, w: float = 0.1, **changes: Any) -> Object:
    found = thing(None, label, *answers, **changes)
    box = BoundingBox(x_min=x, y_min=0.1, x_max=x + w, y_max=0.3)
    return msgspec.structs.replace(found, detection=msgspec.structs.replace(found.detection, bounding_box=box))


def compared(before: list[Object], after: list[Object]) -> Compared:
    return compare(result(1, *before), result(1, *after))


def kinds(found: Compared) -> list[tuple[str, str, str]]:
    return [(each.kind, each.before, each.after) for each in found.differences]


def test_the_same_objects_are_the_same_in_any_order_and_a_little_aside() -> None:
    found = compared([at(0.1), at(0.5, "person")], [at(0.51, "person"), at(0.12)])
    assert (found.objects, found.changed, found.differences) == (2, 0, [])


def test_an_object_that_moved_by_more_than_half_is_lost_and_new() -> None:
    found = compared([at(0.1)], [at(0.16)])
    assert (found.objects, found.changed) == (2, 2)
    assert kinds(found) == [("lost", "car", ""), ("new", "", "car")]


def test_an_object_that_is_called_otherwise_in_its_place_is_renamed() -> None:
    found = compared([at(0.1, confidence=0.4)], [at(0.1, "truck", confidence=0.9)])
    assert (found.objects, found.changed, kinds(found)) == (1, 1, [("renamed", "car", "truck")])
    assert found.differences[0].confidence == 0.9


def test_an_object_with_two_other_answers_is_one_changed_object() -> None:
    one, other = at(0.1, "car", "van"), at(0.1, "car", "truck")
    more = msgspec.structs.replace(other.attributes[0], name="colour", label="red")
    found = compared([one], [msgspec.structs.replace(other, attributes=[*other.attributes, more])])
    assert (found.objects, found.changed) == (1, 1)
    assert kinds(found) == [("answer", "", "red"), ("answer", "van", "truck")]
    assert [each.attribute for each in found.differences] == ["colour", "type"]


@pytest.mark.parametrize(("before", "after"), [(0, 0), (0, 2), (3, 0)])
def test_frames_without_objects(before: int, after: int) -> None:
    found = compared([at(0.3 * n) for n in range(before)], [at(0.3 * n) for n in range(after)])
    assert (found.objects, found.changed, len(found.differences)) == (before + after,) * 3


def test_objects_match_one_to_one() -> None:
    found = compared([at(0.1)], [at(0.1), at(0.1)])
    assert (found.objects, found.changed, kinds(found)) == (2, 1, [("new", "", "car")])


def test_as_many_objects_match_as_in_the_best_matching_where_the_greatest_share_goes_first() -> None:
    rng = np.random.default_rng(4)
    for _ in range(200):
        before, after = ([at(x) for x in rng.uniform(0, 0.25, 3)] for _ in range(2))
        found = compared(before, after)
        matched = 6 - found.objects
        pairs = [list(zip(before, several, strict=True)) for several in permutations(after)]
        best = max(sum(_share(*pair) >= SAME_PLACE for pair in each) for each in pairs)
        assert matched <= best <= 2 * matched or best == matched == 0  # a greedy matching has at least half


def test_no_more_objects_are_compared_than_that() -> None:
    many = [at(0.1)] * (MOST_OBJECTS + 50)
    found = compared(many, many)
    assert (found.objects, found.changed) == (MOST_OBJECTS, 0)


def _share(one: Object, other: Object) -> float:
    a, b = one.detection.bounding_box, other.detection.bounding_box
    common = max(0.0, min(a.x_max, b.x_max) - max(a.x_min, b.x_min))
    return common / (a.x_max - a.x_min + b.x_max - b.x_min - common)
