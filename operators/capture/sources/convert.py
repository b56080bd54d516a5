"""Converts decoded frames to upright pictures of bounded size: planes where they come as such, else BGR images."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, cast

import av
import cv2
import numpy as np
from av.sidedata.sidedata import SideDataContainer
from av.video.reformatter import Colorspace, Interpolation, VideoReformatter

from operators.capture.sources.high_range import LEVELS
from operators.frames.codec import fitted
from operators.frames.planes import Encoding, Pixels, Planes
from serving.common.tensors import Image

_PLANAR: Final = ("yuv420p", "nv12")
_ENCODINGS: Final[Mapping[int, Encoding]] = {1: "yuv709", 2: "yuv601", 5: "yuv601", 6: "yuv601"}
"""By FFmpeg's number of the colours; 2: not said, and taken as FFmpeg and OpenCV take it, whatever the size."""
_CONVERTED: Final = frozenset({0, 1, 2, 4, 5, 6, 7, 9})
"""The colours that swscale knows; others, which some encoders write at random, count as those that are not said."""
_FULL_RANGE: Final = 2
_SQUARE: Final = 0.03
"""Pixels that are longer by no more count as square: cut videos have such, and to stretch them costs their planes."""
_LONGEST_PIXEL: Final = 4.0
"""A longer one is a mistake."""
_AS_IT_IS: Final = (False, None)
_FLIPS: Final = {(True, False): 1, (False, True): 0, (True, True): -1}
"""OpenCV's code by whether left and right change places, and whether top and bottom do."""


class Converter:
    """Converts frames of one stream; swscale honours each frame's pixel format, colour matrix and colour range.

    One pass converts and scales. OpenCV's conversion from the planes costs the same, and knows only BT.601 in limited
    range and even sizes. A picture that a device decoded looks as one that software decoded.
    """

    def __init__(self, max_width: int | None, pixel: float = 1.0) -> None:
        """``pixel``: the width of the frames' pixels by their height; pictures have square ones."""
        self._max_width = max_width
        believed = 1 / _LONGEST_PIXEL <= pixel <= _LONGEST_PIXEL and abs(pixel - 1) > _SQUARE
        self._across, self._down = (max(1.0, pixel), max(1.0, 1 / pixel)) if believed else (1.0, 1.0)
        self._reformatter, self._separated = VideoReformatter(), VideoReformatter()

    def pixels(self, frame: av.VideoFrame) -> Pixels:
        """The frame's own planes where they need no change, else its image."""
        odd = frame.color_range == _FULL_RANGE or frame.color_trc in LEVELS
        encoding = None if odd else _ENCODINGS.get(int(frame.colorspace))
        even = not (frame.width % 2 or frame.height % 2) and frame.height > 2  # FFmpeg makes no image of two rows
        kept = fitted(*self._squared(frame), self._max_width) == (frame.width, frame.height)
        if encoding is None or not even or not kept or _turn(frame) != _AS_IT_IS or frame.format.name not in _PLANAR:
            return self.bgr(frame)
        if frame.format.name != "yuv420p":
            frame = self._separated.reformat(frame, format="yuv420p", threads=1)
        return Planes(frame.to_ndarray(), encoding)

    def bgr(self, frame: av.VideoFrame) -> Image:
        """Convert a frame to a contiguous array of height × width × 3."""
        if int(frame.colorspace) not in _CONVERTED:
            frame.colorspace = Colorspace.ITU601
        sideways, flip = _turn(frame)
        width, height = self._squared(frame)
        size = fitted(*((height, width) if sideways else (width, height)), self._max_width)
        width, height = reversed(size) if sideways else size
        if frame.format.name == "nv12" and (width, height) == (frame.width, frame.height):
            # swscale has a fast way for three planes, which rounds and fills in colours differently
            frame = self._separated.reformat(frame, format="yuv420p", threads=1)
        converted = self._reformatter.reformat(
            frame, width=width, height=height, format="bgr24", interpolation=Interpolation.AREA, threads=1
        )
        image: Image = np.ascontiguousarray(converted.to_ndarray())
        if (levels := LEVELS.get(frame.color_trc)) is not None:
            image = cast(Image, cv2.LUT(image, levels))
        image = cast(Image, cv2.transpose(image)) if sideways else image
        return image if flip is None else cast(Image, cv2.flip(image, flip))

    def _squared(self, frame: av.VideoFrame) -> tuple[int, int]:
        """Width and height with square pixels, none of which is lost."""
        return round(frame.width * self._across), round(frame.height * self._down)


def shrink(image: Image, max_width: int | None) -> Image:
    """Scale a BGR image down to ``max_width`` pixels; one that fits is returned as it is."""
    size = fitted(image.shape[1], image.shape[0], max_width)
    if size == (image.shape[1], image.shape[0]):
        return image
    return cast(Image, cv2.resize(image, size, interpolation=cv2.INTER_AREA))


def _turn(frame: av.VideoFrame) -> tuple[bool, int | None]:
    """Whether rows become columns, and which flip follows, so that the picture stands as its file says: phones write a
    matrix that turns it, front cameras one that mirrors it too. The nearest quarter of a turn counts.
    """
    # frame.side_data would refer to the frame that refers to it: all stay in memory until Python looks for garbage
    known: Any = SideDataContainer.__new__(SideDataContainer)
    with suppress(ValueError):  # at what PyAV has no name for, as a photograph's Exif, which comes behind the matrix
        known.__init__(frame)
    matrix = known.get("DISPLAYMATRIX")
    if matrix is None:
        return _AS_IT_IS
    xx, xy, yx, yy = np.frombuffer(bytes(matrix), np.int32)[[0, 1, 3, 4]].tolist()
    sideways = abs(xy) + abs(yx) > abs(xx) + abs(yy)
    right, down = (yx, xy) if sideways else (xx, yy)
    return sideways, _FLIPS.get((right < 0, down < 0))
