"""The exits' answers for inputs that went through the whole network: the one thing that tuning reads. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Thresholds = NDArray[np.float64]
"""One for each exit, 0…1: an input leaves at the first exit whose error score is below it; 0: no input leaves there."""


@dataclass(frozen=True, slots=True)
class Record:
    """R exits, in the order of the network, and N inputs."""

    errors: NDArray[np.float64]
    """R × N error scores, 0…1; the surer an exit is, the lower."""
    right: NDArray[np.bool_]
    """R × N: whether the exit's answer is that of the whole network."""
    latency: NDArray[np.float64]
    """R + 1: what an input takes that leaves at each exit, then what one takes that leaves at none. Any unit."""

    @classmethod
    def of(
        cls, errors: NDArray[np.floating], right: NDArray[np.bool_], latency: Sequence[float] | NDArray[np.floating]
    ) -> Record:
        """Check the shapes; raises ValueError where they do not belong together."""
        record = cls(np.asarray(errors, np.float64), np.asarray(right, bool), np.asarray(latency, np.float64))
        if record.errors.ndim != 2 or record.right.shape != record.errors.shape:
            raise ValueError(f"errors {record.errors.shape} and right {record.right.shape} do not belong together")
        if record.latency.shape != (len(record.errors) + 1,):
            raise ValueError(f"{len(record.errors)} exits need one latency more, not {record.latency.shape}")
        return record

    @property
    def exits(self) -> int:
        """R."""
        return len(self.errors)

    @property
    def inputs(self) -> int:
        """N."""
        return int(self.errors.shape[1])
