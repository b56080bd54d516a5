"""The recognisers that ship, each as data: what it tells apart, how large it is, how long it learns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from serving.architectures.resnet import ResNet, resnet18
from serving.catalogue.cards import ImageInput
from specialization.shipped.networks import thin_resnet, tiny_resnet
from specialization.shipped.training import Schedule

VEHICLE_TYPES = ("bike", "car", "juggernaut", "minibus", "pickup", "truck")
VIEWS = "obliquely from above: one road camera, a car park, drawn streets; not at eye level"


@dataclass(frozen=True)
class Stage:
    """A part of the training at one input size; small pictures first make it cheap (Howard, 2018)."""

    side: int
    schedule: Schedule


@dataclass(frozen=True)
class Recipe:
    """Everything about one recogniser but the pictures."""

    name: str
    tier: str
    description: str
    build: Callable[[int], ResNet]
    side: int
    """Pixels of the served input."""
    classes: tuple[str, ...]
    stages: tuple[Stage, ...]
    detail: int | None = None
    """Pixels of width and of height that the network is shown of a picture, whatever its input holds."""
    groups: Mapping[str, str] = field(default_factory=dict)
    """Names of the pictures → classes, where they differ."""
    start: str | None = None
    """Weights to start from, in the sample data."""
    teacher: str | None = None
    """The recogniser whose answers it learns beside the labels."""
    teacher_share: float = 0.7
    lessons: int = 10000
    """Pictures that the teacher speaks of."""
    seed: int = 1
    version: str = "1"
    views: str = ""
    """For the card: how the cameras stood that made its pictures."""
    temperature: float = 1.0
    """For the card, as ``python -m benchmarks.recognisers`` fits it, without doubts, to views not learnt from."""
    min_confidence: float = 0.0
    """For the card: by that benchmark .85 of the answers are right on oblique views that were not learnt from. Where a
    network knows nothing at eye level, one vehicle of eight at most is named there."""
    doubts: bool = False
    """Whether its confidence falls for what is unlike all that it learnt."""

    def input(self, side: int) -> ImageInput:
        """The card's input, at a size; the normalisation is ImageNet's."""
        return ImageInput(
            width=side,
            height=side,
            scale=1 / 255,
            mean=(0.485, 0.456, 0.406),
            std=(0.229, 0.224, 0.225),
            detail=self.detail,
            margin=0.08,
        )


RECIPES = (
    Recipe(
        name="vehicle-type",
        version="3",
        tier="reference",
        description="Type of a vehicle on a street seen by a surveillance camera; ResNet-18",
        build=resnet18,
        side=96,
        classes=(*VEHICLE_TYPES, "other"),
        stages=(
            Stage(64, Schedule(steps=450, rate=0.03)),
            Stage(64, Schedule(steps=450, rate=0.02)),
            Stage(64, Schedule(steps=600, rate=0.02)),
            Stage(96, Schedule(steps=90, rate=0.006)),
        ),
        detail=24,
        start="weights/resnet18_cifar10.safetensors",
        views=VIEWS,
        temperature=0.763,
        min_confidence=0.85,
        doubts=True,
    ),
    Recipe(
        name="vehicle-type-compact",
        tier="compact",
        description="Type of a vehicle on a street; a thin residual network taught by vehicle-type",
        build=thin_resnet,
        side=64,
        classes=(*VEHICLE_TYPES, "other"),
        stages=(Stage(64, Schedule(steps=1600, rate=0.1, weight_decay=1e-4, smoothing=0.0)),),
        teacher="vehicle-type",
        views=VIEWS,
        temperature=1.092,
        min_confidence=0.6,
    ),
    Recipe(
        name="street-kind",
        version="2",
        tier="compact",
        description="Person, vehicle or neither, for what moves on a street; a tiny residual network",
        build=tiny_resnet,
        side=48,
        classes=("person", "vehicle", "other"),
        stages=(Stage(48, Schedule(steps=1200, rate=0.1, weight_decay=1e-4)),),
        groups=dict.fromkeys(VEHICLE_TYPES, "vehicle"),
        views=VIEWS,
        temperature=1.101,
        min_confidence=0.85,
        doubts=True,
    ),
)
