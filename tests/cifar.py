"""CIFAR-10 from the sample data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]


def images_of_test_set(data_dir: Path, count: int) -> tuple[list[Pixels], NDArray[np.int64], tuple[str, ...]]:
    """The first images of the test set (32 × 32 × 3, BGR), their labels, and the names of the classes."""
    with np.load(data_dir / "images" / "cifar10_jpeg_test.npz") as archive:
        jpeg, offsets, labels = archive["jpeg"], archive["offsets"], archive["labels"]
        classes = tuple(str(name) for name in archive["classes"])
    images = [cv2.imdecode(jpeg[offsets[i] : offsets[i + 1]], cv2.IMREAD_COLOR) for i in range(count)]
    return images, labels[:count].astype(np.int64), classes


def share_right(scores: NDArray[Any], labels: Sequence[int] | NDArray[np.int64]) -> float:
    """Top-1 accuracy of N × classes scores."""
    return float((scores.argmax(axis=1) == np.asarray(labels)).mean())
