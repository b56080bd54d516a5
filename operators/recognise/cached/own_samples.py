"""The taps of a node's own looks, with what the oracle said, kept in files for the process that builds caches."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from learning.ring import SampleRing
from serving.engines.exits import ExitOutputs

CAPACITY = 2048
"""Samples that are kept: the newest, of all streams of the node together."""


class OwnTaps:
    """A ring of samples."""

    def __init__(self, directory: Path, cuts: int) -> None:
        """``cuts``: how many places the network has."""
        self.directory, self.taken = directory, 0
        self._cuts = cuts
        self._ring: SampleRing | None = None

    def add(self, found: ExitOutputs) -> None:
        """Take what went through to the end; BadInput where the directory cannot be written."""
        through = found.place == self._cuts
        features = np.concatenate([tap[through] for tap in found.taps], axis=1)
        if self._ring is None:
            self._ring = SampleRing(self.directory, features.shape[1], CAPACITY)
        scores = found.scores[through].reshape(len(features), -1)
        self._ring.add(features, scores.argmax(axis=1).astype(np.int32))
        self.taken += len(features)

    def close(self) -> None:
        """Close the files."""
        if self._ring is not None:
            self._ring.close()
            self._ring = None
