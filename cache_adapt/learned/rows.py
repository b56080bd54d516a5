"""Samples of taps: what exits learn from, and what their thresholds are tuned on. Pure.

A sample is one row of float16: the taps of all cuts, one after the other, then the end's probability of each label,
then its weight and its fold. The weight is 1, or 1/ε for a row that only an audit has shown: such rows stand for all
that exits answered. All looks at an object are in one fold: exits that have not seen a fold are judged on it. The
number that goes with a sample is that of the end's word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cache_adapt.learned.pooled import ShownLooks
from cache_adapt.learned.vocabulary import Shares, WordNumbers
from learning.features import Features, as_features
from serving.errors import ModelError

LEAST_WEIGHT, MOST_WEIGHT = 1e-2, 1e4
FOLDS = 3
"""With two, exits that are judged have seen half of the samples; more take longer."""


@dataclass(frozen=True, slots=True)
class ExitRows:
    """N samples of a network with R cuts, oldest first."""

    taps: Sequence[NDArray[Any]]
    """By cut, N × values."""
    shares: Shares
    """N × L: the end's probabilities."""
    words: WordNumbers
    """N: the end's words."""
    weights: NDArray[np.float32]
    """N: how many inputs each stands for."""
    folds: NDArray[np.intp] | None = None
    """N: the fold of each, 0…``FOLDS`` − 1; None: they are in none."""
    shown: ShownLooks | None = None
    """N: the objects that they are looks at; None: nobody has said."""

    def __len__(self) -> int:
        return len(self.words)

    @classmethod
    def joined(cls, rows: Sequence[ExitRows]) -> ExitRows:
        """One after the other; there are some, all alike in what they have."""
        taps = [np.concatenate(each) for each in zip(*(few.taps for few in rows), strict=True)]
        parts = zip(*((few.shares, few.words, few.weights) for few in rows), strict=True)
        shares, words, weights = (np.concatenate(each) for each in parts)
        folds = [few.folds for few in rows if few.folds is not None]
        shown = [few.shown for few in rows if few.shown is not None]
        return cls(
            *(taps, shares, words, weights),
            np.concatenate(folds) if folds else None,
            ShownLooks.joined(shown) if shown else None,
        )

    def newest(self, most: int) -> ExitRows:
        """The last so many."""
        return self.of(slice(max(len(self) - most, 0), None))

    def of(self, rows: slice | NDArray[np.bool_] | NDArray[np.intp]) -> ExitRows:
        """Some of them."""
        taps, folds = [tap[rows] for tap in self.taps], None if self.folds is None else self.folds[rows]
        shown = None if self.shown is None else self.shown.at(rows)
        return ExitRows(taps, self.shares[rows], self.words[rows], self.weights[rows], folds, shown)

    def at(self, cuts: Sequence[int]) -> ExitRows:
        """The same with the taps of some cuts, by their places, as exits read them."""
        return replace(self, taps=[self.taps[place].astype(np.float32, copy=False) for place in cuts])

    def kept(self) -> ExitRows:
        """The same in less memory, each of the weight 1."""
        taps = [as_features(tap) for tap in self.taps]
        return replace(self, taps=taps, weights=np.ones(len(self), np.float32))


@dataclass(frozen=True, slots=True)
class RowLayout:
    """The order of the numbers in a sample.

    >>> layout, shares = RowLayout(cuts=(2, 1), labels=2), np.array([[0.75, 0.25]])
    >>> taps = [np.ones((1, 2)), np.zeros((1, 1))]
    >>> layout.packed(ExitRows(taps, shares, np.array([0]), np.array([20.0]), np.array([2]))).tolist()
    [[1.0, 1.0, 0.0, 0.75, 0.25, 20.0, 2.0]]
    """

    cuts: tuple[int, ...]
    """The values of the tap at each cut."""
    labels: int
    """L."""

    @property
    def dims(self) -> int:
        """How many numbers a sample is."""
        return sum(self.cuts) + self.labels + 2

    def packed(self, rows: ExitRows) -> Features:
        """N × ``dims``; the rows are in folds."""
        assert rows.folds is not None
        others = np.stack([rows.weights, rows.folds], axis=1)
        return as_features(np.concatenate([*rows.taps, rows.shares, others], axis=1))

    def unpacked(self, rows: NDArray[np.floating], words: NDArray[np.integer]) -> ExitRows:
        """The parts of samples of any origin, of those that say a word; ModelError where they have another layout."""
        if rows.ndim != 2 or rows.shape[1] != self.dims or words.shape != rows.shape[:1]:
            raise ModelError(f"samples of {rows.shape[1:]} numbers are not the {self.dims} of these cuts")
        says_word = (words >= 0) & (words <= self.labels)
        rows, words = rows[says_word], words[says_word]
        if not np.isfinite(rows).all():
            raise ModelError("samples hold values that are no numbers")
        *taps, shares, others = np.split(rows.astype(np.float32), np.cumsum((*self.cuts, self.labels)), axis=1)
        weights, folds = np.clip(others[:, 0], LEAST_WEIGHT, MOST_WEIGHT), np.clip(others[:, 1], 0, FOLDS - 1)
        return ExitRows(taps, np.clip(shares, 0, 1), words.astype(np.intp), weights, folds.astype(np.intp))
