"""The way of frames from capture threads to the loop: how many may be in flight, and what they look like."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import cv2
import numpy as np

from operators.frames.codec import dropped_header
from operators.testing.builders import make_frame
from pipelines.execute.ahead import FRAMES_AHEAD
from pipelines.run.feed import FRAMES_IN_FLIGHT, Feed, Sampled
from serving.common.clock import SystemClock

IMAGE = np.zeros((8, 8, 3), np.uint8)


class Hands(SystemClock):
    """A clock that is moved by hand."""

    now_s = 0.0

    def monotonic_s(self) -> float:
        return self.now_s


async def taken(count: int, found: list[Sampled]) -> None:
    async with asyncio.timeout(120):
        while len(found) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def emitted(feed: Feed, stream: str, count: int) -> None:
    """From a thread, as capture does it."""
    await asyncio.to_thread(lambda: [feed.emit(make_frame(seq, seq / 10, IMAGE, stream)) for seq in range(count)])


def in_a_thread(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


async def test_frames_come_in_order_and_are_in_flight_until_they_are_answered() -> None:
    found = list[Sampled]()
    feed = Feed(found.append, 1 << 20)
    await emitted(feed, "near", 3)
    await taken(3, found)
    assert [each.header.seq for each in found] == [0, 1, 2]
    emptied = asyncio.ensure_future(feed.emptied())
    for each in found:
        await asyncio.sleep(0)
        assert not emptied.done()
        feed.answered(each)
    await asyncio.wait_for(emptied, 120)


async def test_capture_waits_until_a_frame_in_flight_has_its_result() -> None:
    found = list[Sampled]()
    feed = Feed(found.append, 1 << 20)
    await emitted(feed, "near", FRAMES_IN_FLIGHT)
    thread = in_a_thread(lambda: feed.emit(make_frame(3, 0.3, IMAGE, "near")))
    await taken(FRAMES_IN_FLIGHT, found)
    await asyncio.sleep(0.05)
    assert len(found) == FRAMES_IN_FLIGHT
    feed.answered(found[0])
    await taken(FRAMES_IN_FLIGHT + 1, found)
    thread.join(120)


async def test_a_thread_that_waits_is_let_go_when_the_feed_closes_and_its_frame_is_not_sent() -> None:
    found = list[Sampled]()
    feed = Feed(found.append, 1 << 20)
    await emitted(feed, "near", FRAMES_IN_FLIGHT)
    thread = in_a_thread(lambda: feed.emit(make_frame(3, 0.3, IMAGE, "near")))
    feed.close()
    await asyncio.to_thread(thread.join, 10)
    assert not thread.is_alive()
    await asyncio.sleep(0)
    assert len(found) == FRAMES_IN_FLIGHT


async def test_frames_without_room_go_as_headers_and_take_no_credit() -> None:
    found = list[Sampled]()
    feed = Feed(found.append, 1 << 20)
    lost = [dropped_header(make_frame(seq, 0.0, IMAGE, "near"), "capture_overrun") for seq in range(5)]
    await asyncio.to_thread(lambda: [feed.drop(header) for header in lost])
    await emitted(feed, "near", FRAMES_IN_FLIGHT)
    await taken(5 + FRAMES_IN_FLIGHT, found)
    assert [each.frame is None for each in found] == [True] * 5 + [False] * FRAMES_IN_FLIGHT
    for each in found:
        feed.answered(each)
    await asyncio.wait_for(feed.emptied(), 10)


async def test_a_stream_that_is_looked_ahead_in_may_have_many_frames_in_flight() -> None:
    found = list[Sampled]()
    feed = Feed(found.append, 1 << 20, ahead=("far",))
    async with asyncio.timeout(120):
        await emitted(feed, "far", FRAMES_AHEAD)
        await taken(FRAMES_AHEAD, found)


async def test_frames_that_are_recorded_go_with_the_jpeg_that_they_were() -> None:
    found = list[Sampled]()
    noise = np.random.default_rng(1).integers(0, 255, (8, 8, 3), np.uint8)
    Feed(found.append, 1 << 20, recorded=True).emit(make_frame(0, 0.0, noise, "near"))
    await taken(1, found)
    frame = found[0].frame
    assert frame is not None
    assert frame.jpeg is not None
    shown = cv2.imdecode(np.frombuffer(frame.jpeg, np.uint8), cv2.IMREAD_COLOR)
    assert frame.image.tobytes() == shown.tobytes() != noise.tobytes()


async def test_it_says_for_how_long_frames_in_flight_have_not_moved() -> None:
    found, clock = list[Sampled](), Hands()
    feed = Feed(found.append, 1 << 20, clock=clock)
    clock.now_s += 100.0
    assert feed.stands_s == 0.0
    await emitted(feed, "near", 2)
    await taken(2, found)
    clock.now_s += 5.0
    assert feed.stands_s == 5.0
    feed.answered(found[0])
    assert feed.stands_s == 0.0
    clock.now_s += 3.0
    assert feed.stands_s == 3.0
    feed.answered(found[1])
    assert feed.stands_s == 0.0
