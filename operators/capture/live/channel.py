"""The parent's end of a decoder process: give it a job, take its messages and pictures with a time limit, kill it."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

import msgspec
import numpy as np

from operators.capture.live import protocol as wire
from operators.frames.planes import Pixels, size_bytes, viewed
from serving.common.child_process import ChildProcess, Closed, Silent
from serving.errors import Malformed

__all__ = ["Channel", "Closed", "Silent"]


class Channel:
    """A running decoder process. Use as a context manager: on leaving it, the process is gone."""

    def __init__(self, job: wire.DecodeJob) -> None:
        self._process = ChildProcess("operators.capture.live.child", "the decoder process")
        self._process.send(msgspec.json.encode(job))

    @property
    def pid(self) -> int:
        """The process id of the decoder process."""
        return self._process.pid

    def receive(self, timeout_s: float) -> tuple[wire.Message, Pixels | None]:
        """Return the next message, with the picture if it announces one. Raises ``Silent`` or ``Closed``."""
        deadline_s = time.monotonic() + timeout_s
        try:
            message = wire.decode(self._process.receive(timeout_s, wire.MAX_MESSAGE_BYTES))
        except Malformed as error:
            raise Closed(f"the decoder process sent something else than messages: {error}") from None
        if not isinstance(message, wire.PictureFollows):
            return message, None
        size = size_bytes(message.encoding, message.width, message.height)
        if size is None:
            raise Closed("the decoder process sent planes of odd sides")
        content = np.empty(size, np.uint8)
        self._process.receive_into(content.data.cast("B"), deadline_s - time.monotonic())
        return message, viewed(content, message.encoding, message.width, message.height)

    def kill(self) -> None:
        """End the process at once, from any thread; a ``receive`` under way raises ``Closed``."""
        self._process.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.close()
