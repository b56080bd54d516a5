"""Puts the pictures together that a recogniser learns from, and those it is measured on, which it never saw."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from datasets import camera_crops, vehicle6
from datasets.camera_crops import Crop
from datasets.street import TYPES as DRAWN_TYPES
from datasets.street import street_crops
from tools.shipped.recipes import Recipe
from tools.shipped.samples import (
    OTHER,
    PERSON,
    Named,
    Samples,
    cifar,
    corners,
    frames,
    ghosts,
    movers,
    pairs,
    pieces,
    riders,
    usual,
)

THREE_WHEELER, TRACTOR = "three-wheeler", "tractor"
TYPES: Mapping[str, str] = {
    **dict.fromkeys(("car", "SUV", "taxi"), "car"),
    **dict.fromkeys(("van", "micro_bus"), "van"),
    "transport_vehicle": "pickup|truck",
    "pickup": "pickup",
    **dict.fromkeys(("truck", "container_truck", "fire_engine", "mini_truck"), "truck"),
    **dict.fromkeys(("bus", "school_bus"), "bus"),
    **dict.fromkeys(("motorcycle", "bike", "scooter"), "motorcycle"),
    "bicycle": "bicycle",
    **dict.fromkeys(("auto_rickshaw", "e-rickshaw"), THREE_WHEELER),
    "tractor": TRACTOR,
    OTHER: OTHER,
}
"""Words of the sources of crops → types. Words that are not here say too little: ambulances are cars and vans."""
FOLDS = (
    ("nepal_street",),
    ("road_clip", "cam02"),
    ("cam01", "cam10"),
    ("cam03", "cam04"),
    ("cam05", "cam05n", "cam09"),
    ("mix11", "mix15"),
)
"""Cameras that are left out together, so that every one is once; those that share a place or a vehicle go together."""
CORRECTIONS = Path(__file__).parent / "corrections.csv"
"""Crops that a person reads otherwise than their source does; an empty label leaves a crop out."""
LEARN_SHARE = 0.7
"""Seconds of every clip that are for training; later ones are for measuring."""
SHARES = {
    "crops": 0.54,
    "photos": 0.10,
    "drawn": 0.12,
    "people": 0.04,
    "riders": 0.04,
    "corners": 0.05,
    "ghosts": 0.04,
    "pairs": 0.03,
    "pieces": 0.02,
    "cifar": 0.05,
}
"""Shares of a network's pictures by kind; within each, all classes are equally frequent."""
HELD_OUT_PHOTOS = ("vehicle6 photos", "test, 15 % by hash of the file name")
DRAWN_SEED, UNSEEN_SEED = 1, 1_000_001
DRAWN_SIZE = 96


@dataclass(frozen=True)
class Amounts:
    """How many pictures of each source."""

    drawn: int = 2400
    """Streets from above; a quarter as many are drawn at eye level."""
    drawn_test: int = 960
    eye_level_test: int = 420
    riders: int = 700
    corners: int = 700
    ghosts: int = 500
    pairs: int = 500
    pieces: int = 150
    """From each clip that shows no vehicle."""
    cifar: int = 400
    cifar_test: int = 250
    """Pictures of every class."""
    every: int = 5
    """Frames of a clip from one that is used to the next."""


@dataclass(frozen=True)
class Sources:
    """Named pictures for learning, by where they come from, and held-out ones by what the card calls them."""

    crops: Sequence[Crop]
    learn: Mapping[str, Sequence[Named]]
    held_out: Mapping[tuple[str, str], Sequence[Named]]
    """By (data set, split)."""
    amounts: Amounts
    seed: int

    def samples(self, recipe: Recipe, without: Collection[str] = ()) -> Samples:
        """All pictures; no crop of the cameras ``without``, nor any piece of one, is ever drawn."""
        parts = {name: Samples.of(named, recipe.classes) for name, named in self.learn.items()}
        for name, by_camera in self._by_camera().items():
            named = [each for own in by_camera.values() for each in own]
            cameras = [camera for camera, own in by_camera.items() for _ in own]
            parts[name] = Samples.of(named, recipe.classes, cameras, without)
        return Samples.joined([(parts[name], SHARES[name]) for name in SHARES])

    def _by_camera(self) -> Mapping[str, Mapping[str, Sequence[Named]]]:
        """By kind and camera: the crops, and what is made of them."""
        rng = np.random.default_rng(self.seed)
        crops = {
            camera: typed([crop for crop in self.crops if crop.camera == camera])
            for camera in camera_crops.cameras(self.crops)
        }
        crops = {camera: own for camera, own in crops.items() if own}
        ridden = {camera: [each for each in own if each[1] == "motorcycle"] for camera, own in crops.items()}
        made = {
            "riders": (riders, self.amounts.riders, {camera: own for camera, own in ridden.items() if own}),
            "corners": (corners, self.amounts.corners, crops),
            "ghosts": (ghosts, self.amounts.ghosts, crops),
            "pairs": (pairs, self.amounts.pairs, crops),
        }
        return {"crops": crops} | {
            kind: {camera: make(own, -(-count // len(of)), rng) for camera, own in of.items()}
            for kind, (make, count, of) in made.items()
        }


def typed(crops: Sequence[Crop]) -> list[Named]:
    """The crops under the names of types; words that say too little are left out."""
    return [(crop.image, TYPES[crop.label]) for crop in crops if crop.label in TYPES]


def collect(data: Path, amounts: Amounts, seed: int) -> Sources:
    """Read and draw everything; ``data`` has the layout of the sample data, and vehicle6 is fetched where absent."""
    rng = np.random.default_rng(seed)
    crops = camera_crops.corrected(camera_crops.read(data / "crops"), camera_crops.read_corrections(CORRECTIONS))
    photos = vehicle6.ensure(data / "images" / "vehicle6")
    learn_photos, test_photos = (renamed(vehicle6.load(photos, split)) for split in ("train", "test"))
    walk = frames(data / "videos" / "one-by-one-person-detection.mp4", amounts.every)
    people = movers(walk[1:], walk[0], PERSON, upright=True)
    indoors = frames(data / "videos" / "bottle-detection.mp4", 10 * amounts.every)
    learn = {
        "photos": learn_photos,
        "people": _earlier(people),
        "pieces": [*pieces(indoors, amounts.pieces, rng), *pieces(walk[:1], amounts.pieces, rng)],
        "cifar": cifar(data / "images" / "cifar10_jpeg_train.npz", amounts.cifar),
        "drawn": _drawn(DRAWN_SEED, amounts.drawn) + _drawn(DRAWN_SEED + 1, amounts.drawn // 4, "eye-level"),
    }
    held_out = {
        HELD_OUT_PHOTOS: test_photos,
        ("drawn street crops", f"seed {UNSEEN_SEED}, never learnt"): _drawn(UNSEEN_SEED, amounts.drawn_test),
        ("crops drawn at eye level", f"seed {UNSEEN_SEED + 1}, never learnt"): _drawn(
            UNSEEN_SEED + 1, amounts.eye_level_test, "eye-level"
        ),
        ("corners of vehicle6 photos", "test, 15 % by hash of the file name"): corners(test_photos, 300, rng),
        ("vehicle6 photos without the vehicle", "test, 15 % by hash of the file name"): ghosts(test_photos, 300, rng),
        ("CIFAR-10 animals, ships, aeroplanes", "test"): cifar(
            data / "images" / "cifar10_jpeg_test.npz", amounts.cifar_test
        ),
        ("people of one-by-one-person-detection.mp4", "last 30 % of the clip"): _later(people),
        ("cars of car-detection.mp4", "a clip never learnt from"): _cars(data / "videos" / "car-detection.mp4"),
    }
    return Sources(crops, learn, held_out, amounts, seed)


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
    return renamed(list(zip(images, labels, strict=True)))


def renamed(named: Sequence[Named]) -> list[Named]:
    """Vehicle photos and drawn crops under the names of types."""
    return [(image, "|".join(DRAWN_TYPES.get(name, (name,)))) for image, name in named]
