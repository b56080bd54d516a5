"""Which objects are named as likely none."""

from __future__ import annotations

import msgspec
import pytest

from operators.wire.schema import BoundingBox, Detection, Object
from pipelines.query.zones import MaskSpec
from pipelines.report.static_objects import LONG_S, OFTEN, StaticObject, StaticObjects
from tests.operators.publish.messages import result, thing


def post(confidence: float = 0.45, x: float = 0.5, track_id: int | None = 1, label: str = "person") -> Object:
    box = BoundingBox(x_min=x, y_min=0.2, x_max=x + 0.1, y_max=0.6)
    return thing(track_id, label, detection=Detection(bounding_box=box, confidence=confidence, label=label))


def found(*frames: list[Object], seconds: float = 2 * LONG_S, remembered: int = 100) -> list[StaticObject]:
    """What is named after these frames, spread over the time."""
    watched = StaticObjects(remembered)
    for seq, objects in enumerate(frames):
        watched.see(result(seq, *objects, media_time_s=seconds * seq / (len(frames) - 1)))
    return watched.found()


MANY = 2 * OFTEN


def test_a_post_that_is_a_person_all_day_is_named_with_a_mask_that_ignores_it() -> None:
    (named,) = found(*[[post(0.4 + 0.001 * seq)] for seq in range(MANY)])
    assert (named.stream, named.labels, named.seen_s) == ("yard", ["person"], 2 * LONG_S)
    assert named.confidence == pytest.approx(0.44, abs=0.002)
    mask = MaskSpec.model_validate({"ignore": msgspec.to_builtins(named.polygon), "labels": named.labels}).mask
    assert mask.polygon == ((0.49, 0.16), (0.61, 0.16), (0.61, 0.64), (0.49, 0.64))


@pytest.mark.parametrize(
    "frames",
    [
        [[post(0.9 if seq % 2 else 0.45)] for seq in range(MANY)],  # often sure: there is something
        [[post(x=0.1 + 0.004 * seq)] for seq in range(MANY)],  # walks
        [[post(label="moving")] for seq in range(MANY)],  # no name, so nothing to be unsure of
        [[post(track_id=None)] for seq in range(MANY)],  # no track
        [[post()] for seq in range(OFTEN - 1)],  # seldom
        [[] for seq in range(MANY)],
    ],
)
def test_other_objects_are_not_named(frames: list[list[Object]]) -> None:
    assert found(*frames) == []


def test_an_object_that_stood_for_a_short_time_may_have_waited() -> None:
    assert found(*[[post()] for seq in range(MANY)], seconds=LONG_S - 1) == []


def test_a_box_that_trembles_does_not_move() -> None:
    assert len(found(*[[post(x=0.5 + 0.02 * (-1) ** seq)] for seq in range(MANY)])) == 1


def test_a_detector_that_wavers_between_words_is_told_with_all_of_them() -> None:
    (named,) = found(
        *[[post(0.9 if seq == 7 else 0.45, label="bird" if seq % 3 == 0 else "kite")] for seq in range(MANY)]
    )
    assert named.labels == ["kite", "bird"]


def test_an_object_that_is_lost_and_found_again_is_one() -> None:
    (named,) = found(*[[post(track_id=seq // 10)] for seq in range(MANY)])
    assert named.seen_s == pytest.approx(2 * LONG_S * 0.9, rel=0.05)


def test_whoever_passes_by_does_not_hide_it() -> None:
    frames = [[post(track_id=1), post(0.9, x=0.1 + 0.01 * seq, track_id=2)] for seq in range(MANY)]
    assert [each.labels for each in found(*frames)] == [["person"]]


def test_those_longest_seen_come_first_and_streams_differ() -> None:
    watched = StaticObjects()
    for seq in range(MANY):
        watched.see(result(seq, post(), media_time_s=seq))
        watched.see(result(seq, post(), stream="gate", media_time_s=2 * seq))
    assert [(each.stream, each.seen_s) for each in watched.found()] == [("gate", 158), ("yard", 79)]


def test_memory_is_bounded_and_a_post_survives_a_crowd() -> None:
    watched = StaticObjects(remembered=10)
    for seq in range(500):
        passers = [post(0.9, x=0.05 * (n + seq % 2 * 4), track_id=1000 + 4 * seq + n) for n in range(4)]
        watched.see(result(seq, post(track_id=1), *passers, media_time_s=seq))
    assert [each.labels for each in watched.found()] == [["person"]]
    assert len(watched._tracks) <= 10
    assert len(watched._places) <= 10
