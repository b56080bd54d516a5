"""Crops that are in memory already."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from serving.common.tensors import Image
from specialization.kit.crops import CropOrigin


@dataclass(frozen=True, slots=True)
class DecodedCrops:
    """See ``specialization.kit.crops.Crops``."""

    classes: Sequence[str]
    labels: Sequence[int]
    places: Sequence[CropOrigin]
    images: Sequence[Image]
    words: str = "crops"
    sha256: str = ""

    def __iter__(self) -> Iterator[Image]:
        return iter(self.images)
