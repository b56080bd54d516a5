"""The sending side of capture against a producer that answers as the test says."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from kafka.errors import KafkaTimeoutError, MessageSizeTooLargeError
from kafka.future import Future

from operators.publish.kafka_frames import KafkaFrames
from operators.publish.sending import SILENT_S, CaptureTopics
from operators.testing import make_frame
from operators.wire.schema import FRAME_HEADER_KEY, FrameHeader, StreamStatus, from_json
from serving.common.clock import SYSTEM, Clock
from tests.at_once import AT_ONCE
from tests.fake_clock import FakeClock
from tests.operators.publish.test_frame_buffer import message

WAIT_S = 120.0


class ScriptedProducer:
    """Answers each message by ``answer(topic, value)``: an exception, None for success, or ``...`` for silence."""

    def __init__(self, answer: Callable[[str, bytes], Any]) -> None:
        self.answer = answer
        self.sent: list[tuple[str, bytes, FrameHeader | None, bytes]] = []
        self.silent: list[Future] = []
        self.asked = threading.Semaphore(0)
        """Counts the messages that are left unanswered."""
        self.closed = False

    def send(self, topic: str, value: bytes, key: bytes, headers: list[tuple[str, bytes]] | None = None) -> Future:
        header = from_json(dict(headers)[FRAME_HEADER_KEY], FrameHeader) if headers else None
        future = Future()
        reply = self.answer(topic, value)
        if reply is ...:
            self.silent.append(future)
            self.asked.release()
        elif reply is None:
            self.sent.append((topic, key, header, value))
            future.success(None)
        else:
            future.failure(reply)
        return future

    def flush(self, timeout: float) -> None:
        pass

    def close(self, timeout: float) -> None:
        self.closed = True

    def headers(self) -> list[FrameHeader]:
        return [header for _, _, header, _ in self.sent if header is not None]


@pytest.fixture
def open_frames() -> Iterator[Callable[..., tuple[KafkaFrames, ScriptedProducer]]]:
    opened: list[KafkaFrames] = []

    def open_(
        answer: Callable[[str, bytes], Any], max_bytes: int = 1 << 20, clock: Clock = SYSTEM
    ) -> tuple[KafkaFrames, ScriptedProducer]:
        producer = ScriptedProducer(answer)
        opened.append(KafkaFrames(producer, CaptureTopics("frames.v1", "streams.v1"), max_bytes, AT_ONCE, clock))
        return opened[-1], producer

    yield open_
    for frames in opened:
        frames.give_up_after(0)
        frames.close()


Open = Callable[..., tuple[KafkaFrames, ScriptedProducer]]


def test_frames_go_as_jpeg_under_their_streams_key(open_frames: Open) -> None:
    frames, producer = open_frames(lambda topic, value: None)
    for seq in range(3):
        frames.emit(make_frame(seq=seq, stream="gate"), droppable=False)
    assert frames.drained(WAIT_S)
    assert [header.seq for header in producer.headers()] == [0, 1, 2]
    assert {(topic, key) for topic, key, _, _ in producer.sent} == {("frames.v1", b"gate")}
    assert all(value.startswith(b"\xff\xd8") for _, _, _, value in producer.sent)
    assert frames.close() == 0
    assert producer.closed


def test_a_refused_frame_goes_as_dropped_in_its_place_and_is_told_once(
    open_frames: Open, caplog: pytest.LogCaptureFixture
) -> None:
    frames, producer = open_frames(lambda topic, value: MessageSizeTooLargeError() if len(value) > 5000 else None)
    noise = np.random.default_rng(0).integers(0, 256, (120, 160, 3), np.uint8)
    for seq in range(4):
        frames.emit(make_frame(seq=seq, image=noise if seq in (1, 2) else None), droppable=False)
    assert frames.drained(WAIT_S)
    assert [header.seq for header in producer.headers()] == [0, 1, 2, 3]
    assert [header.cause for header in producer.headers()] == [None, "message_too_large", "message_too_large", None]
    (told,) = (record.getMessage() for record in caplog.records)
    assert "topic frames.v1 accepts" in told
    assert "max.message.bytes" in told


def test_a_topic_too_small_for_a_header_loses_the_frame_and_counts_it(open_frames: Open) -> None:
    frames, _ = open_frames(lambda topic, value: MessageSizeTooLargeError())
    frames.emit(make_frame(), droppable=False)
    assert frames.drained(WAIT_S)
    assert frames.close() == 1


def test_a_failed_frame_is_sent_again_before_the_next(open_frames: Open) -> None:
    replies = iter([KafkaTimeoutError(), KafkaTimeoutError()])
    frames, producer = open_frames(lambda topic, value: next(replies, None))
    for seq in range(3):
        frames.emit(make_frame(seq=seq), droppable=False)
    assert frames.drained(WAIT_S)
    assert [header.seq for header in producer.headers()] == [0, 1, 2]


def test_a_silent_broker_is_told_and_images_go_when_the_buffer_is_full(
    open_frames: Open, caplog: pytest.LogCaptureFixture
) -> None:
    warned = threading.Event()

    def hear(record: logging.LogRecord) -> bool:
        if "does not answer" in record.getMessage():
            warned.set()
        return True

    caplog.handler.addFilter(hear)
    silent, clock = True, FakeClock()
    frames, producer = open_frames(lambda topic, value: ... if silent else None, 20_000, clock)
    frames.emit(make_frame(seq=0), droppable=True)
    producer.asked.acquire()
    clock.advance(SILENT_S + 1)
    for seq in range(1, 12):
        frames.emit(make_frame(seq=seq), droppable=True)
    assert not frames.drained(0)
    assert warned.wait(WAIT_S)
    silent = False
    producer.silent.pop().success(None)
    assert frames.drained(WAIT_S)
    assert [header.seq for header in producer.headers()] == list(range(1, 12))
    causes = [header.cause for header in producer.headers()]
    assert causes.count("capture_buffer_full") == frames.images_dropped > 0
    assert causes[-1] is None
    assert "the broker does not answer" in caplog.text
    assert "the broker answers again" in caplog.text


def test_emit_waits_for_room_where_nothing_may_be_dropped_and_is_let_go_at_the_end(open_frames: Open) -> None:
    frames, producer = open_frames(lambda topic, value: ..., max_bytes=3000)
    emitter = threading.Thread(
        target=lambda: [frames.emit(make_frame(seq=seq), droppable=False) for seq in range(3)], daemon=True
    )
    emitter.start()
    producer.asked.acquire()
    assert emitter.is_alive()
    frames.give_up_after(0.0)
    emitter.join(WAIT_S)
    assert not emitter.is_alive()
    assert frames.drained(WAIT_S)
    assert frames.close() == 3


def test_headers_of_frames_that_capture_dropped_go_as_they_are(open_frames: Open) -> None:
    frames, producer = open_frames(lambda topic, value: None)
    header = message("gate", 0, 10).without_image("capture_overrun").header
    frames.dropped(header)
    assert frames.drained(WAIT_S)
    assert producer.headers() == [header]


def test_states_go_to_their_topic(open_frames: Open) -> None:
    frames, producer = open_frames(lambda topic, value: None)
    at = make_frame().captured_at
    frames.status(StreamStatus(stream="gate", run="run", state="running", uri="file.mp4", at=at))
    assert frames.drained(WAIT_S)
    frames.close()
    (topic, key, _, value), *others = producer.sent
    assert (topic, key, json.loads(value)["state"], others) == ("streams.v1", b"gate", "running", [])


def test_a_slow_broker_is_waited_for_as_long_as_it_answers(open_frames: Open) -> None:
    clock = FakeClock()
    frames, producer = open_frames(lambda topic, value: ..., clock=clock)
    for seq in range(4):
        frames.emit(make_frame(seq=seq), droppable=False)
    frames.give_up_when_silent(1.0)
    for _ in range(4):
        producer.asked.acquire()
        clock.advance(0.9)
        assert not frames.drained(0)
        producer.silent[-1].success(None)
    assert frames.drained(WAIT_S)
    assert frames.close() == 0


def test_a_silent_broker_is_given_up(open_frames: Open) -> None:
    clock = FakeClock()
    frames, _ = open_frames(lambda topic, value: ..., clock=clock)
    frames.emit(make_frame(), droppable=False)
    frames.give_up_when_silent(0.2)
    assert not frames.drained(0)
    clock.advance(0.2)
    assert frames.drained(0)
    assert frames.close() == 1


def test_frames_that_nobody_takes_show_for_how_long(open_frames: Open) -> None:
    silent, clock = True, FakeClock()
    frames, producer = open_frames(lambda topic, value: ... if silent else None, clock=clock)
    assert frames.stuck_s == 0.0
    frames.emit(make_frame(seq=0), droppable=True)
    producer.asked.acquire()
    clock.advance(7)
    assert frames.stuck_s == 7
    silent = False
    producer.silent.pop().success(None)
    assert frames.drained(WAIT_S)
    assert frames.stuck_s == 0.0
