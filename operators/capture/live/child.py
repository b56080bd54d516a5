"""The decoder process of a live source: ``python -m operators.capture.live.child``.

PyAV may hang for ever inside a call; a process can be killed, a thread cannot.
"""

from __future__ import annotations

import time
from contextlib import closing
from functools import partial
from typing import Final

from operators.capture.live import protocol as wire
from operators.capture.sources.decode import VideoReader
from operators.capture.sources.devices import choose_device
from operators.capture.sources.hardware import Hardware
from operators.capture.sources.open import ResumedVideo
from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri
from operators.frames.planes import encoding_of
from serving.common.child_process import ParentProcess
from serving.common.untrusted import decode
from serving.errors import SourceError

_ALIVE_EVERY_S: Final = 0.5


def main() -> None:
    """Decode what the parent asks for into messages."""
    parent = ParentProcess(wire.MAX_MESSAGE_BYTES)
    job = decode(parent.receive(), wire.DecodeJob)
    hardware = Hardware(job.hwaccel, lambda why: wire.send(parent, wire.InSoftware(why)))
    choose_device(hardware)  # before the time that the source is given begins
    wire.send(parent, wire.Started())
    try:
        _decode(job, hardware, parent)
    except SourceError as error:
        wire.send(parent, wire.SourceFailed(error.reason, str(error)))


def _decode(job: wire.DecodeJob, hardware: Hardware, parent: ParentProcess) -> None:
    opens = partial(
        VideoReader,
        SourceUri(job.uri),
        Sampling(job.mode, job.fps),
        job.max_width,
        connect_timeout_s=job.connect_timeout_s,
        read_timeout_s=job.read_timeout_s,
        jpegs=job.jpegs,
    )
    with closing(ResumedVideo(opens, hardware)) as reader:
        wire.send(parent, wire.Opened(finite=reader.finite, bursts_from_s=reader.bursts_from_s))
        for picture in reader.pictures(on_progress=_Pulse(parent).beat):
            height, width = picture.pixels.shape[:2]
            header = wire.PictureFollows(
                encoding=encoding_of(picture.pixels),
                width=width,
                height=height,
                media_time_s=picture.media_time_s,
                captured_s=picture.captured_s,
                decode_ms=picture.decode_ms,
            )
            wire.send(parent, header, picture.pixels)
        wire.send(parent, wire.Ended(reader.summary()))


class _Pulse:
    """Reports now and then that the stream goes on, for samplings that take few frames."""

    def __init__(self, parent: ParentProcess) -> None:
        self._parent = parent
        self._last_s = time.monotonic()

    def beat(self) -> None:
        now_s = time.monotonic()
        if now_s - self._last_s >= _ALIVE_EVERY_S:
            self._last_s = now_s
            wire.send(self._parent, wire.Alive())


if __name__ == "__main__":
    main()
