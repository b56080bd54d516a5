"""The decoder process of a live source: ``python -m operators.capture.child``.

PyAV may hang for ever inside a call; a process can be killed, a thread cannot. The job comes in as one line of JSON
over stdin, which then stays open as a leash: when it closes, the parent is gone and so is this process.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import BinaryIO, Final

import msgspec

from operators.capture import wire
from operators.capture.decode import VideoReader
from operators.capture.sampling import Sampling
from operators.capture.uri import SourceUri
from serving.errors import SourceError

_ALIVE_EVERY_S: Final = 0.5


def main() -> None:
    """Decode the job on stdin into messages on stdout."""
    job = msgspec.json.decode(sys.stdin.buffer.readline(), type=wire.Job)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    pipe = _claim_stdout()
    wire.send(pipe, wire.Started())
    try:
        _decode(job, pipe)
    except SourceError as error:
        wire.send(pipe, wire.Failed(error.reason, str(error)))


def _decode(job: wire.Job, pipe: BinaryIO) -> None:
    reader = VideoReader(
        SourceUri(job.uri),
        Sampling(job.mode, job.fps),
        job.max_width,
        connect_timeout_s=job.connect_timeout_s,
        read_timeout_s=job.read_timeout_s,
    )
    with reader:
        wire.send(pipe, wire.Opened(duration_s=reader.duration_s))
        for picture in reader.pictures(on_progress=_Pulse(pipe).beat):
            height, width = picture.image.shape[:2]
            header = wire.PictureFollows(
                width=width,
                height=height,
                media_time_s=picture.media_time_s,
                captured_at=picture.captured_at,
                decode_ms=picture.decode_ms,
            )
            wire.send(pipe, header, picture.image)
        wire.send(pipe, wire.Ended(reader.summary()))


class _Pulse:
    """Says now and then that the stream moves on, for samplings that take few frames."""

    def __init__(self, pipe: BinaryIO) -> None:
        self._pipe = pipe
        self._last_s = time.monotonic()

    def beat(self) -> None:
        now_s = time.monotonic()
        if now_s - self._last_s >= _ALIVE_EVERY_S:
            self._last_s = now_s
            wire.send(self._pipe, wire.Alive())


def _exit_with_parent() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


def _claim_stdout() -> BinaryIO:
    """Keep the pipe to ourselves; whatever a library prints goes to stderr."""
    pipe = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return pipe


if __name__ == "__main__":
    main()
