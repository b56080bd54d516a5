"""A picture as a JPEG, of which no more is decoded than somebody looks at.

The decoder of a JPEG can leave out the finest frequencies: a picture of half, a quarter or an eighth of the width and
height takes a third to two thirds of the time (``cv2.IMREAD_REDUCED_COLOR_2`` …). A detector sees such a picture. All
of it is decoded once a crop is cut from it, or somebody draws on it.
"""

from __future__ import annotations

from typing import Final, cast

import cv2
import numpy as np

from serving.common.tensors import Image
from serving.errors import Malformed

LOOKED_AT: Final = 416
"""Pixels across that are decoded of a frame at first: detectors look at so many. Who wants more has more decoded."""
_REDUCED: Final = (
    (8, cv2.IMREAD_REDUCED_COLOR_8),
    (4, cv2.IMREAD_REDUCED_COLOR_4),
    (2, cv2.IMREAD_REDUCED_COLOR_2),
    (1, cv2.IMREAD_COLOR_BGR),
)


class JpegPicture:
    """One whose size is known, and which may be decoded; its bytes must not change any more."""

    __slots__ = ("_data", "_image", "shape")

    def __init__(self, data: bytes, width: int, height: int, least: int) -> None:
        """``least``: pixels across that are decoded now. Raises Malformed, as all that asks for more, if damaged."""
        self._data, self.shape = data, (height, width, 3)
        self._image = self._decoded(least)
        """The largest that was asked for."""

    @property
    def nbytes(self) -> int:
        """Those of all of it, decoded: what is counted does not change while it is held."""
        return self.shape[0] * self.shape[1] * self.shape[2]

    @property
    def bgr(self) -> Image:
        return self._at_least(self.shape[1])

    @property
    def is_converted(self) -> bool:
        return self._image.shape == self.shape

    def scaled(self, width: int, height: int) -> Image:
        """The image at another size; where it is smaller, each pixel is the mean of those that it stands for."""
        return _resized(self._at_least(width), width, height)

    def grey(self, width: int, height: int) -> Image:
        """The same in grey."""
        return _resized(cast(Image, cv2.cvtColor(self._at_least(width), cv2.COLOR_BGR2GRAY)), width, height)

    def copy(self) -> JpegPicture:
        """The same picture in memory of its own, which it is in."""
        return self

    def _at_least(self, width: int) -> Image:
        image = self._image
        if image.shape[1] < min(width, self.shape[1]):
            image = self._decoded(width)
            if image.shape[1] > self._image.shape[1]:  # another thread may have asked for more meanwhile
                self._image = image
        return image

    def _decoded(self, least: int) -> Image:
        flag = next((flag for scale, flag in _REDUCED if self.shape[1] >= scale * least), cv2.IMREAD_COLOR_BGR)
        image = cv2.imdecode(np.frombuffer(self._data, np.uint8), flag | cv2.IMREAD_IGNORE_ORIENTATION)
        if image is None:
            raise Malformed("the JPEG's content is damaged")
        image.flags.writeable = False  # all who ask are given the same one
        return cast(Image, image)


def _resized(image: Image, width: int, height: int) -> Image:
    return cast(Image, cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA))
