"""Frames on and off the wire: a ``FrameHeader`` beside image bytes, and smaller JPEGs for people. Images are bounded
before they are decoded, for every reader of pictures.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import cv2
import msgspec

from operators.frames.frame import Frame
from operators.frames.jpeg_picture import LOOKED_AT, JpegPicture
from operators.frames.planes import Encoding, Pixels, size_bytes, viewed
from operators.wire.bounds import TEXT_CHARS
from operators.wire.frame_message import JpegInfo, inspect_jpeg
from operators.wire.schema import FRAME_HEADER_KEY, FRAME_SCHEMA, FrameHeader, from_json
from serving.common.tensors import Image
from serving.common.untrusted import printable, shortened
from serving.errors import Malformed, SluiceError

MAX_PIXELS = 64_000_000
"""The largest picture that is decoded at all: 8K with room to spare."""
MAX_ASPECT = 4
"""Largest ratio of a frame's height to its greatest width: portraits fit, strips are scaled down."""
MAX_SCANS = 64
"""Largest number of scans of one JPEG; encoders write one to about twenty."""
MAX_SCANNED_PIXELS = 4 * MAX_PIXELS
"""Largest product of pixels and scans of a JPEG, since a decoder goes over the whole picture for each scan."""

DECODED_BYTES_PER_PIXEL = 3
"""Blue, green and red."""
DECODING_BYTES_PER_PIXEL = 9
"""Bytes per pixel that the coefficients of a progressive JPEG take while it is decoded, besides the pixels."""


def fitted(width: int, height: int, max_width: int | None) -> tuple[int, int]:
    """The size scaled down to ``max_width`` pixels and ``MAX_ASPECT`` times its height, same aspect."""
    if max_width is None:
        return width, height
    scale = min(1.0, max_width / width, MAX_ASPECT * max_width / height)
    return max(1, round(width * scale)), max(1, round(height * scale))


def size_fault(width: int, height: int, max_width: int | None = None) -> str | None:
    """Return why a picture of this size is not decoded; None if it may be."""
    if width * height > MAX_PIXELS:
        return f"it claims {width}×{height} pixels, beyond {MAX_PIXELS // 10**6} megapixels"
    if fitted(width, height, max_width) != (width, height):
        return f"its {width}×{height} pixels are more than a max_width of {max_width} allows"
    return None


def scan_fault(width: int, height: int, scans: int) -> str | None:
    """Return why a JPEG of so many scans is not decoded; None if it may be."""
    if scans > MAX_SCANS:
        return f"it has {scans} scans, beyond {MAX_SCANS}"
    if width * height * scans > MAX_SCANNED_PIXELS:
        return f"it has {scans} scans of {width}×{height} pixels, beyond {MAX_SCANNED_PIXELS // 10**6} megapixels"
    return None


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
    return _seen(frame.header, jpeg, LOOKED_AT)


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


def decode_frame(header: FrameHeader, data: bytes, least: int | None = None) -> Frame:
    """The frame of a message; raises ``FrameError``. A JPEG takes milliseconds: call it in a thread.

    ``least``: pixels across that are enough for now: of a JPEG no more is decoded; None: all.
    """
    if header.encoding != "jpeg":
        return Frame(header, _view(header, data))
    return _seen(header, data, header.width if least is None else least)


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


def _seen(header: FrameHeader, data: bytes, least: int) -> Frame:
    """The frame of a JPEG; see ``decode_frame``."""
    try:
        info = inspect_jpeg(data)
        _check(header, info)
        picture = JpegPicture(data, info.width, info.height, least)
    except (ValueError, Malformed) as error:
        raise FrameError("undecodable_image", str(error)) from None
    return Frame(header, picture.bgr if picture.is_converted else picture, data)


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


def preview(image: Image, max_width: int, quality: int) -> tuple[bytes, int, int]:
    """A JPEG no wider than ``max_width``, its width and height in pixels; raises ValueError. Call it in a thread."""
    if image.shape[1] > max_width:
        height = max(1, round(image.shape[0] * max_width / image.shape[1]))
        image = cv2.resize(image, (max_width, height), interpolation=cv2.INTER_AREA)
    encoded, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not encoded:
        raise ValueError(f"an image of shape {image.shape} cannot become a JPEG")
    return bytes(data), image.shape[1], image.shape[0]
