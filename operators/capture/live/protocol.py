"""The messages between capture and its decoder process: JSON, raw pixels after some of them.

The parent's end gives the process a job, takes its messages and pictures with a time limit, and kills it.
"""

from __future__ import annotations

import time
from typing import Final, Literal, TypeAlias

import msgspec
import numpy as np

from operators.frames.planes import Encoding, Pixels, bytes_of, size_bytes, viewed
from operators.wire.bounds import Label, Side
from serving.common import untrusted
from serving.common.child_process import ChildProcess, Closed, ParentProcess
from serving.errors import Malformed

MAX_MESSAGE_BYTES: Final = 65_536


class DecodeJob(msgspec.Struct, kw_only=True, frozen=True):
    """A source to decode. It is sent over stdin, because other users can see arguments and environment."""

    uri: str
    mode: Literal["all", "keyframes", "fps"]
    fps: float | None
    max_width: int | None
    connect_timeout_s: float
    read_timeout_s: float
    hwaccel: str
    jpegs: bool = False
    """Whether it is read as one JPEG after the other, whatever stands between them."""


class Started(msgspec.Struct, tag=True, frozen=True):
    """The process is up and goes on to open the source."""


class InSoftware(msgspec.Struct, tag=True, frozen=True):
    """The device that was wanted does not decode, or no longer; the reason is for people."""

    why: str


class Opened(msgspec.Struct, tag=True, frozen=True, kw_only=True):
    """The source answered."""

    finite: bool
    bursts_from_s: float | None = None
    """Where a playlist of segments begins on its own clock; None: its pictures come one by one."""


class Alive(msgspec.Struct, tag=True, frozen=True):
    """The stream went on, but no frame was sampled."""


class PictureFollows(msgspec.Struct, tag=True, frozen=True, kw_only=True):
    """A picture of this size follows."""

    encoding: Encoding
    width: Side
    height: Side
    media_time_s: float
    captured_s: float
    decode_ms: float


class Ended(msgspec.Struct, tag=True, frozen=True):
    """The source closed the stream."""

    message: str | None


class SourceFailed(msgspec.Struct, tag=True, frozen=True):
    """The source cannot be read; the reason is redacted."""

    reason: Label
    message: str


Message: TypeAlias = Started | InSoftware | Opened | Alive | PictureFollows | Ended | SourceFailed


def send(parent: ParentProcess, message: Message, pixels: Pixels | None = None) -> None:
    parent.send(msgspec.json.encode(message), None if pixels is None else bytes_of(pixels))


def decode(body: bytes | bytearray) -> Message:
    message: Message = untrusted.decode(body, Message, MAX_MESSAGE_BYTES)
    return message


class Channel:
    """A running decoder process. Use as a context manager: on leaving it, the process is gone."""

    def __init__(self, job: DecodeJob) -> None:
        self._process = ChildProcess("operators.capture.live.child", "the decoder process", forked=True)
        self._process.send(msgspec.json.encode(job))

    @property
    def pid(self) -> int:
        return self._process.pid

    def receive(self, timeout_s: float) -> tuple[Message, Pixels | None]:
        """Return the next message, with the picture if it announces one. Raises ``Silent`` or ``Closed``."""
        deadline_s = time.monotonic() + timeout_s
        try:
            message = decode(self._process.receive(timeout_s, MAX_MESSAGE_BYTES))
        except Malformed as error:
            raise Closed(f"the decoder process sent something else than messages: {error}") from None
        if not isinstance(message, PictureFollows):
            return message, None
        size = size_bytes(message.encoding, message.width, message.height)
        if size is None:
            raise Closed("the decoder process sent planes of odd sides")
        content = np.empty(size, np.uint8)
        self._process.receive_into(content.data.cast("B"), deadline_s - time.monotonic())
        return message, viewed(content, message.encoding, message.width, message.height)

    def kill(self) -> None:
        self._process.kill()

    def close(self) -> None:
        """End the process, and wait for that."""
        self._process.close()
