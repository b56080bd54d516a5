from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from onnx import helper

from operators import inference
from operators.base import Handles
from operators.detect.detail.dial import AutoDetail
from operators.detect.detections import Detections, one_per_place, overlaps
from operators.detect.onnx import OnnxDetector, Reported
from operators.frames.frame import Box
from operators.inference import InferenceAround
from operators.testing import FakeEngine, call, card_of, make_frame, make_region
from serving.backend import Backend
from serving.catalogue.lookup import Catalogue
from serving.engines.exits import RowPolicy
from serving.errors import ModelError, TooLate
from serving.graphs.surgery.sizes import Size
from serving.scheduling.limits import NetworkBounds
from serving.scheduling.requests import Urgency
from tests.models import save_graph, write_card, yolox_nano

CARD = {"task": "detect", "classes": ["cat", "dog"], "decoding": {"kind": "ssd"}}
CALL = call("pets", 7.0)


def pets(*items: list[tuple[list[float], float, float]], **changes: Any) -> FakeEngine:
    """A detector that says for each image of a batch: boxes with the scores of cat and dog."""

    def answer(batch: np.ndarray) -> list[np.ndarray]:
        rows = [items[index % len(items)] for index in range(len(batch))]
        boxes = np.array([[box for box, _, _ in row] for row in rows], np.float32)
        scores = np.array([[[cat, dog] for _, cat, dog in row] for row in rows], np.float32)
        return [boxes.reshape(len(batch), -1, 4), scores.reshape(len(batch), -1, 2)]

    return FakeEngine(pets=(card_of("pets", **{**CARD, **changes}), answer))


CAT, DOG = ([0.1, 0.2, 0.3, 0.6], 0.9, 0.0), ([0.5, 0.5, 1.0, 1.0], 0.0, 0.8)


async def test_the_whole_frame_is_searched() -> None:
    engine = pets([CAT, DOG])
    regions = await OnnxDetector(engine, "detect", ["pets"]).process(make_frame(), [], CALL)
    assert [(region.node, region.label, round(region.confidence, 2)) for region in regions] == [
        ("detect", "cat", 0.9),
        ("detect", "dog", 0.8),
    ]
    cat = regions[0].box
    assert (cat.x_min, cat.y_min, cat.x_max, cat.y_max) == pytest.approx((0.1, 0.2, 0.3, 0.6), abs=1e-6)
    assert regions[0].parent_id is None
    ((model, batch, deadline),) = engine.asked
    assert (model, batch.shape, deadline) == ("pets", (1, 3, 4, 4), 7.0)


async def test_what_is_done_around_the_network_is_measured() -> None:
    detector = OnnxDetector(pets([CAT]), "detect", ["pets"])
    assert isinstance(detector, Handles)
    assert detector.handling_s == 0
    await detector.process(make_frame(), [], CALL)
    assert detector.handling_s > 0


def masks(*faces: tuple[int, int]) -> FakeEngine:
    """A detector of faces in 16 × 16 pixels: a face of 8 × 4 pixels at each cell, its landmarks on a diagonal."""
    card = {"input": {"width": 16, "height": 16}, "classes": ["face"], "decoding": {"kind": "centerface"}}

    def answer(batch: np.ndarray) -> list[np.ndarray]:
        outputs = [np.zeros((len(batch), channels, 4, 4), np.float32) for channels in (1, 2, 2, 10)]
        heat, sizes, _, landmarks = outputs
        for row, column in faces:
            heat[:, 0, row, column] = 0.9
        sizes[:, 0] = np.log(2.0)
        landmarks[:] = np.repeat([0.0, 0.25, 0.5, 0.75, 1.5], 2)[:, None, None]
        return outputs

    return FakeEngine(pets=(card_of("pets", task="detect", **card), answer))


async def test_landmarks_are_shares_of_the_frame_and_may_lie_outside_of_it() -> None:
    (face,) = await OnnxDetector(masks((1, 3)), "detect", ["pets"]).process(make_frame(), [], CALL)
    assert face.box == Box(0.75, 0.125, 1.0, 0.625)
    assert face.landmarks == ((0.75, 0.125), (0.8125, 0.25), (0.875, 0.375), (0.9375, 0.5), (1.125, 0.875))


async def test_landmarks_of_a_face_inside_a_region_are_shares_of_the_frame_too() -> None:
    person = make_region(0.5, 0.0, 0.5, 0.5, id=3)
    (face,) = await OnnxDetector(masks((1, 2)), "faces", ["pets"], inside=True).process(make_frame(), [person], CALL)
    assert (face.parent_id, face.box) == (3, Box(0.75, 0.0625, 0.875, 0.3125))
    assert face.landmarks is not None
    assert face.landmarks[2] == (0.8125, 0.1875)


async def test_a_detector_without_landmarks_tells_none() -> None:
    (cat,) = await OnnxDetector(pets([CAT]), "detect", ["pets"]).process(make_frame(), [], CALL)
    assert cat.landmarks is None


async def test_inside_regions_finds_children_of_each_in_one_batch() -> None:
    engine = pets([CAT], [DOG])
    parents = [make_region(0.5, 0.5, 0.5, 0.5, id=3), make_region(0.0, 0.0, 0.5, 0.5, id=5)]
    cat, dog = await OnnxDetector(engine, "faces", ["pets"], inside=True).process(make_frame(), parents, CALL)
    assert [(cat.label, cat.parent_id), (dog.label, dog.parent_id)] == [("cat", 3), ("dog", 5)]
    assert (cat.box.x_min, cat.box.y_max) == pytest.approx((0.55, 0.8), abs=1e-6)
    assert (dog.box.x_min, dog.box.y_max) == pytest.approx((0.25, 0.5), abs=1e-6)
    assert [len(batch) for _, batch, _ in engine.asked] == [2]


async def test_a_crowd_is_looked_into_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = pets([CAT], [DOG])
    monkeypatch.setattr(inference, "INPUT_BYTES", 3 * engine.card("pets").input.width ** 2 * 3 * 4 + 1)
    parents = [make_region(0.1 * place, 0.5, 0.1, 0.5, id=place) for place in range(7)]
    found = await OnnxDetector(engine, "faces", ["pets"], inside=True).process(make_frame(), parents, CALL)
    assert [len(batch) for _, batch, _ in engine.asked] == [3, 3, 1]
    assert sorted((each.parent_id, each.label) for each in found) == [
        (0, "cat"), (1, "dog"), (2, "cat"), (3, "cat"), (4, "dog"), (5, "cat"), (6, "cat"),
    ]  # fmt: skip


async def test_a_crowd_is_looked_into_late_once_a_part_of_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Hurried(pets([CAT]))
    monkeypatch.setattr(inference, "INPUT_BYTES", 3 * engine.card("pets").input.width ** 2 * 3 * 4 + 1)
    parents = [make_region(0.1 * place, 0.5, 0.1, 0.5, id=place) for place in range(7)]
    detector, late = OnnxDetector(engine, "faces", ["pets"], inside=True), call("pets", 0.0)
    ask = replace(late, urgency=replace(late.urgency, droppable=True))
    with pytest.raises(TooLate):
        await detector.process(make_frame(), parents, ask)
    engine.answers = 1
    assert len(await detector.process(make_frame(), parents, ask)) == 7


class Hurried(InferenceAround):
    """Answers so many requests, and later those alone that may not be given up."""

    answers = 0

    async def infer(
        self, model: str, batch: np.ndarray, urgency: Urgency, policy: RowPolicy | None = None
    ) -> list[np.ndarray]:
        self.answers -= 1
        if urgency.droppable and self.answers < 0:
            raise TooLate("it could not be answered in time")
        return await super().infer(model, batch, urgency, policy)


async def test_inside_nothing_nothing_is_asked() -> None:
    engine = pets([CAT])
    assert await OnnxDetector(engine, "faces", ["pets"], inside=True).process(make_frame(), [], CALL) == []
    assert engine.asked == []


@pytest.mark.parametrize(
    ("options", "labels"),
    [
        ({"labels": ["dog"]}, ["dog"]),
        ({"min_confidence": 0.85}, ["cat"]),
        ({"min_confidence": 0.1}, ["cat", "dog", "cat"]),
        ({"max_objects": 1}, ["cat"]),
    ],
)
async def test_options_narrow_what_is_kept(options: dict[str, Any], labels: list[str]) -> None:
    faint = ([0.0, 0.8, 0.1, 0.9], 0.2, 0.0)
    detector = OnnxDetector(pets([DOG, faint, CAT]), "detect", ["pets"], Reported(**options))
    assert [region.label for region in await detector.process(make_frame(), [], CALL)] == labels


@pytest.mark.parametrize(("labels", "kept"), [(None, ["cat"]), (["dog"], ["dog"])])
async def test_one_thing_is_not_two(labels: list[str] | None, kept: list[str]) -> None:
    detector = OnnxDetector(pets([CAT, (CAT[0], 0.0, CAT[1] - 0.1)]), "detect", ["pets"], Reported(labels))
    assert [region.label for region in await detector.process(make_frame(), [], CALL)] == kept


async def test_boxes_stay_in_the_frame_and_what_lies_outside_is_dropped() -> None:
    over, outside = ([-0.2, 0.5, 0.4, 1.7], 0.9, 0.0), ([1.1, 0.1, 1.2, 0.2], 0.9, 0.0)
    (region,) = await OnnxDetector(pets([over, outside]), "detect", ["pets"]).process(make_frame(), [], CALL)
    assert (region.box.x_min, region.box.y_max) == (0.0, 1.0)


async def test_a_letterboxed_network_answers_in_shares_of_the_frame() -> None:
    frame = make_frame(image=np.zeros((100, 200, 3), np.uint8))
    engine = pets([([0.0, 0.0, 1.0, 0.5], 0.9, 0.0)], input={"width": 4, "height": 4, "resize": "letterbox"})
    (region,) = await OnnxDetector(engine, "detect", ["pets"]).process(frame, [], CALL)
    assert region.box == Box(0.0, 0.0, 1.0, 1.0)


async def test_whole_frames_are_given_in_the_input_that_fits_them_and_regions_in_the_networks_own() -> None:
    frame = make_frame(image=np.zeros((100, 200, 3), np.uint8))
    engine = pets([([0.0, 0.0, 1.0, 1.0], 0.9, 0.0)], input={"width": 4, "height": 4, "resize": "letterbox"})
    own = engine.card("pets")
    flat = own.model_copy(update={"input": own.input.model_copy(update={"height": 2})})
    engine.shapes["pets", 200, 100] = flat
    (region,) = await OnnxDetector(engine, "detect", ["pets"]).process(frame, [], CALL)
    await OnnxDetector(engine, "faces", ["pets"], inside=True).process(frame, [make_region(0.0, 0.0, 0.5, 0.5)], CALL)
    assert [batch.shape for _, batch, _ in engine.asked] == [(1, 3, 2, 4), (1, 3, 4, 4)]
    assert region.box == Box(0.0, 0.0, 1.0, 1.0)


async def test_detail_is_asked_of_the_engine() -> None:
    engine = pets([CAT])
    for detail in (None, 544):
        await OnnxDetector(engine, "detect", ["pets"], detail=detail).process(make_frame(), [], CALL)
    assert engine.details == [None, 544]


async def test_a_call_may_ask_for_another_detail() -> None:
    engine = pets([CAT])
    await OnnxDetector(engine, "detect", ["pets"], detail=416).process(make_frame(), [], replace(CALL, detail=832))
    assert engine.details == [832]


async def test_with_auto_every_frame_is_shown_as_much_as_the_square_costs() -> None:
    engine = pets([CAT], input={"width": 416, "height": 416, "resize": "letterbox"})
    frame = make_frame(image=np.zeros((720, 1280, 3), np.uint8))
    for most_cost in (1.0, 2.4):
        await OnnxDetector(engine, "detect", ["pets"], detail=AutoDetail(most_cost)).process(frame, [], CALL)
    assert engine.details == [544, 832]


async def test_a_real_detector_sees_a_camera_without_the_grey_beside_it(tmp_path: Path, data_dir: Path) -> None:
    video = cv2.VideoCapture(str(data_dir / "videos" / "street-level.mp4"))
    video.set(cv2.CAP_PROP_POS_FRAMES, 300)
    picture = cv2.resize(video.read()[1], (768, 432))
    engine = Backend(yolox_nano(tmp_path, data_dir), bounds=NetworkBounds(threads=1), artefacts_dir=tmp_path / "cache")
    await engine.start()
    detector, ask = OnnxDetector(engine, "detect", ["yolox-nano"]), call("yolox-nano", 0.0)
    try:
        found = await detector.process(make_frame(image=picture), [], ask)
        assert (await engine.fitted("yolox-nano", 768, 432)).input.item_shape == (3, 256, 416)
        assert engine.processor_s("yolox-nano") == engine.processor_s("yolox-nano", Size(416, 256))
        assert engine.processor_s("yolox-nano", Size(416, 416)) is None
        square = np.full((768, 768, 3), 114, np.uint8)
        square[:432] = picture
        padded = await detector.process(make_frame(image=square), [], ask)
        assert (await engine.fitted("yolox-nano", 768, 768)).input.item_shape == (3, 416, 416)
        assert engine.processor_s("yolox-nano") == engine.processor_s("yolox-nano", Size(416, 416)) is not None
    finally:
        await engine.stop()
    firm = [region for region in padded if region.confidence >= 0.5]
    assert len(firm) >= 2
    for region in firm:
        box = Box(region.box.x_min, region.box.y_min * 768 / 432, region.box.x_max, region.box.y_max * 768 / 432)
        assert any(near.label == region.label and overlap(box, near.box) > 0.9 for near in found)


def overlap(one: Box, other: Box) -> float:
    corners = [np.array([[box.x_min, box.y_min, box.x_max, box.y_max]]) for box in (one, other)]
    return float(overlaps(*corners)[0, 0])


def test_a_label_the_model_does_not_know_is_refused() -> None:
    with pytest.raises(ModelError, match=r"'pets' does not find 'dgo'; did you mean 'dog'\?"):
        OnnxDetector(pets([CAT]), "detect", ["pets"], Reported(["dgo"]))


def test_a_model_that_is_no_detector_is_refused() -> None:
    engine = FakeEngine(colours=(card_of("colours"), lambda batch: [batch]))
    with pytest.raises(ModelError, match="made to classify, this node needs one that can detect"):
        OnnxDetector(engine, "detect", ["colours"])


async def test_a_card_that_its_network_belies_is_refused_before_the_first_frame() -> None:
    engine = pets([CAT], classes=["cat", "dog", "cow"])
    with pytest.raises(ModelError, match="scores 2 classes, its card lists 3"):
        await OnnxDetector(engine, "detect", ["pets"]).prepare()


async def test_prepare_loads_every_model_that_a_call_may_name() -> None:
    engine = pets([CAT])
    await OnnxDetector(engine, "detect", ["pets"]).prepare()
    assert engine.loaded == ["pets"]


async def test_a_real_ssd_graph_whose_outputs_are_known(tmp_path: Path) -> None:
    """Constant boxes, one per image thanks to Expand; the score is the image's brightness."""
    directory = tmp_path / "bright"
    directory.mkdir()
    nodes = [
        helper.make_node("ReduceMean", ["images"], ["mean"], axes=[1, 2, 3], keepdims=0),
        helper.make_node("Reshape", ["mean", "column"], ["bright"]),
        helper.make_node("Sub", ["one", "bright"], ["dark"]),
        helper.make_node("Concat", ["dark", "bright"], ["scores"], axis=2),
        helper.make_node("Mul", ["bright", "zero"], ["nothing"]),
        helper.make_node("Add", ["nothing", "box"], ["boxes"]),
    ]
    constants = {
        "column": np.array([-1, 1, 1]),
        "one": np.float32(1),
        "zero": np.float32(0),
        "box": np.array([[[0.25, 0.5, 0.75, 1.0]]], np.float32),
    }
    outputs = {"scores": ["N", 1, 2], "boxes": ["N", 1, 4]}
    save_graph(directory / "net.onnx", nodes, outputs, constants=constants)
    size = {"width": 4, "height": 4, "scale": 1 / 255}
    rule = {"kind": "ssd", "background": 0, "box_order": "yxyx"}
    write_card(directory, task="detect", classes=["lamp"], outputs=["boxes", "scores"], input=size, decoding=rule)
    engine = Backend(Catalogue([tmp_path]), bounds=NetworkBounds(threads=1))
    await engine.start()
    detector = OnnxDetector(engine, "detect", ["bright"])
    bright, dark = np.full((10, 20, 3), 230, np.uint8), np.zeros((10, 20, 3), np.uint8)
    (lamp,) = await detector.process(make_frame(image=bright), [], call("bright", 0.0))
    assert await detector.process(make_frame(image=dark), [], call("bright", 0.0)) == []
    await engine.stop()
    assert (lamp.label, round(lamp.confidence, 3)) == ("lamp", 0.902)
    assert lamp.box == Box(0.5, 0.25, 1.0, 0.75)


async def test_many_boxes_are_compared_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    compared, here = list[int](), threading.get_ident()

    def seen(found: Detections, classes: Sequence[str]) -> Detections:
        compared.append(threading.get_ident())
        return one_per_place(found, classes)

    monkeypatch.setattr("operators.detect.onnx.one_per_place", seen)
    for many in (False, True):
        row = [([place / 1000, 0.0, (place + 0.5) / 1000, 0.1], 0.9, 0.0) for place in range(1000 if many else 3)]
        detector = OnnxDetector(pets(row), "detect", ["pets"], Reported(max_objects=5))
        assert len(await detector.process(make_frame(), [], CALL)) == (5 if many else 3)
        assert (compared.pop() != here) == many
