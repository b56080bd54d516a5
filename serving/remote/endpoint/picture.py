"""A network's input as a picture to send: JPEG without its padding and without metadata, in a data URL. Pure."""

from __future__ import annotations

import base64

import cv2
import numpy as np

from serving.common.tensors import Image
from serving.errors import SluiceError

QUALITY = 90
"""JPEG's, per cent."""


def without_padding(picture: Image, pad: int = 114) -> Image:
    """A view of a letterboxed picture (height × width × 3) without the rows and columns of padding, right and below."""
    other = (picture != pad).any(axis=2)
    rows, columns = np.flatnonzero(other.any(axis=1)), np.flatnonzero(other.any(axis=0))
    if not rows.size:  # one grey
        return picture
    return picture[: rows[-1] + 1, : columns[-1] + 1]


def data_url(picture: Image) -> str:
    """The picture (BGR) as ``data:image/jpeg;base64,…``; SluiceError where it cannot be encoded."""
    made, data = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    if not made:
        raise SluiceError(f"a picture of {picture.shape[1]} × {picture.shape[0]} pixels cannot be made a JPEG")
    return f"data:image/jpeg;base64,{base64.b64encode(data.tobytes()).decode()}"
