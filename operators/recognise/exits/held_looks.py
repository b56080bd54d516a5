"""Looks on which thresholds of exits are tuned, within a number of looks and of bytes. Pure.

They are held so that exits that are new can be tuned at once, while those in use go on answering. A look may have
taught exits: it is judged by those that have not seen its fold.
"""

from __future__ import annotations

from collections import Counter, deque

from cache_adapt.adaptation.targets import Subject
from cache_adapt.adaptation.window import OVERHEAD_BYTES
from cache_adapt.learned.rows import ExitRows

KEPT = 2400
"""The looks that are kept for the exits of one stream, or of all: the newest."""
KEPT_BYTES = 64 << 20
"""For all of them together; where there is no room, those that have most give way, with their oldest looks."""


class HeldWindows:
    """The newest looks for the exits of each stream, or of all."""

    def __init__(self, most_bytes: int = KEPT_BYTES) -> None:
        self._most_bytes = most_bytes
        self._windows: dict[Subject, deque[ExitRows]] = {}
        self._sizes = Counter[Subject]()

    @property
    def size_bytes(self) -> int:
        """The memory that all of them take."""
        return self._sizes.total()

    def add(self, subject: Subject, looks: ExitRows) -> None:
        """Keep looks, of which there are some."""
        window = self._windows.setdefault(subject, deque())
        window.append(looks.kept())
        self._sizes[subject] += size_bytes(window[-1])
        while sum(map(len, window)) - len(window[0]) >= KEPT:
            self._drop_oldest(subject)
        while self.size_bytes > self._most_bytes:
            self._drop_oldest(max(self._sizes, key=self._sizes.__getitem__))

    def of(self, subject: Subject) -> ExitRows | None:
        """Those that are kept at present; None: there are none."""
        window = self._windows.get(subject)
        return ExitRows.joined(window).newest(KEPT) if window else None

    def forget(self, subject: Subject) -> None:
        """Drop those of a stream, or of all."""
        self._windows.pop(subject, None)
        del self._sizes[subject]

    def _drop_oldest(self, subject: Subject) -> None:
        self._sizes[subject] -= size_bytes(self._windows[subject].popleft())


def size_bytes(looks: ExitRows) -> int:
    """The memory that looks take."""
    return sum(tap.nbytes for tap in looks.taps) + looks.shares.nbytes + OVERHEAD_BYTES * len(looks)
