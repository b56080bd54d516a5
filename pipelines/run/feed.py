"""The way of frames into ``local://``: capture threads wait here, so that no log loses what was sampled."""

from __future__ import annotations

import threading
from collections.abc import Collection
from typing import NamedTuple

from operators.frames.codec import JPEG_KEY, as_jpeg, encode_frame
from operators.frames.frame import Frame
from operators.transports.local_broker import LocalBroker
from operators.wire.schema import FRAME_HEADER_KEY, FrameHeader, FrameId, Result, to_json
from pipelines.execute.ahead import in_memory
from pipelines.run.credits import Credits

FRAMES_IN_FLIGHT = 3
"""Per stream, between capture and result: one decoded, one waiting, one analysed. More would only make them older."""
MAX_BYTES = 64 << 20
"""Bound on raw frames in flight where no stream is looked ahead in."""


class _Sent(NamedTuple):
    """A frame in flight: its bytes, and where it lies."""

    size: int
    partition: int
    offset: int


class Feed:
    """Frames sent and not yet answered. ``emit`` and ``drop`` are for capture threads, ``settle`` for the loop."""

    def __init__(
        self, broker: LocalBroker, topic: str, max_bytes: int, ahead: Collection[str] = (), recorded: bool = False
    ) -> None:
        """``ahead``: streams that are looked ahead in, whose frames wait for those behind them.

        ``recorded``: whether frames are kept, so that they go as their JPEGs show them."""
        self._broker = broker
        self._topic = topic
        self._ahead, self._recorded = ahead, recorded
        self._credits = Credits(self._most, max_bytes)
        self._in_flight: dict[FrameId, _Sent] = {}
        self._sending = threading.Lock()

    @property
    def empty(self) -> bool:
        """Whether every frame has its result."""
        return not self._in_flight

    def emit(self, frame: Frame) -> None:
        """Wait until the frame may go, then send its pixels, which must not change any more."""
        if self._recorded:
            frame = as_jpeg(frame)
        size = frame.pixels.nbytes + len(frame.jpeg or b"")
        if self._credits.take(frame.stream, size):
            self._send(*encode_frame(frame, "raw"), size, frame.jpeg)

    def drop(self, header: FrameHeader) -> None:
        """Send the header of a sampled frame for whose image there was no room: it becomes a ``dropped`` result."""
        self._send(header, b"", 0)

    def settle(self, result: Result) -> None:
        """The frame has its result, as all before it in its partition have: the log need not keep them."""
        with self._sending:
            sent = self._in_flight.pop(result.id)
        self._broker.trim((self._topic, sent.partition), sent.offset + 1)
        if sent.size:
            self._credits.give(result.stream, sent.size)

    def close(self) -> None:
        """Let waiting threads go; their frames are not sent."""
        self._credits.close()

    def _most(self, stream: str, size_bytes: int) -> int:
        return max(FRAMES_IN_FLIGHT, in_memory(size_bytes) if stream in self._ahead else 0)

    def _send(self, header: FrameHeader, image: bytes | memoryview, size: int, jpeg: bytes | None = None) -> None:
        headers = ((FRAME_HEADER_KEY, to_json(header)), *(() if jpeg is None else ((JPEG_KEY, jpeg),)))
        with self._sending:
            partition, record = self._broker.append(self._topic, header.stream.encode(), image, headers)
            self._in_flight[header.id] = _Sent(size, partition, record.offset)
