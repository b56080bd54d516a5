"""Puts the pictures together that a recogniser learns from, and those it is measured on, which it never saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from datasets import vehicle6
from datasets.street import street_crops
from specialization.shipped.samples import OTHER, Named, Samples, cifar, corners, frames, movers, pieces, usual

PERSON = "person"
LEARN_SHARE = 0.7
"""Seconds of every clip that are for training; later ones are for measuring."""
SHARES = {
    "photos": 0.37,
    "corners": 0.06,
    "people": 0.04,
    "cars from above": 0.05,
    "pieces": 0.04,
    "cifar": 0.14,
    "drawn": 0.3,
}
"""Shares of a network's pictures by kind; within each, all classes are equally frequent: no kind tells the class."""
HELD_OUT_PHOTOS = ("vehicle6 photos", "test, 15 % by hash of the file name")
DRAWN_SEED, UNSEEN_SEED = 1, 1_000_001
DRAWN_SIZE = 96


@dataclass(frozen=True)
class Amounts:
    """How many pictures of each source."""

    drawn: int = 4800
    drawn_test: int = 960
    eye_level_test: int = 420
    corners: int = 700
    pieces: int = 250
    cifar: int = 2000
    cifar_test: int = 250
    """Pictures of every class."""
    every: int = 5
    """Frames of a clip from one that is used to the next."""


@dataclass(frozen=True)
class Sources:
    """Named pictures for learning, by where they come from, and held-out ones by what the card calls them."""

    learn: Mapping[str, Sequence[Named]]
    held_out: Mapping[tuple[str, str], Sequence[Named]]
    """By (data set, split)."""

    def samples(self, classes: Sequence[str], groups: Mapping[str, str]) -> Samples:
        """Those to learn from."""
        return Samples.joined([(Samples.of(self.learn[name], classes, groups), SHARES[name]) for name in SHARES])


def collect(data: Path, amounts: Amounts, seed: int) -> Sources:
    """Read and draw everything; ``data`` has the layout of the sample data, and vehicle6 is fetched where absent."""
    rng = np.random.default_rng(seed)
    photos = vehicle6.ensure(data / "images" / "vehicle6")
    learn_photos, test_photos = vehicle6.load(photos, "train"), vehicle6.load(photos, "test")
    walk = frames(data / "videos" / "one-by-one-person-detection.mp4", amounts.every)
    people = movers(walk[1:], walk[0], PERSON, upright=True)
    indoors = frames(data / "videos" / "bottle-detection.mp4", 10 * amounts.every)
    learn = {
        "photos": learn_photos,
        "corners": corners(learn_photos, amounts.corners, rng),
        "people": _earlier(people),
        "cars from above": _cars(data / "videos" / "person-bicycle-car-detection.mp4"),
        "pieces": pieces(indoors, amounts.pieces, rng),
        "cifar": cifar(data / "images" / "cifar10_jpeg_train.npz", amounts.cifar),
        "drawn": _drawn(DRAWN_SEED, amounts.drawn),
    }
    tiny_photos = cifar(data / "images" / "cifar10_jpeg_test.npz", amounts.cifar_test)
    held_out = {
        HELD_OUT_PHOTOS: test_photos,
        ("drawn street crops", f"seed {UNSEEN_SEED}, never learnt"): _drawn(UNSEEN_SEED, amounts.drawn_test),
        ("crops drawn at eye level", f"seed {UNSEEN_SEED + 1}, never learnt"): _drawn(
            UNSEEN_SEED + 1, amounts.eye_level_test, "eye-level"
        ),
        ("corners of vehicle6 photos", "test, 15 % by hash of the file name"): corners(test_photos, 300, rng),
        ("CIFAR-10 cars", "test"): [item for item in tiny_photos if item[1] == "car"],
        ("CIFAR-10 animals, ships, aeroplanes", "test"): [item for item in tiny_photos if item[1] == OTHER],
        ("people of one-by-one-person-detection.mp4", "last 30 % of the clip"): _later(people),
        ("cars of car-detection.mp4", "a clip never learnt from"): _cars(data / "videos" / "car-detection.mp4"),
    }
    return Sources(learn, held_out)


def _cars(clip: Path) -> list[Named]:
    """Crops of large things that move in a clip of a car park."""
    scenes = frames(clip, 1)
    return movers(scenes, usual(scenes), "car", upright=False)


def _earlier(items: Sequence[Any]) -> Sequence[Any]:
    return items[: int(len(items) * LEARN_SHARE)]


def _later(items: Sequence[Any]) -> Sequence[Any]:
    return items[int(len(items) * LEARN_SHARE) :]


def _drawn(seed: int, count: int, view: str = "above") -> list[Named]:
    images, labels = street_crops(seed, count, DRAWN_SIZE, view)
    return list(zip(images, labels, strict=True))
