"""Inference over gRPC: answers are those of the same networks here, bit for bit."""

from __future__ import annotations

from pathlib import Path

import cv2
import grpc.aio
import numpy as np
import pytest

from operators.detect.decoding import decode
from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.common.tensors import Array
from serving.preprocess import batch as prepare
from serving.remote.protocol.asked import put_urgency, read_queue
from serving.remote.protocol.parameters import set_parameter, values
from serving.remote.protocol.service import MODEL_INFER
from serving.remote.protocol.wire_card import LEAST_SCORE, wire_card
from serving.scheduling.requests import Urgency
from tests.models import yolox_nano
from tests.serving.remote.server.running import WIRE, Served, asking, means, pictures, served

SOON = Urgency(0.0)


async def both(server: Served, model: str, images: list[Array]) -> tuple[dict[str, Array], list[Array]]:
    """The outputs of a network by a call, and here."""
    card = server.backend.card(model)
    sent, _ = prepare(wire_card(card).input, images)
    here, _ = prepare(card.input, images)
    return await server.infer(asking(model, sent)), await server.backend.infer(model, here, SOON)


async def test_a_classifier_answers_as_it_does_here(tmp_path: Path) -> None:
    images = [*pictures(3, 40, 60)]
    async with served(Catalogue([SHIPPED]), tmp_path) as server:
        found, (wanted, *_) = await both(server, "vehicle-type", images)
    assert next(iter(found.values())).tobytes() == wanted.tobytes()
    assert wanted.shape[0] == 3


def street(data_dir: Path) -> Array:
    video = cv2.VideoCapture(str(data_dir / "videos" / "street-level.mp4"))
    read, image = video.read()
    video.release()
    assert read
    return np.asarray(image, np.uint8)


async def test_a_detector_answers_with_its_boxes_which_read_as_they_do_here(tmp_path: Path, data_dir: Path) -> None:
    images = [street(data_dir), np.zeros((30, 30, 3), np.uint8)]
    async with served(yolox_nano(tmp_path / "models", data_dir), tmp_path) as server:
        card = server.backend.card("yolox-nano")
        found, here = await both(server, "yolox-nano", images)
    assert [*found] == [*wire_card(card).outputs]
    assert found["counts"][0] > 1
    assert found["counts"][1] == 0
    for told, wanted in zip(decode(wire_card(card), [*found.values()]), decode(card, here), strict=True):
        assert told.boxes.tobytes() == wanted.boxes.tobytes()
        assert told.scores.tobytes() == wanted.scores.tobytes()
        assert told.classes.tolist() == wanted.classes.tolist()


async def test_a_detector_takes_rectangles_and_tells_boxes_from_another_score_on(
    tmp_path: Path, data_dir: Path
) -> None:
    image = street(data_dir)
    async with served(yolox_nano(tmp_path / "models", data_dir), tmp_path) as server:
        card = await server.backend.fitted("yolox-nano", image.shape[1], image.shape[0])
        assert card.input.height < card.input.width == 416
        sent, _ = prepare(wire_card(card).input, [image])
        request = asking("yolox-nano", sent)
        set_parameter(request.parameters, LEAST_SCORE, 0.1)
        found = await server.infer(request)
        outputs = await server.backend.infer("yolox-nano", prepare(card.input, [image])[0], SOON)
        (wanted,) = decode(card, outputs, 0.1)
        for height, width in [(250, 417), (32, 416 * 416), (0, 416)]:
            with pytest.raises(grpc.aio.AioRpcError, match="must be uint8 N × 416 × 416 × 3; a detector also takes"):
                await server.infer(asking("yolox-nano", pictures(1, height, width)))
    assert found["boxes"][0].tobytes() == wanted.boxes.tobytes()
    assert found["scores"].min() < card.decoding.min_score  # type: ignore[union-attr]


async def test_outputs_are_those_that_are_asked_for_and_the_queue_is_told(tmp_path: Path) -> None:
    async with means(tmp_path) as server:
        request = asking("means", pictures(2))
        request.id = "seven"
        request.outputs.add(name="means")
        put_urgency(request.parameters, Urgency(5.0, droppable=False, downstream_s=0.1), 4.0)
        answer = await MODEL_INFER.on(server.channel)(request)
    assert (answer.id, answer.model_name, answer.model_version) == ("seven", "means", "1")
    assert read_queue(values(answer.parameters, WIRE)) == 0


async def test_pictures_that_a_network_does_not_take_are_no_load(tmp_path: Path) -> None:
    async with means(tmp_path) as server:
        good, *wrong = (asking("means", pictures(items, side, side)) for items, side in ((2, 4), (5000, 1), (0, 4)))
        for request in (good, *wrong):
            put_urgency(request.parameters, Urgency(5.0), 4.0)
        await server.infer(good)
        for request in wrong:
            with pytest.raises(grpc.aio.AioRpcError, match="must be uint8"):
                await server.infer(request)
        told = server.service._inferences.meter.sessions.values()
        assert [(each.asked, each.served, each.late, each.calls) for each in told] == [(2, 2, 0, 1)]


async def test_pictures_for_which_there_is_no_room_are_load_that_was_not_served(tmp_path: Path) -> None:
    async with means(tmp_path) as server:
        request, answering = asking("means", pictures(2)), server.service._inferences
        put_urgency(request.parameters, Urgency(5.0), 4.0)
        full = answering.admission.room(1, answering.limits.input_bytes)
        with full, pytest.raises(grpc.aio.AioRpcError, match="bytes are in flight"):
            await server.infer(request)
        told = answering.meter.sessions.values()
        assert [(each.asked, each.served, each.late, each.calls) for each in told] == [(2, 0, 2, 1)]


async def test_a_droppable_request_that_is_too_late_is_given_up_and_another_is_answered(tmp_path: Path) -> None:
    async with means(tmp_path) as server:
        for _ in range(5):  # its latency is known from here on
            await server.infer(asking("means", pictures(1)))
        late = asking("means", pictures(1))
        put_urgency(late.parameters, Urgency(1.0, droppable=True), 60.0)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await server.infer(late)
        late.parameters["droppable"].bool_param = False
        assert (await server.infer(late))["means"].shape == (1, 3)
    assert refused.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
