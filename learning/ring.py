"""The newest samples of one stream and node, in files that another process may read at any time."""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learning.array_files import EMPTY, FEATURES, LABELS, WRITTEN, as_features, read, write_array
from serving.errors import ModelError

log = logging.getLogger(__name__)


class SampleRing:
    """Keeps the newest ``capacity`` samples, also over a restart.

    ``written.npy`` counts the rows whose writing began and ended. A reader notes the second, copies, and leaves out
    what began since: it waits for nobody, and neither does the writer, of which there must be only one.
    """

    def __init__(self, directory: Path, dims: int, capacity: int = 4096) -> None:
        """Open the ring, or begin a new one where there is none of this shape; BadInput where it cannot be written."""
        self._directory = directory
        try:
            self._map(dims, capacity)
        except ModelError as error:
            if (directory / WRITTEN).exists():
                log.warning("%s; the samples are collected anew", error)
            self._create(dims, capacity)
            self._map(dims, capacity)

    def add(self, features: NDArray[Any], labels: NDArray[Any]) -> None:
        """Append N × D features and the oracle's answer to each (N, ≥ 0); the oldest samples give way."""
        capacity = len(self._labels)
        features, labels = as_features(features[-capacity:]), labels[-capacity:]
        begun = int(self._written[0])
        rows = np.arange(begun, begun + len(labels)) % capacity
        self._written[0] = begun + len(labels)
        self._labels[rows] = EMPTY
        self._features[rows] = features
        self._labels[rows] = labels
        self._written[1] = begun + len(labels)

    def close(self) -> None:
        """Close the files; the samples stay."""
        del self._features, self._labels, self._written

    def _create(self, dims: int, capacity: int) -> None:
        with suppress(OSError):  # a place that cannot be written to says so next
            (self._directory / WRITTEN).unlink(missing_ok=True)
        # Whole files, not holes: a disk that is full tells so now, and not by ending the process later.
        write_array(self._directory / LABELS, np.full(capacity, EMPTY, np.int32))
        write_array(self._directory / FEATURES, np.zeros((capacity, dims), np.float16))
        write_array(self._directory / WRITTEN, np.zeros(2, np.int64))

    def _map(self, dims: int, capacity: int) -> None:
        self._written = read(self._directory / WRITTEN, np.int64, 1, "r+")
        self._labels = read(self._directory / LABELS, np.int32, 1, "r+")
        self._features = read(self._directory / FEATURES, np.float16, 2, "r+")
        if (self._written.shape, self._labels.shape, self._features.shape) != ((2,), (capacity,), (capacity, dims)):
            raise ModelError(f"{self._directory}: holds samples of another shape than {capacity} × {dims}")
        # A writer that was killed left these half done; their labels may say so no more.
        begun, ended = (int(count) for count in self._written)
        if not 0 <= ended <= begun <= ended + capacity:
            raise ModelError(f"{self._directory / WRITTEN}: damaged")
        self._labels[np.arange(ended, begun) % capacity] = EMPTY
        self._written[1] = begun
