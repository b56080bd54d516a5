"""The recognisers of types that ship, each as data: what it tells apart, how large it is, how long it learns."""

from __future__ import annotations

from dataclasses import dataclass

from serving.catalogue.cards import ImageInput
from tools.shipped.darknet import DEPTHS, Darknet
from tools.shipped.training import Schedule

VEHICLE_TYPES = ("car", "van", "pickup", "truck", "bus", "motorcycle", "bicycle")
START = "weights/yolox_nano.onnx"
"""Weights that all start from, in the sample data."""
RATE = 8e-4
VIEWS = "street cameras obliquely from above, and vehicles at eye level; by day, fewer by night"


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
    looks: int = 10_000
    """Pictures, each drawn and changed once, that it learns from."""
    stages: int = len(DEPTHS)
    """Stages of the backbone."""
    detail: int | None = None
    """Pixels of width and of height that the network is shown of a picture, whatever its input holds."""
    seed: int = 1
    version: str = "1"
    temperature: float = 1.0
    """For the card, as ``python -m benchmarks.recognisers`` fits that of ``vehicle-type`` to cameras left out."""
    min_confidence: float = 0.0
    """For the card: from there, .85 of the names are right on the mean of the cameras that were left out."""

    def build(self) -> Darknet:
        """The network before it has learnt anything."""
        return Darknet(len(self.classes), self.stages)

    @property
    def input(self) -> ImageInput:
        """The card's input: that of the detector whose backbone it is, but for the size and the scale."""
        return ImageInput(
            width=self.side,
            height=self.side,
            colour="bgr",
            scale=1 / 255,
            mean=(0.0, 0.0, 0.0),
            std=(1.0, 1.0, 1.0),
            resize="letterbox",
            detail=self.detail,
            margin=0.08,
        )


RECIPES = (
    Recipe(
        name="vehicle-type",
        version="4",
        tier="reference",
        description="Type of a vehicle on a street seen by a camera; the backbone of YOLOX-nano",
        side=96,
        detail=48,
        classes=(*VEHICLE_TYPES, "other"),
        schedule=Schedule(steps=800, rate=RATE, weight_decay=0.02),
        temperature=1.129,
        min_confidence=0.7,
    ),
    Recipe(
        name="vehicle-type-compact",
        version="2",
        tier="compact",
        description="Type of a vehicle on a street seen by a camera; the first three stages of that backbone",
        side=64,
        detail=48,
        stages=3,
        classes=(*VEHICLE_TYPES, "other"),
        schedule=Schedule(steps=600, rate=RATE, weight_decay=0.02),
        temperature=1.129,
        min_confidence=0.7,
    ),
)
