"""What passes between capture and its decoder process: JSON with a length before it, raw pixels after it."""

from __future__ import annotations

import struct
from datetime import datetime
from typing import Final, Literal, Protocol, TypeAlias

import msgspec

from operators.frame import Image

LENGTH: Final = struct.Struct("<I")
MAX_MESSAGE_BYTES: Final = 65_536


class Job(msgspec.Struct, kw_only=True, frozen=True):
    """What the process is to decode. Goes in over stdin, because arguments and environment are seen by others."""

    uri: str
    mode: Literal["all", "keyframes", "fps"]
    fps: float | None
    max_width: int | None
    connect_timeout_s: float
    read_timeout_s: float


class Started(msgspec.Struct, tag=True, frozen=True):
    """The process is up and goes on to open the source."""


class Opened(msgspec.Struct, tag=True, frozen=True, kw_only=True):
    """The source answered."""

    duration_s: float | None


class Alive(msgspec.Struct, tag=True, frozen=True):
    """The stream moved on, though nothing was sampled."""


class PictureFollows(msgspec.Struct, tag=True, frozen=True, kw_only=True):
    """Height × width × 3 bytes follow."""

    width: int
    height: int
    media_time_s: float
    captured_at: datetime
    decode_ms: float


class Ended(msgspec.Struct, tag=True, frozen=True):
    """The source closed the stream."""

    message: str | None


class Failed(msgspec.Struct, tag=True, frozen=True):
    """The source cannot be read; redacted."""

    reason: str
    message: str


Message: TypeAlias = Started | Opened | Alive | PictureFollows | Ended | Failed


_decoder: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)


class _Writable(Protocol):
    def write(self, data: bytes | memoryview, /) -> int: ...

    def flush(self) -> None: ...


def send(pipe: _Writable, message: Message, image: Image | None = None) -> None:
    """Write one message, and the pixels (contiguous) that belong to it."""
    body = msgspec.json.encode(message)
    pipe.write(LENGTH.pack(len(body)) + body)
    if image is not None:
        pipe.write(image.data.cast("B"))
    pipe.flush()


def decode(body: bytes | bytearray) -> Message:
    """The message; raises ``msgspec.DecodeError``."""
    message: Message = _decoder.decode(body)
    return message
