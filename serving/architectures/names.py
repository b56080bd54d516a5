"""The names of all architectures, known without PyTorch."""

from __future__ import annotations

from serving.common.explain import choices
from serving.errors import ModelError

NAMES = (
    "resnet18",
    "resnet18-cifar",
    "resnet34",
    "resnet34-cifar",
    "resnet50",
    "resnet50-cifar",
    "resnet101",
    "resnet101-cifar",
    "cifar-resnet20",
    "cifar-resnet32",
    "cifar-resnet44",
    "cifar-resnet56",
    "vgg11",
    "vgg11-bn",
    "vgg13",
    "vgg13-bn",
    "vgg16",
    "vgg16-bn",
    "mobilenet-v2",
    "o1",
    "o2",
    "s1",
    "s2",
    "f1",
    "f2",
)


def check_name(name: str) -> None:
    """Raise ModelError with a near miss where no architecture has this name."""
    if name not in NAMES:
        raise ModelError(f"unknown architecture {name!r}{choices(name, NAMES)}")
