"""Our own architecture: a thin residual network."""

from __future__ import annotations

from tools.architectures.resnet import ResNet, Stem

SMALL_STEM = Stem(3, 2, pool=False)


def tiny_resnet(classes: int) -> ResNet:
    """Three thin stages of two blocks, 0.1 million parameters."""
    return ResNet(classes, (2, 2, 2), SMALL_STEM, widths=(12, 24, 48))
