"""From regions to the objects of a result."""

import json

import numpy as np
import pytest

from operators.frames.frame import Box
from operators.testing import make_region
from operators.wire.schema import Attribute, Model, Object, from_json, to_json
from pipelines.execute.objects import objects_of, plain


def answer(label, confidence=0.8):
    return Attribute(
        name="type",
        label=label,
        confidence=confidence,
        provenance="oracle",
        model=Model(name="m", version="1", tier="t"),
    )


@pytest.mark.parametrize(
    ("class_agnostic", "answers", "label"),
    [
        (False, ["pickup"], "moving"),
        (True, [], "moving"),
        (True, ["car"], "car"),
        (True, ["vehicle", "pickup"], "pickup"),
        (True, ["person", "other"], "person"),
        (True, ["other"], "other"),
        (True, ["unknown"], "moving"),
        (True, ["car", "unknown"], "car"),
        (True, ["other", "unknown"], "other"),
    ],
)
def test_who_names_the_object(class_agnostic, answers, label):
    region = make_region(label="moving", class_agnostic=class_agnostic)
    region.attributes = [answer(a) for a in answers]
    (item,) = objects_of([region])
    assert item.label == label
    assert item.detection.label == "moving"
    assert [a.label for a in item.attributes] == answers


def test_boxes_parents_and_tracks_are_kept():
    child = make_region(x=0.123456789, id=1, parent_id=0, track_id=7000)
    (item,) = objects_of([child])
    assert item.detection.bounding_box.x_min == 0.12346
    assert (item.id, item.parent_id, item.track_id) == (1, 0, 7000)


def test_numbers_of_numpy_go_on_the_wire_too():
    region = make_region(x=np.float64(0.25), confidence=np.float32(0.5))
    assert json.loads(to_json(objects_of([region])[0]))["detection"]["confidence"] == 0.5


def test_what_an_operator_notes_in_numbers_of_numpy_can_be_a_message():
    made, given = make_region(), make_region()
    made.box, made.label = Box(*np.float32([0.1, 0.2, 0.3, 0.4])), np.str_("ball")
    made.confidence, given.track_id, given.parent_id = np.float16(0.5), np.int64(7), np.uint8(0)
    given.attributes = [answer(np.str_("van"), np.float32(0.25))]
    plain([made], [given])
    first, second = (from_json(to_json(each), Object) for each in objects_of([made, given]))
    assert (first.label, first.confidence, first.box.x_max) == ("ball", 0.5, 0.3)
    assert (second.track_id, second.parent_id, second.answer("type")) == (7, 0, "van")


@pytest.mark.parametrize(
    "wrong",
    [
        {"box": Box(10, 20, 110, 220)},
        {"box": Box(0.6, 0.2, 0.4, 0.8)},
        {"box": Box(0.2, 0.5, 0.4, 0.5)},
        {"track_id": -1},
        {"track_id": "a"},
        {"confidence": float("nan")},
        {"label": "\udcff"},
        {"attributes": [answer("van", 1.5)]},
        {"attributes": [answer(object())]},
    ],
)
def test_what_no_message_can_hold_is_refused_where_it_is_noted(wrong):
    region = make_region()
    for name, value in wrong.items():
        setattr(region, name, value)
    with pytest.raises((ValueError, TypeError)):
        plain([region], [])


def test_a_crowd_that_no_detector_may_report_is_refused():
    crowd = [make_region(id=number) for number in range(1001)]
    plain(crowd[:1000], [])
    with pytest.raises(ValueError, match="1001 regions: 1000 at most"):
        plain(crowd, [])
