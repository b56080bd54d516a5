"""Training samples of the recognisers: pictures with names, from photos, clips, CIFAR-10 and the drawn street.

A name may be several, joined by ``|``, where a source cannot tell which of them is right.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import av
import cv2
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from serving.common.tensors import Image

Named = tuple[Image, str]

OTHER, PERSON = "other", "person"
ROAD_VEHICLES = ("automobile", "truck")
UPPER = (0.3, 0.45)
"""Shares of the height of a rider's crop that show no wheel yet."""
EDGE = 0.07
"""Share of width and height in which a crop shows mostly ground."""


@dataclass(frozen=True)
class Samples:
    """Pictures of any size and what a network shall say of each: N × classes, every row adds up to 1."""

    images: Sequence[Image]
    targets: NDArray[np.float32]
    chances: NDArray[np.float64]
    """Chance of being drawn; they sum to 1."""

    @classmethod
    def of(
        cls,
        named: Iterable[Named],
        classes: Sequence[str],
        cameras: Sequence[str] = (),
        without: Collection[str] = (),
    ) -> Samples:
        """Names that are no class count as ``other``; ``cameras``: that of each picture, where there are several.

        What cameras ``without`` show is never drawn.
        """
        images, targets = [], []
        for image, name in named:
            row = np.zeros(len(classes), np.float32)
            for part in name.split("|"):
                row[classes.index(part if part in classes else OTHER)] += 1
            images.append(image)
            targets.append(row / row.sum())
        table = np.array(targets, np.float32).reshape(-1, len(classes))
        wanted = np.array([camera not in without for camera in cameras or [""] * len(table)], bool)
        chances = np.zeros(len(table))
        chances[wanted] = evenly(table[wanted], [camera for camera in cameras if camera not in without])
        return cls(images, table, chances)

    @classmethod
    def joined(cls, parts: Sequence[tuple[Samples, float]]) -> Samples:
        """One after the other; of what is drawn each part makes up its share, given beside it."""
        whole = sum(share for part, share in parts if part.chances.any())
        return cls(
            [image for part, _ in parts for image in part.images],
            np.concatenate([part.targets for part, _ in parts]),
            np.concatenate([part.chances * (share / whole) for part, share in parts]),
        )

    def __len__(self) -> int:
        return len(self.images)


def evenly(targets: NDArray[np.float32], cameras: Sequence[str] = ()) -> NDArray[np.float64]:
    """Chances by which every different target is drawn equally often.

    Within those of a target, a camera has its share by the root of what it shows: many pictures of few cameras are
    less than they seem.
    """
    if not len(targets):
        return np.zeros(0)
    _, target = np.unique(targets, axis=0, return_inverse=True)
    _, camera = np.unique(np.array(cameras or [""] * len(targets)), return_inverse=True)
    pair = target.reshape(-1) * (camera.max() + 1) + camera
    chances: NDArray[np.float64] = 1 / np.sqrt(np.bincount(pair)[pair])
    chances /= np.bincount(target.reshape(-1), chances)[target.reshape(-1)]
    chances /= chances.sum()
    return chances


def corners(photos: Sequence[Named], count: int, rng: Generator) -> list[Named]:
    """Small pieces cut from the corners of vehicle photos: road, shadow, and bits of vehicle too small to name."""
    return [(_corner(photos[i][0], rng), OTHER) for i in rng.integers(0, len(photos), count)]


def riders(crops: Sequence[Named], count: int, rng: Generator) -> list[Named]:
    """Heads and shoulders of those who ride: persons as street cameras show them, and nothing that they ride on."""
    found = []
    for i in rng.integers(0, len(crops), count):
        image = crops[i][0]
        found.append((image[: max(4, int(rng.uniform(*UPPER) * image.shape[0]))], PERSON))
    return found


def pairs(crops: Sequence[Named], count: int, rng: Generator) -> list[Named]:
    """Two vehicles side by side, as in a box that holds both."""
    chosen = rng.integers(0, len(crops), (count, 2))
    return [(_beside(crops[left][0], crops[right][0]), OTHER) for left, right in chosen]


def _beside(left: Image, right: Image) -> Image:
    height = max(8, (left.shape[0] + right.shape[0]) // 2)
    widths = [max(6, round(image.shape[1] * height / image.shape[0])) for image in (left, right)]
    resized = [cv2.resize(image, (width, height)) for image, width in zip((left, right), widths, strict=True)]
    return np.asarray(np.hstack(resized), np.uint8)


def ghosts(photos: Sequence[Named], count: int, rng: Generator) -> list[Named]:
    """Photos of vehicles without the vehicle: the ground about it goes on across, as where one has been."""
    return [(_ghost(photos[i][0]), OTHER) for i in rng.integers(0, len(photos), count)]


def _ghost(image: Image) -> Image:
    height, width = image.shape[:2]
    inside = np.zeros((height, width), np.uint8)
    top, left = max(2, int(EDGE * height)), max(2, int(EDGE * width))
    inside[top : height - top, left : width - left] = 255
    found: Image = cv2.inpaint(image, inside, 3, cv2.INPAINT_TELEA)
    return found


def _corner(image: Image, rng: Generator) -> Image:
    height, width = image.shape[:2]
    w, h = (int(side * rng.uniform(0.15, 0.32)) for side in (width, height))
    left, top = rng.choice((0, width - w)), rng.choice((0, height - h))
    return image[top : top + h, left : left + w]


def cifar(path: Path, per_class: int) -> list[Named]:
    """The first pictures of every class of a CIFAR-10 archive that is no vehicle of the road.

    The archive has ``jpeg``, ``offsets``, ``labels`` and ``classes``.
    """
    with np.load(path) as archive:
        jpeg, offsets, labels = archive["jpeg"], archive["offsets"], archive["labels"]
        classes = [str(name) for name in archive["classes"]]
    named = []
    for number in (number for number, name in enumerate(classes) if name not in ROAD_VEHICLES):
        for i in np.flatnonzero(labels == number)[:per_class]:
            image = np.asarray(cv2.imdecode(jpeg[offsets[i] : offsets[i + 1]], cv2.IMREAD_COLOR), np.uint8)
            named.append((image, OTHER))
    return named


def frames(path: Path, every: int) -> list[Image]:
    """Every n-th frame of a clip."""
    with av.open(str(path)) as container:
        return [frame.to_ndarray(format="bgr24") for i, frame in enumerate(container.decode(video=0)) if i % every == 0]


def movers(clip: Sequence[Image], empty: Image, name: str, upright: bool) -> list[Named]:
    """Cut out large things that the empty scene has not, scattered changes aside; ``upright``: higher than wide."""
    ground = cv2.GaussianBlur(empty, (9, 9), 0)
    named = []
    for frame in clip:
        changed = cv2.absdiff(cv2.GaussianBlur(frame, (9, 9), 0), ground).max(axis=2) > 40
        mask = cv2.morphologyEx(changed.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((31, 19), np.uint8))
        _, _, stats, _ = cv2.connectedComponentsWithStats(mask)
        for left, top, width, height, area in stats[1:]:
            whole = 0.03 * mask.size < area < 0.3 * mask.size and area > 0.55 * width * height
            if whole and (height > width or not upright):
                named.append((frame[top : top + height, left : left + width], name))
    return named


def usual(clip: Sequence[Image]) -> Image:
    """The median picture of the clip, which it shows most of the time."""
    median: Image = np.median(np.stack(clip[::8]), axis=0).astype(np.uint8)
    return median


def pieces(clip: Sequence[Image], count: int, rng: Generator) -> list[Named]:
    """Boxes anywhere in a clip that shows nothing we know."""
    named = []
    for i in rng.integers(0, len(clip), count):
        height, width = clip[i].shape[:2]
        w, h = (int(width * rng.uniform(0.05, 0.3)) for _ in range(2))
        left, top = rng.integers(0, width - w), rng.integers(0, height - min(h, height - 1))
        named.append((clip[i][top : top + h, left : left + w], OTHER))
    return named
