"""Pictures as decoders give them: brightness for every pixel, colours for every four (YUV 4:2:0).

A detector looks at a picture that is scaled down from them in one pass, and movement is measured on brightness alone.
Blue, green and red are made once, and only where they are needed: to cut out a crop, to draw, or to write a JPEG.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final, Literal, cast

import av
import cv2
import numpy as np
from av.video.reformatter import ColorRange, Colorspace, Interpolation, VideoReformatter
from numpy.typing import NDArray

from operators.frames.jpeg_picture import JpegPicture
from serving.common.tensors import Image
from serving.preprocess import halved

Encoding = Literal["bgr24", "yuv601", "yuv709"]
"""How raw pixels lie in memory: rows of blue, green and red; or planes, with the colours of either standard."""
MATRICES: Final[Mapping[Encoding, Colorspace]] = {"yuv601": Colorspace.ITU601, "yuv709": Colorspace.ITU709}

GREY_LEVELS: Final = np.clip(np.round((np.arange(256) - 16) * 255 / 219), 0, 255).astype(np.uint8)
"""Brightness is from 16 to 235 in planes."""
MOST_CONVERSIONS: Final = 8
"""Conversions of a thread, from a size to another, whose tables are kept."""


class Planes:
    """A picture in planes; its rows must not change any more."""

    __slots__ = ("_bgr", "encoding", "rows")

    def __init__(self, rows: NDArray[np.uint8], encoding: Encoding) -> None:
        """``rows``: 3/2 height × width, as FFmpeg's yuv420p lies in memory; width and height are even."""
        self.rows, self.encoding = rows, encoding
        self._bgr: Image | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.rows.shape[0] // 3 * 2, self.rows.shape[1], 3

    @property
    def nbytes(self) -> int:
        return int(self.rows.nbytes)

    @property
    def bgr(self) -> Image:
        if self._bgr is None:
            made = self.scaled(self.shape[1], self.shape[0])
            made.flags.writeable = False  # all who ask are given the same one
            self._bgr = made
        return self._bgr

    @property
    def is_converted(self) -> bool:
        return self._bgr is not None

    @property
    def brightness(self) -> Image:
        """One value for each pixel, a view; ``GREY_LEVELS`` makes grey of them."""
        return self.rows[: self.shape[0]]

    def scaled(self, width: int, height: int) -> Image:
        """The image at another size; each pixel is the mean of those that it stands for."""
        frame = av.VideoFrame.from_numpy_buffer(self.rows, format="yuv420p")
        frame.colorspace, frame.color_range = MATRICES[self.encoding], ColorRange.MPEG
        converted = _conversion(frame.width, frame.height, width, height).reformat(
            frame, width=width, height=height, format="bgr24", interpolation=Interpolation.AREA, threads=1
        )
        return np.ascontiguousarray(converted.to_ndarray(), np.uint8)

    def copy(self) -> Planes:
        """The same picture in memory of its own."""
        return Planes(self.rows.copy(), self.encoding)


Pixels = Image | Planes | JpegPicture
"""A picture, in any form."""
PIXELS: Final = (np.ndarray, Planes, JpegPicture)


def bgr(pixels: Pixels) -> Image:
    """The picture as blue, green and red."""
    return pixels if isinstance(pixels, np.ndarray) else pixels.bgr


def encoding_of(pixels: Pixels) -> Encoding:
    """How it lies in memory."""
    return pixels.encoding if isinstance(pixels, Planes) else "bgr24"


def bytes_of(pixels: Pixels) -> memoryview:
    """Its bytes, a view; of an image that is a part of another one a copy."""
    rows = pixels.rows if isinstance(pixels, Planes) else bgr(pixels)
    return np.ascontiguousarray(rows).data.cast("B").toreadonly()


def size_bytes(encoding: Encoding, width: int, height: int) -> int | None:
    """How many bytes a picture of this size has; None where it cannot have it: planes have even sides."""
    if encoding == "bgr24":
        return width * height * 3
    return None if width % 2 or height % 2 else width * height * 3 // 2


def viewed(data: bytes | memoryview | NDArray[np.uint8], encoding: Encoding, width: int, height: int) -> Pixels:
    """The picture that these bytes, which must be as many as ``size_bytes`` says, hold; a view."""
    flat = np.frombuffer(data, np.uint8)
    if encoding == "bgr24":
        return flat.reshape(height, width, 3)
    return Planes(flat.reshape(height * 3 // 2, width), encoding)


def grey(pixels: Pixels, width: int, height: int) -> Image:
    """The picture in grey at a smaller size: one plane to shrink, each level the mean of the area it stands for."""
    if isinstance(pixels, JpegPicture):
        return pixels.grey(width, height)
    plane = pixels.brightness if isinstance(pixels, Planes) else cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY)
    small = cv2.resize(halved(plane, width, height), (width, height), interpolation=cv2.INTER_AREA)
    return cast(Image, cv2.LUT(small, GREY_LEVELS) if isinstance(pixels, Planes) else small)


_of_thread = threading.local()


def _conversion(*sizes: int) -> VideoReformatter:
    """FFmpeg's converter between two sizes, which keeps its tables and serves one thread."""
    kept: OrderedDict[tuple[int, ...], VideoReformatter] = _of_thread.__dict__.setdefault("kept", OrderedDict())
    found = kept.pop(sizes, None) or VideoReformatter()
    kept[sizes] = found
    if len(kept) > MOST_CONVERSIONS:
        kept.popitem(last=False)
    return found
