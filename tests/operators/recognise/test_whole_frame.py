"""The frame as the one object of a recogniser."""

from __future__ import annotations

import numpy as np

from operators.audits.roles import Roles
from operators.frames.frame import WHOLE
from operators.recognise.classifier import Classifier
from operators.recognise.whole_frame import WholeFrame
from operators.testing import FakeEngine, call, card_of, make_frame, scores
from pipelines.execute.objects import objects_of


def engine(*words: str) -> FakeEngine:
    card = card_of("colour", other_label="blue")
    return FakeEngine(colour=(card, lambda batch: [scores(list(words))]))


async def test_the_frame_is_one_object_with_the_recogniser_s_word() -> None:
    known = engine("red")
    node = WholeFrame("paint", Classifier(known, Roles.of(["colour"], known.card), "paint"))
    await node.prepare()
    regions = (await node.process(make_frame(image=np.full((60, 90, 3), 7, np.uint8)), [], call("colour"))).regions
    (found,) = objects_of(regions)
    assert (found.label, found.detection.label, found.detection.confidence) == ("red", "frame", 1.0)
    assert (regions[0].box, regions[0].node, found.track_id, found.parent_id) == (WHOLE, "paint", None, None)
    assert [(each.name, each.label) for each in found.attributes] == [("paint", "red")]
    assert known.loaded == ["colour"]


async def test_the_network_sees_all_of_the_frame() -> None:
    known = engine("red")
    picture = np.zeros((40, 40, 3), np.uint8)
    picture[:, 20:] = 200
    node = WholeFrame("paint", Classifier(known, Roles.of(["colour"], known.card), "paint", margin=1.0))
    await node.process(make_frame(image=picture), [], call("colour"))
    ((_, batch, _),) = known.asked
    assert batch.shape == (1, 3, 4, 4)
    assert batch[0, 0, 0].tolist() == [0, 0, 200, 200]
