"""The message that announces one sampled frame."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import msgspec

from operators.wire import bounds
from operators.wire.bounds import Id, MediaTime, Milliseconds, Moment, Seq, Side, Text

FRAME_SCHEMA: Final = "sluice.frame/1"
FRAME_HEADER_KEY = "frame"
"""The name of the Kafka header that carries the JSON of a ``FrameHeader`` beside the image bytes."""


class FrameId(NamedTuple):
    """Names one sampled frame."""

    stream: str
    run: str
    seq: int
    """Counts from 0, unbroken within ``run``."""


class FrameInfo(msgspec.Struct, kw_only=True, frozen=True):
    """The frame that a result is about."""

    width: Side
    height: Side
    media_time_s: MediaTime
    captured_at: Moment

    def __post_init__(self) -> None:
        bounds.check(self.captured_at)


class FrameHeader(msgspec.Struct, kw_only=True, frozen=True):
    """Describes the image bytes of one sampled frame. Topic ``frames.v1``, key = stream."""

    schema: Literal["sluice.frame/1"] = FRAME_SCHEMA
    stream: Id
    run: Id
    seq: Seq
    width: Side
    """Pixels of the image in the message."""
    height: Side
    media_time_s: MediaTime
    """Presentation time within the source, seconds from its first frame."""
    captured_at: Moment
    """When the frame was decoded, UTC."""
    encoding: Literal["jpeg", "bgr24", "yuv601", "yuv709", "none"]
    """``bgr24``: raw rows, blue-green-red, one byte each. ``yuv601``, ``yuv709``: raw planes, 4:2:0, in the colours of
    either standard. ``none``: capture had to drop the image; see ``cause``."""
    decode_ms: Milliseconds = 0.0
    """Time that capture spent on decoding and converting this frame."""
    cause: Text | None = None

    def __post_init__(self) -> None:
        bounds.check(self.captured_at)

    @property
    def raw(self) -> bool:
        return self.encoding not in ("jpeg", "none")

    @property
    def id(self) -> FrameId:
        return FrameId(self.stream, self.run, self.seq)

    @property
    def info(self) -> FrameInfo:
        """The part that its result repeats."""
        return FrameInfo(
            width=self.width, height=self.height, media_time_s=self.media_time_s, captured_at=self.captured_at
        )
