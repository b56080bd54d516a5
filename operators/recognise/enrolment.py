"""Decodes the pictures of enrolled identities, and keeps their vectors from one start to the next."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import cv2
import msgspec
import numpy as np
from numpy.typing import NDArray

from operators.frames.codec import scan_fault, size_fault
from operators.wire.frame_message import inspect_jpeg
from serving.common import files
from serving.common.tensors import Image
from serving.common.untrusted import decode
from serving.errors import BadInput, Malformed

log = logging.getLogger(__name__)

MAX_BYTES = 50_000_000
MOST_KEPT_BYTES = 64 << 20
"""The largest file of vectors, some twenty thousand: those of a larger gallery are not kept."""


def picture_bytes(path: Path) -> bytes:
    """Read one picture; raises BadInput, one line."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"larger than {MAX_BYTES} bytes")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise BadInput(f"gallery picture {path} cannot be read: {error}; replace or remove it") from None


def read_picture(path: Path) -> Image:
    """Decode one picture, after a look at its size; raises BadInput, one line."""
    data = picture_bytes(path)
    try:
        info = inspect_jpeg(data)
    except ValueError as error:
        raise BadInput(f"gallery picture {path} cannot be read: {error}; replace or remove it") from None
    if fault := size_fault(info.width, info.height) or scan_fault(info.width, info.height, info.scans):
        raise BadInput(f"gallery picture {path} is too large: {fault}; crop it or save it anew")
    image: Image | None = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR) if info.complete else None
    if image is None:
        raise BadInput(f"gallery picture {path} is damaged or cut off: replace or remove it")
    return image


def picture_key(path: Path) -> str:
    """The sha256 of one picture; raises BadInput, one line."""
    return hashlib.sha256(picture_bytes(path)).hexdigest()


class _Kept(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    way: str
    vectors: dict[str, bytes]
    """float32, by the sha256 of a picture."""


@dataclass(frozen=True, slots=True)
class KeptVectors:
    """The vectors of a gallery's pictures by one network, in a file."""

    path: Path
    way: str
    """A digest of all that vectors follow from but the pictures: networks, filters, margin."""

    def read(self) -> dict[str, NDArray[np.float32]]:
        """By the sha256 of a picture; none where the file is not there, damaged, or made in another way."""
        try:
            found = decode(self.path.read_bytes(), _Kept, MOST_KEPT_BYTES)
            rows = np.stack([np.frombuffer(each, "<f4") for each in found.vectors.values()])
        except (OSError, Malformed, ValueError):  # also of different lengths
            return {}
        fit = found.way == self.way and np.isfinite(rows).all()
        return dict(zip(found.vectors, rows, strict=True)) if fit else {}

    def write(self, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Put these in the place of those before, readable by the user alone; what cannot be written is logged."""
        kept = {key: each.astype("<f4").tobytes() for key, each in vectors.items()}
        data = msgspec.json.encode(_Kept(self.way, kept))
        try:
            if len(data) <= MOST_KEPT_BYTES:
                files.write(self.path, data)
        except BadInput as error:
            log.info("gallery pictures are enrolled at every start: %s", error)
