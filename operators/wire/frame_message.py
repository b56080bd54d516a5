"""The message that announces one sampled frame; and a JPEG's size, its scans, and whether its end is there, read
without decoding it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from operators.wire import bounds
from operators.wire.bounds import FrameRate, Id, MediaTime, Milliseconds, Moment, Seq, Side, Text

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
    sample_fps: FrameRate | UnsetType = UNSET
    """The rate to which capture has thinned the frames of the run; left out where it has not."""
    motion_gate: bool | UnsetType = UNSET
    """True where capture has left out frames in which nothing moved. Else left out."""

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


_FILLING = re.compile(rb"\xff+(?=\xff)")
"""Any marker may have more such bytes before it (B.1.1.2)."""
_START_OF_SCAN = 0xDA
_WITHOUT_LENGTH = {0x01, *range(0xD0, 0xD9)}
_START_OF_FRAME = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}  # less Huffman tables, extensions, arithmetic conditioning


@dataclass(frozen=True, slots=True)
class JpegInfo:
    """Pixels by the frame header; ``complete`` where the end-of-image marker follows the first scan."""

    width: int
    height: int
    complete: bool
    scans: int
    """At least as many as a decoder will find: also counted are the marker's two bytes where they are other data."""


def inspect_jpeg(data: bytes) -> JpegInfo:
    """Read the markers up to the first scan (ITU-T T.81, annex B); raises ``ValueError`` where it is no JPEG."""
    if data[:2] != b"\xff\xd8":
        raise ValueError("no JPEG start marker")
    width = height = 0
    at = 2
    while True:
        if filling := _FILLING.match(data, at):
            at = filling.end()
        marker, length = _segment(data, at)
        if marker in _START_OF_FRAME:
            height = int.from_bytes(data[at + 5 : at + 7])
            width = int.from_bytes(data[at + 7 : at + 9])
        if marker == _START_OF_SCAN:
            break
        at += 2 + length
    if not (width and height):
        raise ValueError("no image size before the first scan")
    # Inside a scan every 0xFF is followed by 0x00 or a restart marker, so these two bytes end an image.
    complete = data.find(b"\xff\xd9", at + 2 + length) >= 0
    return JpegInfo(width, height, complete, scans=data.count(b"\xff\xda", at))


def _segment(data: bytes, at: int) -> tuple[int, int]:
    """The marker at a position and the bytes after it that belong to it."""
    header = data[at : at + 4]
    if len(header) < 4 or header[0] != 0xFF:
        raise ValueError(f"no JPEG marker at byte {at}")
    if header[1] in _WITHOUT_LENGTH:
        return header[1], 0
    length = int.from_bytes(header[2:4])
    if length < 2:
        raise ValueError(f"a JPEG segment of {length} bytes at byte {at}")
    return header[1], length
