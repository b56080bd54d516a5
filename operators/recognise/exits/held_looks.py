"""Looks on which thresholds of exits are tuned, within a number of looks and of bytes. Pure.

They are held so that exits that are new can be tuned at once, while those in use go on answering. A look may have
taught exits: it is judged by those that have not seen its fold.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cache_adapt.adaptation.targets import Subject
from cache_adapt.adaptation.window import OVERHEAD_BYTES, TRIMMED, fair_level
from cache_adapt.learned.pooled import ShownLooks
from cache_adapt.learned.rows import ExitRows
from cache_adapt.learned.vocabulary import Shares, WordNumbers
from learning.features import Features, as_features

if TYPE_CHECKING:
    from operators.recognise.exits.tapped import TappedLooks

KEPT = 2400
"""The looks that are kept for the exits of one stream, or of all: the newest."""
KEPT_BYTES = 64 << 20
"""For all of them together; where there is no room, those that have most give way, with their oldest looks."""


class HeldLooks(NamedTuple):
    """N looks, oldest first, as they are kept."""

    taps: Sequence[Features]
    """By cut, N × values."""
    shares: Shares
    words: WordNumbers
    folds: NDArray[np.intp]
    shown: ShownLooks

    @classmethod
    def of(cls, looks: TappedLooks) -> HeldLooks:
        rows = looks.rows
        assert rows.folds is not None
        return cls([as_features(tap) for tap in rows.taps], rows.shares, rows.words, rows.folds, looks.shown)

    @classmethod
    def joined(cls, looks: Sequence[HeldLooks]) -> HeldLooks:
        """One after the other; there are some."""
        taps = [np.concatenate(each) for each in zip(*(few.taps for few in looks), strict=True)]
        shares, words, folds = (np.concatenate(each) for each in zip(*(few[1:4] for few in looks), strict=True))
        return cls(taps, shares, words, folds, ShownLooks.joined([few.shown for few in looks]))

    def newest(self, most: int) -> HeldLooks:
        """The last so many."""
        last = slice(max(len(self.words) - most, 0), None)
        taps, shown = [tap[last] for tap in self.taps], self.shown.at(last)
        return HeldLooks(taps, self.shares[last], self.words[last], self.folds[last], shown)

    def rows(self, cuts: Sequence[int]) -> ExitRows:
        """Samples of them at some cuts, by their places."""
        taps = [self.taps[cut].astype(np.float32) for cut in cuts]
        return ExitRows(taps, self.shares, self.words, np.ones(len(self.words), np.float32), self.folds)

    @property
    def size_bytes(self) -> int:
        taps = sum(tap.nbytes for tap in self.taps)
        return taps + self.shares.nbytes + OVERHEAD_BYTES * len(self.words)


class HeldWindows:
    """The newest looks for the exits of each stream, or of all."""

    def __init__(self, most_bytes: int = KEPT_BYTES) -> None:
        self._most_bytes = most_bytes
        self._windows: dict[Subject, deque[HeldLooks]] = {}
        self.size_bytes = 0

    def add(self, subject: Subject, looks: TappedLooks) -> None:
        """Keep looks, of which there are some."""
        window = self._windows.setdefault(subject, deque())
        window.append(HeldLooks.of(looks))
        self.size_bytes += window[-1].size_bytes
        while _count(window) - len(window[0].words) >= KEPT:
            self._drop_oldest(window)
        if self.size_bytes > self._most_bytes:
            self._make_room()

    def of(self, subject: Subject) -> HeldLooks | None:
        """Those that are kept at present; None: there are none."""
        window = self._windows.get(subject)
        return HeldLooks.joined(window).newest(KEPT) if window else None

    def forget(self, subject: Subject) -> None:
        """Drop those of a stream, or of all."""
        self.size_bytes -= sum(each.size_bytes for each in self._windows.pop(subject, ()))

    def _make_room(self) -> None:
        sizes = {subject: sum(each.size_bytes for each in window) for subject, window in self._windows.items()}
        level_bytes = fair_level(list(sizes.values()), int(self._most_bytes * TRIMMED))
        for subject, window in self._windows.items():
            size_bytes = sizes[subject]
            while size_bytes > level_bytes and window:
                size_bytes -= self._drop_oldest(window)

    def _drop_oldest(self, window: deque[HeldLooks]) -> int:
        dropped_bytes = window.popleft().size_bytes
        self.size_bytes -= dropped_bytes
        return dropped_bytes


def _count(window: deque[HeldLooks]) -> int:
    return sum(len(each.words) for each in window)
