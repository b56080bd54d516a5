"""Crops for training: labelled, balanced, seeded, and not all alike."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from datasets.street import LABELS, street_crops


@pytest.fixture(scope="module")
def crops() -> tuple[np.ndarray, list[str]]:
    return street_crops(3, 44, 40)


def test_shape_and_balance(crops: tuple[np.ndarray, list[str]]) -> None:
    images, labels = crops
    assert images.shape == (44, 40, 40, 3)
    assert images.dtype == np.uint8
    counts = Counter(labels)
    assert set(counts) == set(LABELS)
    assert max(counts.values()) - min(counts.values()) <= 1


def test_they_show_different_things(crops: tuple[np.ndarray, list[str]]) -> None:
    images, _ = crops
    assert len({image.tobytes() for image in images}) == len(images)
    assert all(image.std() > 2 for image in images)


def test_the_order_is_mixed(crops: tuple[np.ndarray, list[str]]) -> None:
    _, labels = crops
    assert labels != sorted(labels)


@pytest.fixture(scope="module")
def few() -> tuple[np.ndarray, list[str]]:
    return street_crops(5, 9, 24)


def test_a_seed_gives_the_same_crops(few: tuple[np.ndarray, list[str]]) -> None:
    (once, names), (again, same) = few, street_crops(5, 9, 24)
    assert names == same
    assert np.array_equal(once, again)
    assert not np.array_equal(once, street_crops(4, 9, 24)[0])


def test_crops_at_eye_level_are_balanced_too_and_others(few: tuple[np.ndarray, list[str]]) -> None:
    images, labels = street_crops(5, 9, 24, "eye-level")
    assert set(labels) == set(LABELS)
    assert not np.array_equal(images, few[0])
