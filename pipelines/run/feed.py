"""The way of frames into ``local://``: capture threads wait here, so that no log loses what was sampled."""

from __future__ import annotations

from operators.frames.codec import encode_frame
from operators.frames.frame import Frame
from operators.transports.local_broker import LocalBroker
from operators.wire.schema import FRAME_HEADER_KEY, FrameHeader, Result, to_json
from pipelines.run.credits import Credits

FRAMES_IN_FLIGHT = 3
"""Per stream, between capture and result: one decoded, one waiting, one analysed. More would only make them older."""
MAX_BYTES = 64 << 20
"""Bound on raw frames in flight; a partition's log must hold as much."""


class Feed:
    """Frames sent and not yet answered. ``emit`` and ``drop`` are for capture threads, ``settle`` for the loop."""

    def __init__(self, broker: LocalBroker, topic: str) -> None:
        self._broker = broker
        self._topic = topic
        self._credits = Credits(FRAMES_IN_FLIGHT, MAX_BYTES)
        self._in_flight: dict[tuple[str, str, int], int] = {}

    @property
    def empty(self) -> bool:
        """Whether every frame has its result."""
        return not self._in_flight

    def emit(self, frame: Frame) -> None:
        """Wait until the frame may go, then send its pixels, which must not change any more."""
        size = frame.image.nbytes
        if self._credits.take(frame.stream, size):
            self._send(*encode_frame(frame, "bgr24"), size)

    def drop(self, header: FrameHeader) -> None:
        """Send the header of a sampled frame for whose image there was no room: it becomes a ``dropped`` result."""
        self._send(header, b"", 0)

    def settle(self, result: Result) -> None:
        """The frame has its result."""
        size = self._in_flight.pop((result.stream, result.run, result.seq))
        if size:
            self._credits.give(result.stream, size)

    def close(self) -> None:
        """Let waiting threads go; their frames are not sent."""
        self._credits.close()

    def _send(self, header: FrameHeader, image: bytes | memoryview, size: int) -> None:
        self._in_flight[header.stream, header.run, header.seq] = size
        self._broker.append(self._topic, header.stream.encode(), image, ((FRAME_HEADER_KEY, to_json(header)),))
