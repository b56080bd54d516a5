"""The loop learns from labels."""

from __future__ import annotations

import numpy as np
import torch

from tests.tools.shipped.stripes import CLASSES, SIZE, stripes
from tools.architectures.resnet import ResNet
from tools.shipped.augment import augment
from tools.shipped.networks import SMALL_STEM
from tools.shipped.samples import Samples
from tools.shipped.training import Change, Schedule, fit, to_tensor


def _learnt(samples: Samples, change: Change) -> list[str]:
    torch.manual_seed(0)
    network = ResNet(3, (1,), SMALL_STEM, widths=(8,))
    fit(network, SIZE, samples, Schedule(steps=60, batch=16, report_every=1000), _rng(), change)
    network.eval()
    with torch.inference_mode():
        said = network(to_tensor(SIZE, stripes().images[2:])).argmax(1).tolist()
    return [(*CLASSES, "other")[number] for number in said]


def test_it_learns_from_labels() -> None:
    assert _learnt(stripes(), augment) == ["flat", "striped"]


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)
