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

    def rows(self, chosen: NDArray[np.intp]) -> Record:
        """The same exits, some of the inputs."""
        return Record(self.errors[:, chosen], self.right[:, chosen], self.latency)

    def leaves_at(self, thresholds: Thresholds) -> NDArray[np.intp]:
        """The exit at which each input leaves; R: at none."""
        leaves = self.errors < thresholds[:, None]
        return np.where(leaves.any(axis=0), leaves.argmax(axis=0), self.exits)


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of thresholds on the inputs of a record."""

    agreement: float
    """Share of the inputs that get the whole network's answer."""
    saved: float
    """Mean latency saved, as a share of the latency without exits."""
    answered: NDArray[np.intp]
    """Inputs that leave at each exit."""
    wrong: int
    """Inputs that leave with another answer."""


def effect(record: Record, thresholds: Thresholds) -> Effect:
    """Evaluate thresholds on a record, with no inference (Dai et al., 2024 [Apparate], §3.2)."""
    place = record.leaves_at(thresholds)
    if not record.inputs:
        return Effect(1.0, 0.0, np.zeros(record.exits, np.intp), 0)
    left = np.flatnonzero(place < record.exits)
    wrong = int((~record.right[place[left], left]).sum())
    answered = np.bincount(place, minlength=record.exits + 1)[:-1]
    saved = 1 - float(record.latency[place].mean() / record.latency[-1])
    return Effect(1 - wrong / record.inputs, saved, answered, wrong)
