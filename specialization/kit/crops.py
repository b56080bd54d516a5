"""The kit's input: pictures in classes, with what their names say of camera and track. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import NamedTuple

from serving.common.tensors import Image

OTHER = "other"
"""The class that means "none of these"."""
NAME_PARTS = 3


class CropOrigin(NamedTuple):
    """Where a crop was seen; empty where its name does not tell."""

    camera: str
    track: str

    @classmethod
    def of(cls, name: str) -> CropOrigin:
        """Read ``CAMERA_TRACK_NUMBER.jpg``; what has fewer parts tells nothing.

        >>> CropOrigin.of("yard_17_003.jpg"), CropOrigin.of("photo.jpg")
        (CropOrigin(camera='yard', track='yard_17'), CropOrigin(camera='', track=''))
        """
        parts = PurePath(name).stem.split("_")
        return cls(parts[0], "_".join(parts[:-1])) if len(parts) >= NAME_PARTS else cls("", "")


@dataclass(frozen=True, slots=True)
class Crops:
    """Pictures to learn from, in the order of their classes and names: neighbours may show the same object."""

    classes: Sequence[str]
    """In the order of the outputs."""
    labels: Sequence[int]
    """The class of each."""
    places: Sequence[CropOrigin]
    """Where each was seen."""
    images: Iterable[Image]
    """Each picture; gone through more than once."""
    words: str = "crops"
    """Name them, for the card."""
    notes: Sequence[str] = ()
    """Crops that were left out, one line each."""
