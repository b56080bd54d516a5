"""The compact networks of cascades: O1, O2 (objects), S1, S2 (scenes), F1, F2 (faces) (Shen, 2019, appendix B).

A network is a column of table B.1. Pooling counts windows that the border cuts off, as Caffe does: only so do the
multiply-adds of O1 come out, and F2 keeps a plane. O2 and S2 have two 3×3 convolutions, which table 5.1's .43 GFLOP
confirm; that table's figures for S1, F1 and F2 do not follow from table B.1, which gives .77, .61 and .09 GFLOP.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn

from tools.architectures.initialise import initialise


class Conv(NamedTuple):
    """A convolution with ReLU."""

    kernel: int
    maps: int
    stride: int
    padding: int


class Pool(NamedTuple):
    """A max-pooling."""

    kernel: int
    stride: int


@dataclass(frozen=True, slots=True)
class Plan:
    """One column of the table; ``hidden`` are the linear layers before the classifier."""

    size: int
    """Pixels of the square input."""
    classes: int
    features: tuple[Conv | Pool, ...]
    hidden: tuple[int, ...]


_WIDE = (
    *(Conv(11, 96, 4, 0), Pool(3, 2), Conv(5, 256, 2, 2), Pool(3, 2)),
    *(Conv(3, 384, 1, 1), Conv(3, 384, 1, 1), Conv(3, 256, 1, 1), Pool(3, 2)),
)
_THIN = (
    *(Conv(11, 64, 4, 0), Pool(3, 2), Conv(5, 256, 2, 2), Pool(3, 2)),
    *(Conv(3, 256, 1, 1), Conv(3, 256, 1, 1), Pool(3, 2)),
)
_FACE = (
    *(Conv(3, 64, 2, 1), Pool(2, 2), Conv(3, 128, 1, 1), Pool(2, 2)),
    *(Conv(3, 256, 1, 1), Pool(2, 2), Conv(3, 256, 1, 1), Pool(2, 2)),
)
_STRIDING_FACE = (
    *(Conv(3, 64, 2, 1), Pool(2, 2), Conv(3, 128, 2, 1), Pool(2, 2)),
    *(Conv(3, 128, 2, 1), Pool(2, 2), Conv(3, 256, 2, 1), Pool(2, 2)),
)

PLANS: Mapping[str, Plan] = {
    "o1": Plan(227, 1000, _WIDE, hidden=(4096, 4096)),
    "o2": Plan(227, 1000, _THIN, hidden=(1024, 2048)),
    "s1": Plan(227, 205, _WIDE, hidden=(2048, 2048)),
    "s2": Plan(227, 205, _THIN, hidden=(1024, 2048)),
    "f1": Plan(152, 2622, _FACE, hidden=(2048, 2048)),
    "f2": Plan(152, 2622, _STRIDING_FACE, hidden=(1024, 1024)),
}


class Compact(nn.Module):
    """Convolutions and linear layers by a plan, each with ReLU, but for the last, which says logits."""

    def __init__(self, classes: int, plan: Plan) -> None:
        super().__init__()
        self.features = nn.Sequential(*_features(plan))
        with torch.no_grad():
            flat = self.features(torch.zeros(1, 3, plan.size, plan.size)).numel()
        self.classifier = nn.Sequential(*_classifier((flat, *plan.hidden)), nn.Linear(plan.hidden[-1], classes))
        initialise(self)

    def forward(self, x: Tensor) -> Tensor:
        """N × 3 × size × size → N × classes logits."""
        logits: Tensor = self.classifier(self.features(x).flatten(1))
        return logits


def _features(plan: Plan) -> Iterator[nn.Module]:
    channels = 3
    for layer in plan.features:
        if isinstance(layer, Pool):
            yield nn.MaxPool2d(layer.kernel, layer.stride, ceil_mode=True)
        else:
            yield nn.Conv2d(channels, layer.maps, layer.kernel, layer.stride, layer.padding)
            yield nn.ReLU()
            channels = layer.maps


def _classifier(sizes: tuple[int, ...]) -> Iterator[nn.Module]:
    for inputs, outputs in pairwise(sizes):
        yield nn.Linear(inputs, outputs)
        yield nn.ReLU()
