"""The loop learns, from labels and from a teacher."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from serving.architectures.resnet import ResNet
from serving.catalogue.cards import ImageInput
from serving.common.tensors import Image
from specialization.shipped.augment import augment, nudge
from specialization.shipped.networks import SMALL_STEM
from specialization.shipped.samples import Samples
from specialization.shipped.training import Change, Schedule, fit, taught, to_tensor

SIZE = ImageInput(width=16, height=16, scale=1 / 255, mean=(0.5, 0.5, 0.5), std=(0.25, 0.25, 0.25))
CLASSES = ("flat", "striped")


def _stripes() -> Samples:
    flat = np.full((24, 24, 3), 120, np.uint8)
    striped = flat.copy()
    striped[::6] = striped[1::6] = striped[2::6] = 250
    return Samples.of([(flat, "flat")] * 3 + [(striped, "striped")], (*CLASSES, "other"))


def _contrary(images: Sequence[Image]) -> NDArray[np.float32]:
    """A teacher that calls stripes flat and the flat striped."""
    striped = np.array([float(image.astype(np.float32).mean(axis=(1, 2)).std() > 8) for image in images])
    return np.stack([striped, 1 - striped, np.zeros(len(images))], axis=1, dtype=np.float32)


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


def test_it_believes_its_teacher() -> None:
    lessons = taught(_stripes(), 100, _contrary, share=1.0, rng=_rng())
    assert len(lessons) == 100
    assert _learnt(lessons, nudge) == ["striped", "flat"]


def test_teacher_and_labels_share_the_targets() -> None:
    lessons = taught(_stripes(), 50, lambda images: np.full((len(images), 3), 1 / 3, np.float32), 0.6, _rng())
    assert {tuple(round(float(share), 2) for share in row) for row in lessons.targets} == {
        (0.6, 0.2, 0.2),
        (0.2, 0.6, 0.2),
    }


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)
