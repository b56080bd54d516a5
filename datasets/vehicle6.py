"""Photos of six vehicle types from a road camera: 800 of each, 100 × 100 pixels (Zenodo record 6634554, CC BY 4.0).

The split into train, validation and test (70/15/15) follows from the sha256 of a photo's relative name alone, so it
stays the same on every machine and for every subset of the photos.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from datasets.archive import Bounds, DataError, fetched, unpack

CLASSES = ("bike", "car", "juggernaut", "minibus", "pickup", "truck")
SPLITS = ("train", "validation", "test")
# The record offers all its files as one zip, so the address does not depend on the name of the archive inside.
URL = "https://zenodo.org/api/records/6634554/files-archive"
CONTENT_SHA256 = "32af7d34c2436785d41ee2ae997a5dc703d80a5efd687af3102aecf3dfedf922"
PER_CLASS = 800
PHOTO_SIDE = 512  # pixels; the photos have 100, anything much larger is not one of them
BOUNDS = Bounds(archive_bytes=2 << 30, file_bytes=256 << 10, unpacked_bytes=512 << 20)

Image = NDArray[np.uint8]


def split_of(name: str) -> str:
    """The split of a photo by its relative name, ``class/file``."""
    place = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4]) / 2**32
    return SPLITS[0] if place < 0.70 else SPLITS[1] if place < 0.85 else SPLITS[2]


def names(folder: Path) -> list[str]:
    """The relative names of all photos in the folder, sorted; ``DataError`` where it is not the data set."""
    found = sorted(f"{label}/{path.name}" for label in CLASSES for path in (folder / label).glob("*.jpg"))
    if not found:
        raise DataError(f"{folder}: no vehicle photos: expected {', '.join(CLASSES)} with *.jpg in each")
    return found


def load(folder: Path, split: str) -> list[tuple[Image, str]]:
    """The photos of one split (height × width × 3, blue-green-red) with their classes, in the order of their names."""
    if split not in SPLITS:
        raise ValueError(f"split {split!r}: must be one of {', '.join(SPLITS)}")
    return list(photos(folder, [name for name in names(folder) if split_of(name) == split]))


def photos(folder: Path, chosen: list[str]) -> Iterator[tuple[Image, str]]:
    """Decode these photos, one after the other."""
    for name in chosen:
        yield decode(folder / name), name.partition("/")[0]


def decode(path: Path) -> Image:
    """One photo; ``DataError`` for a file or a picture larger than the data set has, or one that cannot be read."""
    if path.stat().st_size > BOUNDS.file_bytes:
        raise DataError(f"{path}: larger than {BOUNDS.file_bytes} bytes: not a photo of this data set")
    content = path.read_bytes()
    width, height = jpeg_size(content)
    if not (0 < width <= PHOTO_SIDE and 0 < height <= PHOTO_SIDE):
        raise DataError(f"{path}: not a JPEG of at most {PHOTO_SIDE} × {PHOTO_SIDE} pixels")
    image: Image | None = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)
    if image is None:
        raise DataError(f"{path}: damaged JPEG: delete the folder, it will be fetched again")
    return image


def jpeg_size(content: bytes) -> tuple[int, int]:
    """Width and height from a JPEG's frame header, without decoding it; (0, 0) where there is none."""
    place = 2
    while content[:2] == b"\xff\xd8" and place + 9 < len(content) and content[place] == 0xFF:
        marker, length = content[place + 1], int.from_bytes(content[place + 2 : place + 4])
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(content[place + 7 : place + 9]), int.from_bytes(content[place + 5 : place + 7])
        place += 2 + max(length, 2)
    return 0, 0


def content_sha256(folder: Path) -> str:
    """sha256 over one line per photo, sorted: relative name, space, sha256 of the file."""
    digest = hashlib.sha256()
    for name in names(folder):
        digest.update(f"{name} {hashlib.sha256((folder / name).read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def ensure(folder: Path, url: str = URL, expected_sha256: str = CONTENT_SHA256) -> Path:
    """The folder, fetched from ``url`` where it does not exist; ``DataError`` if what came is not the expected content.

    The content is compared photo by photo, so it does not matter how the archive was packed.
    """
    if folder.is_dir():
        return folder
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        with fetched(url, BOUNDS.archive_bytes) as archive:
            unpack(archive, partial, place, BOUNDS)
        found = content_sha256(partial)
        if found != expected_sha256:
            raise DataError(f"{url}: unexpected content (sha256 {found}, not {expected_sha256}): nothing was kept")
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def place(member: str) -> str | None:
    """Where a member belongs: ``bike12.jpg``, in whatever folder, at ``bike/bike12.jpg``; None for what is no photo."""
    name = member.replace("\\", "/").rpartition("/")[2]
    match = re.fullmatch(r"([a-z]+)([1-9][0-9]{0,2})\.jpg", name)
    if match is None or match[1] not in CLASSES or int(match[2]) > PER_CLASS:
        return None
    return f"{match[1]}/{name}"
