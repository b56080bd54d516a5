"""The way of frames into ``local://``: how many may be in flight, and what the log keeps of them."""

from __future__ import annotations

import threading

import cv2
import numpy as np

from operators.frames.codec import JPEG_KEY, read_header
from operators.testing.builders import make_frame
from operators.transports.local_broker import LocalBroker
from operators.wire.schema import FrameInfo, Plan, Result
from pipelines.execute.ahead import FRAMES_AHEAD
from pipelines.run.feed import Feed

IMAGE = np.zeros((8, 8, 3), np.uint8)


def result(broker: LocalBroker, seq: int) -> Result:
    (record,) = broker.read("test", ("frames", 0), seq, 1)
    header = read_header(record.headers)
    info = FrameInfo(width=8, height=8, media_time_s=header.media_time_s, captured_at=header.captured_at)
    plan = Plan(slo_ms=1.0, deadline_met=True, latency_ms=1.0)
    return Result(
        stream=header.stream, run=header.run, seq=header.seq, query="q", frame=info, outcome="analysed", plan=plan
    )


def opened(max_bytes: int = 1 << 20, ahead: tuple[str, ...] = ("far",)) -> tuple[LocalBroker, Feed]:
    broker = LocalBroker()
    broker.create_topic("frames", max_bytes=max_bytes)
    return broker, Feed(broker, "frames", max_bytes, ahead)


def test_what_is_answered_leaves_the_log_and_makes_room() -> None:
    broker, feed = opened()
    for seq in range(3):
        feed.emit(make_frame(seq, seq / 10, IMAGE, "near"))
    results = [result(broker, seq) for seq in range(3)]
    feed.settle(results[0])
    feed.settle(results[1])
    assert (broker.start(("frames", 0)), broker.end(("frames", 0))) == (2, 3)
    assert not feed.empty
    feed.settle(results[2])
    assert feed.empty
    assert broker.start(("frames", 0)) == 3


def test_a_stream_that_is_looked_ahead_in_may_have_many_frames_in_flight() -> None:
    broker, feed = opened()

    def emit() -> None:
        for seq in range(FRAMES_AHEAD):
            feed.emit(make_frame(seq, seq / 10, IMAGE, "far"))

    thread = threading.Thread(target=emit, daemon=True)
    thread.start()
    thread.join(30)
    assert broker.end(("frames", 0)) == FRAMES_AHEAD


def test_frames_that_are_recorded_go_with_the_jpeg_that_they_were() -> None:
    broker = LocalBroker()
    broker.create_topic("frames", max_bytes=1 << 20)
    noise = np.random.default_rng(1).integers(0, 255, (8, 8, 3), np.uint8)
    Feed(broker, "frames", 1 << 20, recorded=True).emit(make_frame(0, 0.0, noise, "near"))
    (record,) = broker.read("test", ("frames", 0), 0, 1)
    jpeg = dict(record.headers)[JPEG_KEY]
    assert jpeg is not None
    shown = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
    assert bytes(record.value or b"") == shown.tobytes()
    assert shown.tobytes() != noise.tobytes()
