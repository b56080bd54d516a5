"""VGG (Simonyan & Zisserman, 2015): VGG-11, 13 and 16, plain or with batch normalisation.

Parameters are named as in torchvision (``features.0``, …, ``classifier.0``, ``classifier.3``, ``classifier.6``), so
public weights fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torch import Tensor, nn

from tools.architectures.initialise import initialise

WIDTHS = (64, 128, 256, 512, 512)
DEPTHS = {"vgg11": (1, 1, 2, 2, 2), "vgg13": (2, 2, 2, 2, 2), "vgg16": (2, 2, 3, 3, 3)}
"""Convolutions per stage: columns A, B and D of the paper's table 1."""
HIDDEN = 4096
GRID = 7
"""Pixels that the classifier sees on each side; 32 times that is the input which reaches it unpooled."""


class Vgg(nn.Module):
    """Stages of 3×3 convolutions, each ended by a max-pooling, and three linear layers.

    ``depths`` has the convolutions of each stage. PyTorch takes any input size, export a multiple of 224.
    """

    def __init__(self, classes: int, depths: Sequence[int], *, normalised: bool = False) -> None:
        super().__init__()
        self.features = nn.Sequential(*_features(depths, normalised))
        self.avgpool = nn.AdaptiveAvgPool2d(GRID)
        self.classifier = nn.Sequential(
            nn.Linear(WIDTHS[-1] * GRID * GRID, HIDDEN),
            nn.ReLU(),
            nn.Dropout(),
            nn.Linear(HIDDEN, HIDDEN),
            nn.ReLU(),
            nn.Dropout(),
            nn.Linear(HIDDEN, classes),
        )
        initialise(self)

    def forward(self, x: Tensor) -> Tensor:
        """N × 3 × H × W → N × classes logits."""
        logits: Tensor = self.classifier(self.avgpool(self.features(x)).flatten(1))
        return logits


def _features(depths: Sequence[int], normalised: bool) -> Iterator[nn.Module]:
    channels = 3
    for width, depth in zip(WIDTHS, depths, strict=True):
        for _ in range(depth):
            yield nn.Conv2d(channels, width, 3, padding=1)
            if normalised:
                yield nn.BatchNorm2d(width)
            yield nn.ReLU()
            channels = width
        yield nn.MaxPool2d(2)
