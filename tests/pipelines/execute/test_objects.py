"""From regions to the objects of a result."""

import json

import numpy as np
import pytest

from operators.testing import make_region
from operators.wire.schema import Attribute, Model, to_json
from pipelines.execute.objects import objects_of


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
