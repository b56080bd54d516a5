"""A stream is shown more once the wider network is there, and what it costs is measured."""

from __future__ import annotations

import asyncio
import logging

import numpy as np
import pytest

from operators.detect.detail.dial import LEAST_FRAMES, AutoDetail, DetectorUse
from operators.detect.detail.stream import StreamDetail
from operators.frames.frame import Frame
from operators.testing import FakeEngine, card_of, make_frame
from serving.catalogue.cards import ModelCard
from serving.errors import ModelError
from serving.loading.rectangles import rectangle

CARD = {"task": "detect", "decoding": {"kind": "yolox"}, "input": {"width": 416, "height": 416, "resize": "letterbox"}}
DETECTION_S = 0.01


class Shapes(FakeEngine):
    """Takes pictures of all shapes, the wider ones once it ``may_load``."""

    def __init__(self, widest: int = 2048) -> None:
        super().__init__(net=(card_of("net", **CARD), lambda batch: []))
        self.may_load, self.widest = asyncio.Event(), widest
        self.may_load.set()
        self.costs_s["net"] = DETECTION_S

    async def fitted(self, model: str, width: int, height: int, detail: int | None = None) -> ModelCard:
        self.details.append(detail)
        card = self.card(model)
        if detail and detail > card.input.width:
            await self.may_load.wait()
            detail = detail if detail <= self.widest else None
        size = rectangle(card.input, width, height, 32, detail)
        shown = {} if size is None else size._asdict()
        return card.model_copy(update={"input": card.input.model_copy(update=shown)})


def frame(width: int = 1280, height: int = 720) -> Frame:
    return make_frame(image=np.zeros((height, width, 3), np.uint8))


async def quiet(stream: StreamDetail, frames: int, runs: int = 0) -> None:
    """Frames of which so many in all are detected."""
    for number in range(frames):
        stream.used("cam", DetectorUse(1, int(number < runs), 0.0), DETECTION_S)
        await stream.begin(frame())
        await asyncio.sleep(0)


async def begun(engine: FakeEngine, most_cost: float = 1.0) -> StreamDetail:
    stream = StreamDetail(AutoDetail(most_cost), engine, "net")
    await stream.begin(frame())
    return stream


async def test_frames_go_on_with_what_is_there_while_the_wider_network_is_loaded(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    engine = Shapes()
    engine.may_load.clear()
    stream = await begun(engine)
    await quiet(stream, 3 * LEAST_FRAMES)
    assert (stream.detail, engine.details) == (416, [416, 832]), "it is loaded once"
    engine.may_load.set()
    await quiet(stream, 2)
    assert stream.detail == 832
    assert caplog.messages == [
        "stream cam: net is shown 832 pixels in place of 416: that is the widest that it takes of such pictures"
    ]
    await stream.close(1.0)


async def test_a_network_that_takes_no_more_is_not_asked_again() -> None:
    engine = Shapes(widest=640)
    stream = await begun(engine)
    await quiet(stream, 3 * LEAST_FRAMES)
    assert (stream.detail, engine.details) == (640, [416, 832, 640])


async def test_one_that_cannot_be_loaded_says_so_and_the_stream_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    class Refuses(Shapes):
        async def fitted(self, model: str, width: int, height: int, detail: int | None = None) -> ModelCard:
            if detail == 416:
                return await super().fitted(model, width, height, detail)
            raise ModelError("no room")

    stream = await begun(Refuses())
    await quiet(stream, 3 * LEAST_FRAMES)
    assert stream.detail == 416
    assert [record.message for record in caplog.records] == [
        f"net is not shown more than {least} pixels: no room" for least in (640, 544, 416)
    ]


async def test_what_a_wider_network_takes_is_measured_and_believed_within_limits() -> None:
    engine = Shapes()
    stream = await begun(engine)
    await quiet(stream, 2)
    assert stream.network_s == DETECTION_S
    for takes_s, ratio in ((0.03, 1.0), (0.028, 0.933), (0.3, 1.25), (0.001, 0.8)):
        fresh = await begun(engine)
        engine.costs_s["net+640x384"] = 640 * 384 / (416 * 256) * 0.01 * (takes_s / 0.03)
        fresh.used("cam", DetectorUse(1, 1, 0.0), DETECTION_S)
        squares = [price.squares for price in fresh._prices()]
        assert squares[2] == pytest.approx(ratio * 640 * 384 / 416**2, rel=1e-3)


async def test_as_long_as_a_width_is_not_measured_its_time_follows_from_its_pixels() -> None:
    engine = Shapes()
    engine.costs_s = {"net+416x256": 0.01}
    stream = await begun(engine)
    assert stream.network_s is None
    await quiet(stream, 2 * LEAST_FRAMES)
    assert stream.detail == 832
    assert stream.network_s == pytest.approx(0.01 * 832 * 480 / (416 * 256))
    engine.costs_s["net+832x480"] = 0.05
    assert stream.network_s == 0.05


async def test_a_picture_of_another_size_begins_anew() -> None:
    stream = await begun(Shapes())
    await quiet(stream, 2 * LEAST_FRAMES)
    assert stream.detail == 832
    await stream.begin(frame(640, 480))
    assert stream.detail == 416
    plan = stream.plan()
    assert plan is not None
    assert (plan.width, plan.height, plan.widest) == (416, 320, 640)


async def test_a_deadline_that_was_missed_is_told_and_the_next_frame_is_shown_less(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    stream = await begun(Shapes())
    await quiet(stream, 2 * LEAST_FRAMES)
    with stream.timed("cam", None):
        pass
    assert stream.detail == 832, "where nothing is late, nothing is missed"
    with stream.timed("cam", -1.0):
        pass
    assert stream.detail == 416
    assert caplog.messages[-1] == (
        "stream cam: net is shown 416 pixels in place of 832: a wider one took too long; "
        "it is tried again after 250 frames"
    )


async def test_the_plan_says_what_is_shown_what_it_costs_and_why() -> None:
    stream = await begun(Shapes(), most_cost=0.5)
    first = stream.plan()
    assert first is not None
    assert (first.width, first.height, first.widest, first.cost, first.compared) == (416, 256, 832, None, None)
    await quiet(stream, 400, runs=120)
    stream.compared(416, 0.5)
    stream.compared(416, 0.7)
    plan = stream.plan()
    assert plan is not None
    assert (plan.compared, plan.agreement, plan.audits, plan.most_cost) == (416, 0.6, 2, 0.5)
    assert plan.cost is not None
    assert 0 < plan.cost <= 0.5
    assert plan.reason
    stream.compared(544, 1.0)
    again = stream.plan()
    assert again is not None
    assert (again.compared, again.agreement, again.audits) == (544, 1.0, 1)


async def test_audits_compare_the_widest_with_what_is_shown_or_without_detail() -> None:
    engine = Shapes()
    engine.costs_s = {"net+416x256": 0.01}
    stream = await begun(engine)
    assert (stream.other, stream.other_runs) == (832, pytest.approx(832 * 480 / (416 * 256)))
    await quiet(stream, 2 * LEAST_FRAMES)
    assert (stream.other, stream.other_runs) == (416, pytest.approx(416 * 256 / (832 * 480)))
    small = StreamDetail(AutoDetail(), Shapes(), "net")
    await small.begin(frame(320, 180))
    assert small.other is None
