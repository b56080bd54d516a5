"""Writes pictures: as a video whose frames stand at their media time, or one by one."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Protocol

import av
import cv2

from operators.wire.schema import Result
from serving.common.tensors import Image

TIME_BASE = Fraction(1, 1000)
RESTART_GAP_MS = 40
"""Time between two capture runs in one video; the media time of each begins at 0."""
JPEG_QUALITY = 90
ENCODERS = ("libx264", "mpeg4")
"""Encoders in order of preference; builds of FFmpeg without GPL parts lack the first."""


class PictureWriter(Protocol):
    """Takes the drawn pictures of one stream in order; raises OSError where they cannot be written."""

    def add(self, image: Image, result: Result) -> None:
        """Write one picture."""

    def close(self) -> None:
        """Finish the file."""


class VideoWriter:
    """H.264 (MPEG-4 part 2 where there is no such encoder) of the first picture's size, made even, 2 at least."""

    def __init__(self, path: Path) -> None:
        self._container = av.open(str(path), "w")
        self._stream: av.VideoStream | None = None
        self._last_ms = -1
        self._run = ""
        self._offset_ms = 0

    def add(self, image: Image, result: Result) -> None:
        if self._stream is None:
            self._stream = self._open(image)
        size = (self._stream.width, self._stream.height)
        if image.shape[1] - image.shape[1] % 2 != size[0] or image.shape[0] - image.shape[0] % 2 != size[1]:
            image = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
        picture = av.VideoFrame.from_ndarray(image[: size[1], : size[0]], format="bgr24")
        picture.pts, picture.time_base = self._time_ms(result), TIME_BASE
        self._container.mux(self._stream.encode(picture))

    def close(self) -> None:
        try:
            if self._stream is not None:
                self._container.mux(self._stream.encode())
        finally:
            self._container.close()

    def _open(self, image: Image) -> av.VideoStream:
        stream = self._container.add_stream(_encoder(), rate=25)
        stream.width, stream.height = (max(side // 2 * 2, 2) for side in (image.shape[1], image.shape[0]))
        stream.pix_fmt = "yuv420p"
        stream.codec_context.time_base = TIME_BASE
        stream.options = {"preset": "veryfast", "crf": "23"} if stream.name == "libx264" else {"qscale": "4"}
        return stream

    def _time_ms(self, result: Result) -> int:
        """Return the picture's time in the video, which always rises, also over runs."""
        media_ms = round(result.frame.media_time_s * 1000)
        if result.run != self._run:
            self._run = result.run
            self._offset_ms = 0 if self._last_ms < 0 else self._last_ms + RESTART_GAP_MS - media_ms
        self._last_ms = max(media_ms + self._offset_ms, self._last_ms + 1)
        return self._last_ms


class SnapshotWriter:
    """A JPEG for every frame in which something was found: ``<stream>-<seq>.jpg``."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def add(self, image: Image, result: Result) -> None:
        if not result.objects:
            return
        _, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
        (self._directory / f"{result.stream}-{result.seq:06d}.jpg").write_bytes(data.tobytes())

    def close(self) -> None:
        """Do nothing: no file is open."""


def _encoder() -> str:
    for name in ENCODERS[:-1]:
        with suppress(ValueError):  # av.codec.UnknownCodecError
            av.codec.Codec(name, "w")
            return name
    return ENCODERS[-1]
