"""Sends sampled frames and the states of streams to Kafka, and outlives the broker's absence."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from kafka.errors import KafkaError, MessageSizeTooLargeError, RecordListTooLargeError

from operators.frames.codec import encode_frame
from operators.frames.frame import Frame
from operators.publish.frame_buffer import FrameBuffer, FrameMessage
from operators.wire.schema import FRAME_HEADER_KEY, FrameHeader, StreamStatus, to_json
from serving.common.backoff import BROKER_BACKOFF, Backoff

log = logging.getLogger(__name__)

MAX_STATUSES = 1000
"""States that are kept for an absent broker; the oldest go first, because the topic keeps only the last anyway."""
SILENT_S = 3.0
"""Age of an unanswered message at which the user is warned."""


class Producer(Protocol):
    """The part of ``kafka.KafkaProducer`` used here.

    It must not be idempotent (a refused message would end it) and keep order within a partition: ``acks="all"`` and
    ``max_in_flight_requests_per_connection=1``.
    """

    def send(self, topic: str, value: bytes, key: bytes, headers: list[tuple[str, bytes]] | None = None) -> Any:
        """Send a message; the future calls back from a thread of the producer."""
        ...

    def flush(self, timeout: float) -> None:
        """Wait until all messages are sent."""
        ...

    def close(self, timeout: float) -> None:
        """Close the producer."""
        ...


class KafkaFrames:
    """The sending side of capture, shared by all streams of a process; its methods may be called from any thread.

    Frames wait in a ``FrameBuffer``, whose bound of bytes covers an absent or slow broker; one message of each stream
    is on its way at a time, so nothing overtakes. Frames given as not ``droppable`` make ``emit`` wait for room.
    """

    def __init__(
        self,
        producer: Producer,
        frames_topic: str,
        streams_topic: str,
        max_bytes: int = 64_000_000,
        backoff: Backoff = BROKER_BACKOFF,
    ) -> None:
        self._producer = producer
        self._frames_topic = frames_topic
        self._streams_topic = streams_topic
        self._buffer = FrameBuffer(max_bytes)
        self._statuses: deque[StreamStatus] = deque(maxlen=MAX_STATUSES)
        self._changed = threading.Condition()
        self._out_since: dict[str, float] = {}
        self._answered_at = self._waits_since = time.monotonic()
        self._backoff, self._rng = backoff, random.Random()
        self._failures = 0
        self._retry_at = 0.0
        self._give_up_at = float("inf")
        self._silence_allowed_s = float("inf")
        self._silent = False
        self._told_full = False
        self._told_too_large: set[str] = set()
        self._closed = False
        self.lost = 0
        """Number of frames that could not be delivered, because the process had to end or the topic takes no header."""
        self._thread = threading.Thread(target=self._work, name="kafka-frames", daemon=True)
        self._thread.start()

    def emit(self, frame: Frame, droppable: bool) -> None:
        """Queue a frame as JPEG; waits until there is room for a frame that is not ``droppable``."""
        header, image = encode_frame(frame, "jpeg")
        self._put(FrameMessage(header, image), droppable)

    def dropped(self, header: FrameHeader) -> None:
        """Queue a frame that capture had to drop: a header without image, with its cause."""
        self._put(FrameMessage(header), droppable=False)

    def status(self, status: StreamStatus) -> None:
        """Queue a change of a stream's state; never waits."""
        with self._changed:
            self._statuses.append(status)
            self._changed.notify_all()

    @property
    def images_dropped(self) -> int:
        """Number of frames that were sent without image because the buffer was full."""
        return self._buffer.images_dropped

    @property
    def stuck_s(self) -> float:
        """Time since the broker last took a frame, while frames wait."""
        with self._changed:
            return time.monotonic() - self._waits_since if len(self._buffer) else 0.0

    def give_up_after(self, seconds: float) -> None:
        """Limit all waiting from now on: of ``emit`` for room, and of ``drained`` for the broker."""
        with self._changed:
            self._give_up_at = min(self._give_up_at, time.monotonic() + seconds)
            self._changed.notify_all()

    def give_up_when_silent(self, seconds: float) -> None:
        """Stop waiting, from now on, once the broker has not answered for this long."""
        with self._changed:
            if self._silence_allowed_s != seconds:
                self._silence_allowed_s = seconds
                self._answered_at = time.monotonic()

    def drained(self, within_s: float) -> bool:
        """Wait for at most ``timeout_s``; returns whether everything has been delivered or given up."""
        with self._changed:
            self._changed.wait_for(self._is_idle, min(within_s, max(self._patience(), 0.0)))
            return self._is_idle() or self._patience() <= 0

    def close(self) -> int:
        """Close, best after ``drained``; returns how many frames were lost."""
        with self._changed:
            self.lost += len(self._buffer)
            self._closed = True
            self._changed.notify_all()
        self._thread.join()
        with suppress(KafkaError):  # frames that do not arrive now are counted already
            self._producer.flush(timeout=1.0)
        with suppress(KafkaError):
            self._producer.close(timeout=1.0)
        return self.lost

    def _put(self, message: FrameMessage, droppable: bool) -> None:
        with self._changed:
            before = self.images_dropped
            if not len(self._buffer):
                self._waits_since = time.monotonic()
            while not self._buffer.put(message, droppable):
                if self._patience() <= 0:
                    self.lost += 1
                    return
                self._changed.wait(min(self._patience(), 1.0))
            if not self._told_full and self.images_dropped > before:
                self._told_full = True
                log.warning("the buffer for frames is full: the oldest lose their images (capture_buffer_full)")
            self._changed.notify_all()

    def _is_idle(self) -> bool:
        return len(self._buffer) == 0 and not self._statuses

    def _patience(self) -> float:
        return min(self._give_up_at, self._answered_at + self._silence_allowed_s) - time.monotonic()

    def _work(self) -> None:
        while (job := self._next_job()) is not None:
            job()

    def _next_job(self) -> Callable[[], None] | None:
        """Wait for a message to send; None at the end."""
        with self._changed:
            while not self._closed:
                if self._statuses:
                    status = self._statuses.popleft()
                    self._changed.notify_all()
                    return lambda: self._send_status(status)
                if time.monotonic() >= self._retry_at and (message := self._buffer.take()) is not None:
                    self._out_since[message.header.stream] = time.monotonic()
                    return lambda: self._send_frame(message)
                self._changed.wait(0.2 if self._retry_at > time.monotonic() else 1.0)
                self._watch_silence()
        return None

    def _send_status(self, status: StreamStatus) -> None:
        try:
            self._producer.send(self._streams_topic, value=to_json(status), key=status.stream.encode())
        except KafkaError as error:
            log.warning("stream %s: its state was not published (%s)", status.stream, type(error).__name__)

    def _send_frame(self, message: FrameMessage) -> None:
        stream = message.header.stream
        headers = [(FRAME_HEADER_KEY, to_json(message.header))]
        try:
            future = self._producer.send(self._frames_topic, value=message.image, key=stream.encode(), headers=headers)
        except KafkaError as error:
            self._failed(message, error)
            return
        future.add_callback(lambda _: self._arrived(stream))
        future.add_errback(lambda error: self._failed(message, error))

    def _arrived(self, stream: str) -> None:
        with self._changed:
            self._out_since.pop(stream, None)
            self._answered_at = self._waits_since = time.monotonic()
            self._buffer.sent(stream)
            self._failures = 0
            if self._silent:
                log.warning("the broker answers again; frames without image so far: %d", self.images_dropped)
                self._silent = self._told_full = False
            self._changed.notify_all()

    def _failed(self, message: FrameMessage, error: Exception) -> None:
        stream = message.header.stream
        with self._changed:
            self._out_since.pop(stream, None)
            if self._closed:
                return
            if isinstance(error, MessageSizeTooLargeError | RecordListTooLargeError):
                self._too_large(message)
            else:
                self._log_silence(f"takes no frames ({type(error).__name__})")
                self._buffer.failed(stream)
                self._retry_at = time.monotonic() + self._backoff.delay_s(self._failures, self._rng)
                self._failures += 1
            self._changed.notify_all()

    def _too_large(self, message: FrameMessage) -> None:
        stream = message.header.stream
        if stream not in self._told_too_large:
            self._told_too_large.add(stream)
            log.warning(
                "stream %s: a frame of %d bytes is larger than topic %s accepts and goes without its image "
                "(message_too_large): raise the topic's max.message.bytes (`sluice topics create --update`) or lower "
                "the stream's max_width",
                *(stream, len(message.image), self._frames_topic),
            )
        if message.image:
            self._buffer.refused(stream)
        else:
            self._buffer.sent(stream)
            self.lost += 1

    def _watch_silence(self) -> None:
        since = max(self._answered_at, min(self._out_since.values(), default=float("inf")))
        if time.monotonic() - since > SILENT_S:
            self._log_silence("does not answer")

    def _log_silence(self, how: str) -> None:
        """Log once for each absence of the broker."""
        if not self._silent:
            self._silent = True
            log.warning("the broker %s: frames wait in a buffer of %d MB", how, self._buffer.max_bytes // 1_000_000)
