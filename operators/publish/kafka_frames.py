"""Sends sampled frames and the states of streams to Kafka, and outlives the broker's absence."""

from __future__ import annotations

import logging
import random
import threading
from collections import deque
from contextlib import suppress

from kafka import KafkaProducer
from kafka.errors import KafkaError, MessageSizeTooLargeError, RecordListTooLargeError

from operators.frames.codec import encode_frame
from operators.frames.frame import Frame
from operators.publish.frame_buffer import FrameBuffer, FrameMessage
from operators.publish.sending import CaptureTopics, Patience, SendLog
from operators.wire.schema import FRAME_HEADER_KEY, FrameHeader, StreamStatus, to_json
from serving.common.clock import SYSTEM, Clock
from serving.common.retrying import BROKER_BACKOFF, Backoff

log = logging.getLogger(__name__)

MAX_STATUSES = 1000
"""States that are kept for an absent broker; the oldest go first, because the topic keeps only the last anyway."""


class KafkaFrames:
    """The sending side of capture, shared by all streams of a process; its methods may be called from any thread.

    Frames wait in a ``FrameBuffer``, whose bound of bytes covers an absent or slow broker; one message of each stream
    is on its way at a time, so nothing overtakes. Frames given as not ``droppable`` make ``emit`` wait for room.
    """

    def __init__(
        self,
        producer: KafkaProducer,
        topics: CaptureTopics,
        max_bytes: int = 64_000_000,
        backoff: Backoff = BROKER_BACKOFF,
        clock: Clock = SYSTEM,
    ) -> None:
        """``producer``: keeps order within a partition, and is not idempotent: a refused message would end it."""
        self._producer, self._topics = producer, topics
        self._backoff, self._rng = backoff, random.Random()
        self._clock = clock
        self._buffer = FrameBuffer(max_bytes)
        self._statuses: deque[StreamStatus] = deque(maxlen=MAX_STATUSES)
        self._changed = threading.Condition()
        self._waits_since = clock.monotonic_s()
        self._patience = Patience(self._waits_since)
        self._log = SendLog(topics.frames, max_bytes)
        self._failures = 0
        self._retry_at = 0.0
        self._closed = False
        self.lost = 0
        """Number of frames that could not be delivered, because the process had to end or the topic takes no header."""
        self._thread = threading.Thread(target=self._work, name="kafka-frames", daemon=True)
        self._thread.start()

    def emit(self, frame: Frame, droppable: bool) -> None:
        """Queue a frame as JPEG; waits until there is room for a frame that is not ``droppable``."""
        header, image = encode_frame(frame)
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
            return self._now() - self._waits_since if len(self._buffer) else 0.0

    def give_up_after(self, seconds: float) -> None:
        """Limit all waiting from now on: of ``emit`` for room, and of ``drained`` for the broker."""
        with self._changed:
            self._patience.end_at(self._now() + seconds)
            self._changed.notify_all()

    def give_up_when_silent(self, seconds: float) -> None:
        """Stop waiting, from now on, once the broker has not answered for this long."""
        with self._changed:
            self._patience.allow_silence(seconds, self._now())

    def drained(self, within_s: float) -> bool:
        """Wait for at most ``within_s``; returns whether everything has been delivered or given up."""
        with self._changed:
            self._changed.wait_for(self._is_idle, min(within_s, max(self._left_s(), 0.0)))
            return self._is_idle() or self._left_s() <= 0

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

    def _now(self) -> float:
        return self._clock.monotonic_s()

    def _left_s(self) -> float:
        return self._patience.left_s(self._now())

    def _is_idle(self) -> bool:
        return len(self._buffer) == 0 and not self._statuses

    def _put(self, message: FrameMessage, droppable: bool) -> None:
        with self._changed:
            before = self.images_dropped
            if not len(self._buffer):
                self._waits_since = self._now()
            while not self._buffer.put(message, droppable):
                if self._left_s() <= 0:
                    self.lost += 1
                    return
                self._changed.wait(min(self._left_s(), 1.0))
            if self.images_dropped > before:
                self._log.buffer_full()
            self._changed.notify_all()

    def _work(self) -> None:
        while (message := self._next()) is not None:
            match message:
                case StreamStatus():
                    self._send_status(message)
                case FrameMessage():
                    self._send_frame(message)

    def _next(self) -> StreamStatus | FrameMessage | None:
        """Wait for a message to send; None at the end."""
        with self._changed:
            while not self._closed:
                if self._statuses:
                    status = self._statuses.popleft()
                    self._changed.notify_all()
                    return status
                if self._now() >= self._retry_at and (message := self._buffer.take()) is not None:
                    self._log.sending(message.header.stream, self._now())
                    return message
                self._changed.wait(0.2 if self._retry_at > self._now() else 1.0)
                self._log.watch(self._patience.answered_at, self._now())
        return None

    def _send_status(self, status: StreamStatus) -> None:
        try:
            self._producer.send(self._topics.streams, value=to_json(status), key=status.stream.encode())
        except KafkaError as error:
            log.warning("stream %s: its state was not published (%s)", status.stream, type(error).__name__)

    def _send_frame(self, message: FrameMessage) -> None:
        stream = message.header.stream
        headers = [(FRAME_HEADER_KEY, to_json(message.header))]
        try:
            future = self._producer.send(self._topics.frames, value=message.image, key=stream.encode(), headers=headers)
        except KafkaError as error:
            self._failed(message, error)
            return
        future.add_callback(lambda _: self._arrived(stream))
        future.add_errback(lambda error: self._failed(message, error))

    def _arrived(self, stream: str) -> None:
        with self._changed:
            self._waits_since = self._now()
            self._patience.answered(self._waits_since)
            self._buffer.sent(stream)
            self._failures = 0
            self._log.ended(stream)
            self._log.answers(self.images_dropped)
            self._changed.notify_all()

    def _failed(self, message: FrameMessage, error: Exception) -> None:
        stream = message.header.stream
        with self._changed:
            self._log.ended(stream)
            if self._closed:
                return
            if isinstance(error, MessageSizeTooLargeError | RecordListTooLargeError):
                self._too_large(message)
            else:
                self._log.refused(error)
                self._buffer.failed(stream)
                self._retry_at = self._now() + self._backoff.delay_s(self._failures, self._rng)
                self._failures += 1
            self._changed.notify_all()

    def _too_large(self, message: FrameMessage) -> None:
        stream = message.header.stream
        self._log.too_large(stream, len(message.image))
        if message.image:
            self._buffer.refused(stream)
        else:
            self._buffer.sent(stream)
            self.lost += 1
