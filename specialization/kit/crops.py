"""The kit's input: pictures in classes, with what their names say of camera and track. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import NamedTuple, Protocol

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


class Crops(Protocol):
    """Pictures to learn from, in the order of their classes and names: neighbours may show the same object."""

    @property
    def words(self) -> str:
        """Name them, for the card."""

    @property
    def sha256(self) -> str:
        """Identify them."""

    @property
    def classes(self) -> Sequence[str]:
        """In the order of the outputs."""

    @property
    def labels(self) -> Sequence[int]:
        """The class of each."""

    @property
    def places(self) -> Sequence[CropOrigin]:
        """Where each was seen."""

    def __iter__(self) -> Iterator[Image]:
        """Each picture in turn."""
