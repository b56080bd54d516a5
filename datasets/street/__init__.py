"""A generated street: moving people and vehicles, day and night, with the truth about every frame.
Everything follows from the seed: the same options give the same pictures.

Read in this order: ``options``, ``scene``, ``traffic``, ``furniture``, ``weather``, ``surroundings``, ``actors``,
``drawing``, ``crops``, ``portraits``, ``__main__``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from datasets.street.crops import street_crops
from datasets.street.options import parse_options
from datasets.street.scene import Scene, Seen
from datasets.street.traffic import LABELS, OTHER, TYPES, VEHICLES

__all__ = ["LABELS", "OTHER", "TYPES", "VEHICLES", "StreetFrame", "StreetObject", "open_street", "street_crops"]


@dataclass(frozen=True)
class StreetObject:
    """A moving object: ``box`` (x_min, y_min, x_max, y_max, 0…1) of its visible part, ``visible`` how much that is."""

    id: int
    label: str
    box: tuple[float, float, float, float]
    visible: float


@dataclass(frozen=True)
class StreetFrame:
    """One picture (height × width × 3, blue-green-red) and what moves in it; what is parked or blown is no object."""

    image: NDArray[np.uint8]
    media_time_s: float
    objects: tuple[StreetObject, ...]


def open_street(options: Mapping[str, str]) -> Iterator[StreetFrame]:
    """The frames of ``synthetic:street?…``; ``ValueError`` at once for an unknown option or value."""
    parsed = parse_options(options)
    count = math.ceil(parsed.duration_s * parsed.fps - 1e-6)  # those before the end
    return _frames(Scene(parsed), count, parsed.fps)


def _frames(scene: Scene, count: int, fps: float) -> Iterator[StreetFrame]:
    for number in range(count):
        image, seen = scene.render(number / fps)
        objects = tuple(_object(one, image.shape[1], image.shape[0]) for one in seen if one.actor.label != OTHER)
        yield StreetFrame(image, number / fps, objects)


def _object(seen: Seen, width: int, height: int) -> StreetObject:
    x0, y0, x1, y1 = seen.box
    box = (x0 / width, y0 / height, x1 / width, y1 / height)
    return StreetObject(seen.actor.id, seen.actor.label, box, round(seen.visible, 4))
