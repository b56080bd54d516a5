"""Features of a training set, computed once: what heads are trained on (Shen, 2019, §5.2).

A store is a directory with ``features.npy`` (N × D, float16) and ``labels.npy`` (N, int32: the oracle's answers). The
ring of a stream's own samples has the same files and ``written.npy``; rows that are not written yet, or are being
written, have no label. Rows lie in the order in which they were seen.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learning.array_files import (
    EMPTY,
    FEATURES,
    LABELS,
    WRITTEN,
    Features,
    Labels,
    as_features,
    read,
    write_array,
)
from learning.ring import SampleRing
from serving.errors import ModelError

__all__ = ["FeatureStore", "SampleRing", "write_store"]


@dataclass(frozen=True, slots=True)
class FeatureStore:
    """N samples: what a feature network made of each, and what the oracle said."""

    features: Features
    """N × D, oldest first; mapped from the file, unless another process may be writing it."""
    labels: Labels
    """N, each ≥ 0."""

    @classmethod
    def open(cls, directory: Path) -> FeatureStore:
        """The store in a directory, or what a ring holds at this moment; ModelError where it is damaged."""
        features, labels = read(directory / FEATURES, np.float16, 2), read(directory / LABELS, np.int32, 1)
        if len(features) != len(labels):
            raise ModelError(f"{directory}: {len(features)} rows of features but {len(labels)} labels; make it anew")
        if (directory / WRITTEN).exists():
            features, labels = _snapshot(directory, features, labels)
        if len(labels) and labels.min() < 0:
            raise ModelError(f"{directory / LABELS}: labels must not be negative; make it anew")
        if not np.isfinite(features).all():
            raise ModelError(f"{directory / FEATURES}: holds values that are no numbers; make it anew")
        return cls(features, labels)


def write_store(directory: Path, features: NDArray[Any], labels: NDArray[Any]) -> None:
    """Write N × D features and N labels, each file in one step; BadInput where the place cannot be written to."""
    if features.ndim != 2 or labels.shape != features.shape[:1]:
        raise ValueError(f"features {features.shape} and labels {labels.shape} do not belong together")
    with suppress(OSError):  # a place that cannot be written to says so next
        # A store is read only when both fit: without its labels it is none.
        (directory / LABELS).unlink(missing_ok=True)
    write_array(directory / FEATURES, as_features(features))
    write_array(directory / LABELS, labels.astype(np.int32))


def _snapshot(directory: Path, features: Features, labels: Labels) -> tuple[Features, Labels]:
    """Copies of a ring's rows, oldest first, without rows that were being written."""
    written = read(directory / WRITTEN, np.int64, 1)
    if written.shape != (2,) or not len(labels):
        raise ModelError(f"{directory / WRITTEN}: damaged; delete the directory")
    finished = int(written[1])
    kept, said = np.array(features), np.array(labels)
    begun = int(written[0])
    rows = np.arange(max(begun - len(said), 0), finished) % len(said)
    rows = rows[said[rows] != EMPTY]
    return kept[rows], said[rows]
