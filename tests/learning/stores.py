"""Samples whose classes are known to be told apart, well or badly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

DIMS = 12


def samples(
    count: int = 1600, classes: int = 6, apart: float = 4.0, seed: int = 0, dims: int = DIMS
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Clouds around the corners of a simplex, ``apart`` standard deviations from the middle."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, count).astype(np.int32)
    features = apart * np.eye(classes, dims)[labels] + rng.normal(size=(count, dims))
    return features.astype(np.float32), labels
