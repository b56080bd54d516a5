"""The recognisers of types that ship, each as data: what it tells apart, how large it is, how long it learns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from serving.catalogue.cards import ImageInput
from tools.shipped.classifier import Classifier
from tools.shipped.darknet import darknet, start_darknet
from tools.shipped.lite import lite, start_lite
from tools.shipped.training import Schedule

VEHICLE_TYPES = ("car", "van", "pickup", "truck", "bus", "motorcycle", "bicycle")
VIEWS = "street cameras obliquely from above, and vehicles at eye level; by day, fewer by night"


@dataclass(frozen=True)
class Backbone:
    """Where a recogniser begins, and how that was shown pictures."""

    name: str
    build: Callable[[int], Classifier]
    """By the number of classes."""
    start: Callable[[Classifier, Path], None]
    """Takes over its weights, from the sample data or a package."""
    colour: Literal["rgb", "bgr"]
    mean: float
    std: float


@dataclass(frozen=True)
class Recipe:
    """Everything about one recogniser but the pictures."""

    name: str
    tier: str
    description: str
    side: int
    """Pixels of the input."""
    classes: tuple[str, ...]
    schedule: Schedule
    backbone: Backbone
    frozen: bool
    """Whether the early part of the backbone stays as it is."""
    looks: int = 10_000
    """Pictures, each drawn and changed once, that it learns from."""
    teacher: str | None = None
    """The recipe, made before, whose network says what those pictures show; None: their labels do."""
    seed: int = 1
    version: str = "1"
    temperature: float = 1.0
    """For the card, as ``python -m benchmarks.recognisers`` fits that of ``vehicle-type`` to cameras left out."""
    min_confidence: float = 0.0
    """For the card: from there, .9 of the names are right on the mean of the cameras that were left out."""

    def build(self) -> Classifier:
        """The network before it has learnt anything."""
        return self.backbone.build(len(self.classes))

    @property
    def input(self) -> ImageInput:
        """The card's input: as the backbone was shown pictures, but for the size."""
        return ImageInput(
            width=self.side,
            height=self.side,
            colour=self.backbone.colour,
            scale=1 / 255,
            mean=(self.backbone.mean,) * 3,
            std=(self.backbone.std,) * 3,
            resize="letterbox",
            margin=0.08,
        )


LITE = Backbone("EfficientNet-Lite0", lite, start_lite, "rgb", mean=0.498, std=0.502)
NANO = Backbone("YOLOX-nano", darknet, start_darknet, "bgr", mean=0.0, std=1.0)
RECIPES = (
    Recipe(
        name="vehicle-type",
        version="6",
        tier="reference",
        description="Type of a vehicle on a street seen by a camera; EfficientNet-Lite0",
        side=96,
        backbone=LITE,
        classes=(*VEHICLE_TYPES, "other"),
        schedule=Schedule(steps=1000, rate=3e-4, batch=256, weight_decay=0.02),
        frozen=False,
        looks=160_000,
        temperature=1.136,
        min_confidence=0.8,
    ),
    Recipe(
        name="vehicle-type-compact",
        version="4",
        tier="compact",
        description="Type of a vehicle on a street seen by a camera; YOLOX-nano's backbone, taught by vehicle-type",
        side=80,
        backbone=NANO,
        classes=(*VEHICLE_TYPES, "other"),
        schedule=Schedule(steps=6000, rate=8e-4, weight_decay=0.02),
        frozen=True,
        looks=40_000,
        teacher="vehicle-type",
        temperature=1.136,
        min_confidence=0.8,
    ),
)
