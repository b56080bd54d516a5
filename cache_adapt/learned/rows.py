"""Samples of taps: what exits learn from, and what their thresholds are tuned on. Pure.

A sample is one row of float16: the taps of all cuts, one after the other, then the end's probability of each label,
then its weight. It is 1, or 1/ε for a row that only an audit has shown: such rows stand for all that exits answered.
The number that goes with a sample is that of the end's word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cache_adapt.learned.learned_exit import Values
from cache_adapt.learned.vocabulary import Shares, WordNumbers
from learning.features import Features, as_features
from serving.errors import ModelError

LEAST_WEIGHT, MOST_WEIGHT = 1e-2, 1e4


@dataclass(frozen=True, slots=True)
class ExitRows:
    """N samples of a network with R cuts, oldest first."""

    taps: Sequence[Values]
    """By cut, N × values."""
    shares: Shares
    """N × L: the end's probabilities."""
    words: WordNumbers
    """N: the end's words."""
    weights: NDArray[np.float32]
    """N: how many inputs each stands for."""

    def __len__(self) -> int:
        return len(self.words)

    @classmethod
    def joined(cls, rows: Sequence[ExitRows]) -> ExitRows:
        """One after the other; there are some."""
        taps = [np.concatenate(each) for each in zip(*(few.taps for few in rows), strict=True)]
        parts = zip(*((few.shares, few.words, few.weights) for few in rows), strict=True)
        return cls(taps, *(np.concatenate(each) for each in parts))

    def newest(self, most: int) -> ExitRows:
        """The last so many."""
        return self.of(slice(max(len(self) - most, 0), None))

    def of(self, rows: slice | NDArray[np.bool_] | NDArray[np.intp]) -> ExitRows:
        """Some of them."""
        taps = [tap[rows] for tap in self.taps]
        return ExitRows(taps, self.shares[rows], self.words[rows], self.weights[rows])

    def at(self, cuts: Sequence[int]) -> ExitRows:
        """The same with the taps of some cuts, by their places."""
        return replace(self, taps=[self.taps[place] for place in cuts])


@dataclass(frozen=True, slots=True)
class RowLayout:
    """The order of the numbers in a sample.

    >>> layout = RowLayout(cuts=(2, 1), labels=2)
    >>> row = layout.packed([np.ones((1, 2)), np.zeros((1, 1))], np.array([[0.75, 0.25]]), np.array([20.0]))
    >>> row.tolist()
    [[1.0, 1.0, 0.0, 0.75, 0.25, 20.0]]
    """

    cuts: tuple[int, ...]
    """The values of the tap at each cut."""
    labels: int
    """L."""

    @property
    def dims(self) -> int:
        """How many numbers a sample is."""
        return sum(self.cuts) + self.labels + 1

    def packed(self, taps: Sequence[Values], shares: Shares, weights: NDArray[np.floating]) -> Features:
        """N samples (N × ``dims``) from N × values by cut, N × L and N."""
        return as_features(np.concatenate([*taps, shares, weights[:, None]], axis=1))

    def unpacked(self, rows: NDArray[np.floating], words: NDArray[np.integer]) -> ExitRows:
        """The parts of N samples, of any origin; ModelError where they are none of this layout."""
        if rows.ndim != 2 or rows.shape[1] != self.dims or words.shape != rows.shape[:1]:
            raise ModelError(f"samples of {rows.shape[1:]} numbers are not the {self.dims} of these cuts")
        if len(words) and not (words.min() >= 0 and words.max() <= self.labels):
            raise ModelError(f"samples say other words than the {self.labels + 1} of this recogniser")
        if not np.isfinite(rows).all():
            raise ModelError("samples hold values that are no numbers")
        *taps, shares, weights = np.split(rows.astype(np.float32), np.cumsum((*self.cuts, self.labels)), axis=1)
        bounded = np.clip(weights[:, 0], LEAST_WEIGHT, MOST_WEIGHT)
        return ExitRows(taps, np.clip(shares, 0, 1), words.astype(np.intp), bounded)
