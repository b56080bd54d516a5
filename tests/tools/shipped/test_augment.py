"""Augmented crops are pictures again, follow the seed, and leave the original alone."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.shipped.augment import MAX_SIDE, augment


@settings(max_examples=60, deadline=None)
@given(width=st.integers(3, 400), height=st.integers(3, 400), seed=st.integers(0, 10_000))
def test_any_size_becomes_a_picture_of_bounded_size(width: int, height: int, seed: int) -> None:
    image = np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)
    before = image.copy()
    changed = augment(image, np.random.default_rng(seed))
    assert changed.dtype == np.uint8
    assert changed.ndim == 3
    assert changed.shape[2] == 3
    assert min(changed.shape[:2]) >= 4
    assert max(changed.shape[:2]) <= MAX_SIDE
    assert np.array_equal(image, before)


def test_the_same_seed_gives_the_same_picture_and_another_seed_another() -> None:
    image = np.random.default_rng(0).integers(0, 256, (100, 100, 3), np.uint8)
    first, again, other = (augment(image, np.random.default_rng(seed)) for seed in (5, 5, 6))
    assert np.array_equal(first, again)
    assert first.shape != other.shape or not np.array_equal(first, other)


def test_an_object_in_the_middle_stays_in_view() -> None:
    image = np.zeros((100, 100, 3), np.uint8)
    image[30:70, 30:70] = 255
    rng = np.random.default_rng(1)
    for _ in range(200):
        changed = augment(image, rng).mean(axis=2)
        assert changed.max() - changed.min() > 40
