"""Converts decoded frames to upright pictures of bounded size: planes where they come as such, else BGR images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

import av
import cv2
import numpy as np
from av.video.reformatter import Interpolation, VideoReformatter

from operators.frames.codec import fitted
from operators.frames.planes import Encoding, Pixels, Planes
from serving.common.tensors import Image

_PLANAR: Final = ("yuv420p", "nv12")
_ENCODINGS: Final[Mapping[int, Encoding]] = {1: "yuv709", 2: "yuv601", 5: "yuv601", 6: "yuv601"}
"""By FFmpeg's number of the colours; 2: not said."""
_FULL_RANGE: Final = 2
_TURNS: Final = {90: cv2.ROTATE_90_COUNTERCLOCKWISE, 180: cv2.ROTATE_180, 270: cv2.ROTATE_90_CLOCKWISE}


class Converter:
    """Converts frames of one stream; swscale honours each frame's pixel format, colour matrix and colour range.

    One pass converts and scales. OpenCV's conversion from the planes costs the same, and knows only BT.601 in limited
    range and even sizes. A picture that a device decoded looks as one that software decoded.
    """

    def __init__(self, max_width: int | None) -> None:
        self._max_width = max_width
        self._reformatter, self._separated = VideoReformatter(), VideoReformatter()

    def pixels(self, frame: av.VideoFrame) -> Pixels:
        """The frame's own planes where they need no change, else its image."""
        encoding = None if frame.color_range == _FULL_RANGE else _ENCODINGS.get(int(frame.colorspace))
        even = not (frame.width % 2 or frame.height % 2)
        kept = fitted(frame.width, frame.height, self._max_width) == (frame.width, frame.height)
        if encoding is None or not even or not kept or _rotation(frame) or frame.format.name not in _PLANAR:
            return self.bgr(frame)
        if frame.format.name != "yuv420p":
            frame = self._separated.reformat(frame, format="yuv420p", threads=1)
        return Planes(frame.to_ndarray(), encoding)

    def bgr(self, frame: av.VideoFrame) -> Image:
        """Convert a frame to a contiguous array of height × width × 3."""
        turn = _TURNS.get(_rotation(frame))
        sideways = turn in (cv2.ROTATE_90_CLOCKWISE, cv2.ROTATE_90_COUNTERCLOCKWISE)
        shown = (frame.height, frame.width) if sideways else (frame.width, frame.height)
        size = fitted(*shown, self._max_width)
        width, height = reversed(size) if sideways else size
        if frame.format.name == "nv12" and (width, height) == (frame.width, frame.height):
            # swscale has a fast way for three planes, which rounds and fills in colours differently
            frame = self._separated.reformat(frame, format="yuv420p", threads=1)
        converted = self._reformatter.reformat(
            frame, width=width, height=height, format="bgr24", interpolation=Interpolation.AREA, threads=1
        )
        image: Image = np.ascontiguousarray(converted.to_ndarray())
        return image if turn is None else cast(Image, cv2.rotate(image, turn))


def shrink(image: Image, max_width: int | None) -> Image:
    """Scale a BGR image down to ``max_width`` pixels; one that fits is returned as it is."""
    size = fitted(image.shape[1], image.shape[0], max_width)
    if size == (image.shape[1], image.shape[0]):
        return image
    return cast(Image, cv2.resize(image, size, interpolation=cv2.INTER_AREA))


def _rotation(frame: Any) -> int:
    """Return the counter-clockwise degrees by which the picture must be turned to stand upright (phones write this)."""
    return int(frame.rotation) % 360
