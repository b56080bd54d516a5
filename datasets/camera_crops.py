"""Labelled crops of vehicles from street cameras: one zip per source, ``label/name.jpg`` in each.

Labels are the source's own words. A crop's camera is its source, or in a source of several cameras the first part of
its name. Corrections are a CSV of name and label, where a person has looked at a crop and reads it otherwise.
"""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import cv2
import numpy as np
from numpy.typing import NDArray

from datasets.archive import Bounds, DataError
from datasets.vehicle6 import jpeg_size

CREDITS = MappingProxyType(
    {
        "vietnam_cctv": "Roboflow project luong-duc/vehicle_detection_project-8jikm (CC BY 4.0)",
        "nepal_street": "Roboflow project ai-protocol/nepali-vehicle-annotation-4u9yj, version 2 (CC BY 4.0)",
        "road_clip": "Roboflow project faiqal/traffic-object-detection-omuwi (CC BY 4.0)",
    }
)
"""The sources, and who is to be named for each."""
SEVERAL_CAMERAS = ("vietnam_cctv",)
BOUNDS = Bounds(archive_bytes=1 << 30, file_bytes=256 << 10, unpacked_bytes=1 << 30)
MOST_CROPS = 100_000
MOST_SIDE = 1024
"""Pixels."""
UNCORRECTED: Mapping[str, str] = MappingProxyType({})

Image = NDArray[np.uint8]


@dataclass(frozen=True)
class Crop:
    """One object, as a camera showed it."""

    image: Image
    label: str
    source: str
    camera: str
    name: str
    """Unlike that of every other crop of the source."""


def read(folder: Path, sources: Sequence[str] = tuple(CREDITS)) -> list[Crop]:
    """All crops of these sources, by source and name; ``DataError`` where one is missing, damaged or too large."""
    return [crop for source in sources for crop in _crops(folder / f"{source}.zip")]


def cameras(crops: Sequence[Crop]) -> list[str]:
    """The cameras of crops, sorted."""
    return sorted({crop.camera for crop in crops})


def corrected(crops: Sequence[Crop], corrections: Mapping[str, str]) -> list[Crop]:
    """The crops with other labels where the corrections, by ``source/name``, have one; without those it calls empty."""
    named = [replace(crop, label=corrections.get(f"{crop.source}/{crop.name}", crop.label)) for crop in crops]
    return [crop for crop in named if crop.label]


def read_corrections(path: Path) -> Mapping[str, str]:
    """Labels by ``source/name`` from a CSV with the columns ``crop`` and ``label``."""
    with path.open(newline="") as file:
        return {row["crop"]: row["label"] for row in csv.DictReader(file)}


def _crops(path: Path) -> Iterator[Crop]:
    source = path.stem
    try:
        with zipfile.ZipFile(path) as archive:
            members = sorted(archive.infolist(), key=lambda each: each.filename)
            if len(members) > MOST_CROPS or sum(each.file_size for each in members) > BOUNDS.unpacked_bytes:
                raise DataError(f"{path}: more than {MOST_CROPS} crops or {BOUNDS.unpacked_bytes} bytes: refused")
            for member in members:
                label, _, name = member.filename.partition("/")
                if name.endswith(".jpg"):
                    camera = name.partition("_")[0] if source in SEVERAL_CAMERAS else source
                    yield Crop(_decoded(path, archive, member), label, source, camera, name)
    except (OSError, zipfile.BadZipFile) as error:
        raise DataError(f"{path}: cannot be read as a zip of crops: {error}") from error


def _decoded(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Image:
    if member.file_size > BOUNDS.file_bytes:
        raise DataError(f"{path}: {member.filename}: larger than {BOUNDS.file_bytes} bytes: refused")
    content = archive.read(member)
    width, height = jpeg_size(content)
    if not (0 < width <= MOST_SIDE and 0 < height <= MOST_SIDE):
        raise DataError(f"{path}: {member.filename}: not a JPEG of at most {MOST_SIDE} × {MOST_SIDE} pixels")
    image: Image | None = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)
    if image is None:
        raise DataError(f"{path}: {member.filename}: damaged JPEG")
    return image
