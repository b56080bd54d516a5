"""Frames on and off the wire: a ``FrameHeader`` beside image bytes. Images are bounded before they are decoded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import cv2
import msgspec
import numpy as np

from operators.frames.frame import Frame
from operators.frames.image_limits import scan_fault, size_fault
from operators.frames.planes import Encoding, Pixels, size_bytes, viewed
from operators.wire.bounds import TEXT_CHARS
from operators.wire.jpeg import JpegInfo, inspect_jpeg
from operators.wire.schema import FRAME_HEADER_KEY, FRAME_SCHEMA, FrameHeader, from_json
from serving.common.tensors import Image
from serving.common.untrusted import printable, shortened
from serving.errors import Malformed, SluiceError

JPEG_QUALITY = 85
KEPT_QUALITY = 95
"""In recordings: what a network finds in the picture should be nearly what it finds in the source."""

MAX_HEADER_BYTES = 32 << 10
"""Largest frame header, with every field as long as it may be."""

Headers = Iterable[tuple[str, bytes | None]]
"""Headers of a message: Kafka allows empty ones, and several of one name."""
FrameFault = Literal["bad_header", "wrong_schema", "undecodable_image", "image_too_large"]


class FrameError(SluiceError):
    """A frame message cannot be read; ``reason`` is the code of its dead letter."""

    def __init__(self, reason: FrameFault, message: str) -> None:
        super().__init__(message)
        self.reason: FrameFault = reason


class _SchemaOnly(msgspec.Struct):
    schema: str


def dropped_header(frame: Frame, cause: str) -> FrameHeader:
    return msgspec.structs.replace(frame.header, encoding="none", cause=shortened(cause, TEXT_CHARS))


def encode_frame(frame: Frame) -> tuple[FrameHeader, bytes]:
    return msgspec.structs.replace(frame.header, encoding="jpeg"), _encode_jpeg(frame.image, JPEG_QUALITY)


def as_jpeg(frame: Frame) -> Frame:
    """The frame as it is once it has been a JPEG, for recordings: so what is analysed is what is kept. Milliseconds."""
    jpeg = _encode_jpeg(frame.image, KEPT_QUALITY)
    return Frame(frame.header, _decode_jpeg(frame.header, jpeg), jpeg)


def read_header(headers: Headers) -> FrameHeader:
    """The frame header among a message's headers; raises ``FrameError`` (``bad_header``, ``wrong_schema``)."""
    raw = _the_only([value for name, value in headers if name == FRAME_HEADER_KEY])
    try:
        return from_json(raw, FrameHeader)
    except Malformed as error:
        raise _explain(raw, error) from None


def _the_only(found: Sequence[bytes | None]) -> bytes:
    """Return the only frame header: two headers may contradict each other."""
    if len(found) != 1:
        many = f"{len(found)} headers" if found else "no header"
        raise FrameError("bad_header", f"the message has {many} {FRAME_HEADER_KEY!r}")
    raw = found[0] or b""
    if not raw or len(raw) > MAX_HEADER_BYTES:
        raise FrameError("bad_header", f"the header {FRAME_HEADER_KEY!r} is {_size(raw)}")
    return raw


def _size(raw: bytes) -> str:
    return f"of {len(raw)} bytes, beyond {MAX_HEADER_BYTES}" if raw else "empty"


def decode_frame(header: FrameHeader, data: bytes) -> Frame:
    """The frame of a message; raises ``FrameError``. A JPEG takes milliseconds: call it in a thread."""
    if header.encoding != "jpeg":
        return Frame(header, _view(header, data))
    return Frame(header, _decode_jpeg(header, data), data)


def _explain(raw: bytes, error: Malformed) -> FrameError:
    try:
        schema = from_json(raw, _SchemaOnly).schema
    except Malformed:
        schema = FRAME_SCHEMA  # unreadable in any version
    if schema != FRAME_SCHEMA:
        schema = printable(schema, 40)
        return FrameError("wrong_schema", f"the frame has schema {schema!r}, this worker reads {FRAME_SCHEMA!r}")
    return FrameError("bad_header", f"the header {FRAME_HEADER_KEY!r} is wrong: {error}")


def _encode_jpeg(image: Image, quality: int) -> bytes:
    encoded, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not encoded:
        raise FrameError("undecodable_image", f"an image of shape {image.shape} cannot become a JPEG")
    return bytes(data)


def _decode_jpeg(header: FrameHeader, data: bytes) -> Image:
    try:
        info = inspect_jpeg(data)
    except ValueError as error:
        raise FrameError("undecodable_image", str(error)) from None
    _check(header, info)
    image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_BGR | cv2.IMREAD_IGNORE_ORIENTATION)
    if image is None:
        raise FrameError("undecodable_image", "the JPEG's content is damaged")
    return image  # type: ignore[no-any-return]


def _check(header: FrameHeader, info: JpegInfo) -> None:
    fault = size_fault(info.width, info.height) or scan_fault(info.width, info.height, info.scans)
    if fault:
        raise FrameError("image_too_large", f"the JPEG is not decoded: {fault}")
    if (info.width, info.height) != (header.width, header.height):
        claimed = f"{header.width}×{header.height}"
        raise FrameError("bad_header", f"the header says {claimed}, the JPEG {info.width}×{info.height}")
    if not info.complete:
        raise FrameError("undecodable_image", "the JPEG is cut off: its end marker is missing")


def _view(header: FrameHeader, data: bytes) -> Pixels:
    encoding: Encoding = "bgr24" if header.encoding == "jpeg" or header.encoding == "none" else header.encoding
    expected = size_bytes(encoding, header.width, header.height)
    if len(data) != expected:
        size = f"{header.width}×{header.height}"
        raise FrameError(
            "undecodable_image", f"{len(data)} bytes are no {size} {encoding} image of {expected or 'any'}"
        )
    return viewed(data, encoding, header.width, header.height)
