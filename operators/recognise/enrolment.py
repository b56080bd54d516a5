"""The folder of enrolled identities: ``gallery/<name>/*.jpg``, each picture a crop of the person or thing itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import cv2
import numpy as np

from operators.frame import Image
from operators.jpeg import inspect_jpeg
from serving.errors import BadInput

SUFFIXES = (".jpg", ".jpeg")
MAX_PIXELS = 50_000_000
MAX_BYTES = 50_000_000


def identities(gallery: Path) -> Mapping[str, Sequence[Path]]:
    """Name → pictures; raises BadInput where the folder is missing, empty, or holds what is no JPEG."""
    if not gallery.is_dir():
        raise BadInput(f"no gallery at {gallery}: it must be a folder with one folder of JPEG pictures per identity")
    people = {folder.name: _pictures(folder) for folder in sorted(gallery.iterdir()) if _counts(folder)}
    if not people:
        raise BadInput(f"gallery {gallery} is empty: make one folder of JPEG pictures per identity in it")
    return people


def read_picture(path: Path) -> Image:
    """Decode one picture, after a look at its size; raises BadInput, one line."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"larger than {MAX_BYTES} bytes")
        data = path.read_bytes()
        info = inspect_jpeg(data)
    except (OSError, ValueError) as error:
        raise BadInput(f"gallery picture {path} cannot be read: {error}; replace or remove it") from None
    if info.width * info.height > MAX_PIXELS:
        raise BadInput(f"gallery picture {path} is too large ({info.width}×{info.height} pixels): crop it")
    image: Image | None = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR) if info.complete else None
    if image is None:
        raise BadInput(f"gallery picture {path} is damaged or cut off: replace or remove it")
    return image


def _pictures(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise BadInput(f"{folder} lies in the gallery itself: put pictures in a folder named after the identity")
    files = [path for path in sorted(folder.iterdir()) if _counts(path)]
    if wrong := [path for path in files if path.suffix.lower() not in SUFFIXES]:
        raise BadInput(f"gallery picture {wrong[0]} is no JPEG (.jpg): convert or remove it")
    if not files:
        raise BadInput(f"gallery folder {folder} has no pictures: add a .jpg or remove it")
    return files


def _counts(path: Path) -> bool:
    """Hidden files are the desktop's, not the user's."""
    return not path.name.startswith(".")
