"""The loop learns from labels."""

from __future__ import annotations

import numpy as np
import torch

from serving.catalogue.cards import ImageInput
from tools.architectures.resnet import ResNet
from tools.shipped.augment import augment
from tools.shipped.networks import SMALL_STEM
from tools.shipped.samples import Samples
from tools.shipped.training import Change, Schedule, fit, to_tensor

SIZE = ImageInput(width=16, height=16, scale=1 / 255, mean=(0.5, 0.5, 0.5), std=(0.25, 0.25, 0.25))
CLASSES = ("flat", "striped")


def _stripes() -> Samples:
    flat = np.full((24, 24, 3), 120, np.uint8)
    striped = flat.copy()
    striped[::6] = striped[1::6] = striped[2::6] = 250
    return Samples.of([(flat, "flat")] * 3 + [(striped, "striped")], (*CLASSES, "other"))


def _learnt(samples: Samples, change: Change) -> list[str]:
    torch.manual_seed(0)
    network = ResNet(3, (1,), SMALL_STEM, widths=(8,))
    fit(network, SIZE, samples, Schedule(steps=60, batch=16, report_every=1000), _rng(), change)
    network.eval()
    with torch.inference_mode():
        said = network(to_tensor(SIZE, _stripes().images[2:])).argmax(1).tolist()
    return [(*CLASSES, "other")[number] for number in said]


def test_it_learns_from_labels() -> None:
    assert _learnt(_stripes(), augment) == ["flat", "striped"]


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)
