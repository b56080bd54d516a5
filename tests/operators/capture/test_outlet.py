from __future__ import annotations

import threading
from datetime import UTC, datetime

import numpy as np
import pytest

from operators.capture.outlet import MOST_WAITING, Blocking, Newest
from operators.frames.frame import Frame, frame_of
from operators.wire.schema import FrameId


def frame(seq: int) -> Frame:
    return frame_of(FrameId("s", "r", seq), np.zeros((4, 6, 3), np.uint8), seq / 10, datetime.now(UTC), 1.5)


class SlowConsumer:
    """Holds each frame until it is let go."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, int]] = []
        self.entered = threading.Semaphore(0)
        self.go = threading.Semaphore(0)

    def emit(self, frame: Frame) -> None:
        self.entered.release()
        assert self.go.acquire(timeout=120)
        self.seen.append(("frame", frame.seq))


def test_frames_that_come_at_once_wait_for_each_other() -> None:
    consumer = SlowConsumer()
    outlet = Newest(consumer.emit, lambda header: pytest.fail("there is room for it"))
    outlet.put(frame(0))
    assert consumer.entered.acquire(timeout=120)
    for seq in range(1, 1 + MOST_WAITING):
        outlet.put(frame(seq))
    consumer.go.release(1 + MOST_WAITING)
    outlet.close()
    assert consumer.seen == [("frame", seq) for seq in range(1 + MOST_WAITING)]


def test_newest_replaces_and_accounts_for_every_frame() -> None:
    consumer = SlowConsumer()
    headers = []
    outlet = Newest(
        consumer.emit, lambda header: (headers.append(header), consumer.seen.append(("drop", header.seq)))[1]
    )
    outlet.put(frame(0))
    assert consumer.entered.acquire(timeout=120)
    for seq in range(1, 3 + MOST_WAITING):
        outlet.put(frame(seq))
    consumer.go.release(1 + MOST_WAITING)
    outlet.close()
    kept = [("frame", seq) for seq in range(3, 3 + MOST_WAITING)]
    assert consumer.seen == [("frame", 0), ("drop", 1), ("drop", 2), *kept]
    assert (headers[0].encoding, headers[0].cause) == ("none", "capture_overrun")
    assert (headers[0].width, headers[0].height, headers[0].media_time_s, headers[0].decode_ms) == (6, 4, 0.1, 1.5)


def test_close_without_a_frame_returns() -> None:
    emitted: list[Frame] = []
    Newest(emitted.append, lambda header: pytest.fail("nothing was put")).close()
    assert emitted == []


def test_what_the_consumer_raises_comes_back() -> None:
    def fail(frame: Frame) -> None:
        raise OSError("disk full")

    outlet = Newest(fail, lambda header: None)
    outlet.put(frame(0))
    with pytest.raises(OSError, match="disk full"):
        outlet.close()
    with pytest.raises(OSError, match="disk full"):
        outlet.put(frame(1))
    with pytest.raises(OSError, match="disk full"):
        Blocking(fail).put(frame(0))
