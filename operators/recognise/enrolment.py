"""Decodes the pictures of enrolled identities."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

from operators.frames.codec import scan_fault, size_fault
from operators.wire.frame_message import inspect_jpeg
from serving.common.tensors import Image
from serving.errors import BadInput

MAX_BYTES = 50_000_000


def read_picture(path: Path) -> Image:
    """Decode one picture, after a look at its size; raises BadInput, one line."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"larger than {MAX_BYTES} bytes")
        data = path.read_bytes()
        info = inspect_jpeg(data)
    except (OSError, ValueError) as error:
        raise BadInput(f"gallery picture {path} cannot be read: {error}; replace or remove it") from None
    if fault := size_fault(info.width, info.height) or scan_fault(info.width, info.height, info.scans):
        raise BadInput(f"gallery picture {path} is too large: {fault}; crop it or save it anew")
    image: Image | None = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR) if info.complete else None
    if image is None:
        raise BadInput(f"gallery picture {path} is damaged or cut off: replace or remove it")
    return image
