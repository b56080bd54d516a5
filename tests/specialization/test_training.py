"""The loop learns, sees every class equally often, and follows its teacher."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from serving.cards import ImageInput
from specialization.networks import ResNet
from specialization.samples import Image, Samples
from specialization.training import Schedule, balance, fit, to_tensor

SIZE = ImageInput(width=16, height=16, scale=1 / 255, mean=(0.5, 0.5, 0.5), std=(0.25, 0.25, 0.25))
CLASSES = ("flat", "striped")


def _stripes() -> Samples:
    flat = np.full((24, 24, 3), 120, np.uint8)
    striped = flat.copy()
    striped[::6] = striped[1::6] = striped[2::6] = 250
    return Samples.of([(flat, "flat")] * 3 + [(striped, "striped")], (*CLASSES, "other"))


def _learnt(teacher_share: float, swap: bool) -> list[str]:
    torch.manual_seed(0)
    samples = _stripes()
    network = ResNet(classes=3, widths=(8,), blocks=1, wide_stem=False)

    def teacher(images: Sequence[Image]) -> NDArray[np.float32]:
        striped = np.array([float(image.astype(np.float32).mean(axis=(1, 2)).std() > 8) for image in images])
        first, second = (striped, 1 - striped) if swap else (1 - striped, striped)
        return np.stack([first, second, np.zeros(len(images))], axis=1, dtype=np.float32)

    schedule = Schedule(steps=60, rate=0.05, batch=16, teacher_share=teacher_share, report_every=1000)
    fit(network, SIZE, samples, schedule, np.random.default_rng(0), teacher if teacher_share else None)
    network.eval()
    with torch.inference_mode():
        said = network(to_tensor(SIZE, samples.images[2:])).argmax(1).tolist()
    return [(*CLASSES, "other")[number] for number in said]


def test_it_learns_from_labels() -> None:
    assert _learnt(teacher_share=0.0, swap=False) == ["flat", "striped"]


def test_it_believes_its_teacher_as_far_as_the_schedule_says() -> None:
    assert _learnt(teacher_share=1.0, swap=True) == ["striped", "flat"]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=40))
def test_every_class_and_in_it_every_origin_has_the_same_chance(items: list[tuple[int, int]]) -> None:
    labels, origins = (np.array(column) for column in zip(*items, strict=True))
    chances = balance(np.eye(4, dtype=np.float32)[labels], origins)
    assert chances.sum() == pytest.approx(1)
    for label in set(labels.tolist()):
        of_label = labels == label
        assert chances[of_label].sum() == pytest.approx(1 / len(set(labels.tolist())))
        present = set(origins[of_label].tolist())
        for origin in present:
            assert chances[of_label & (origins == origin)].sum() == pytest.approx(
                chances[of_label].sum() / len(present)
            )
