"""The windows of all subjects, within a number and a number of bytes. Pure."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from cache_adapt.adaptation.targets import Subject
from cache_adapt.adaptation.window import HALF_LIFE_S, TRIMMED, Sample, SampleWindow, fair_level

log = logging.getLogger(__name__)

WINDOW_BYTES = 16 << 20
"""For one window."""
WINDOWS_BYTES = 128 << 20
"""For all of them together; where there is no room, the largest give way first, each with its oldest samples."""
MOST_WINDOWS = 256
"""With so many, one that has had no sample for ``HALF_LIFE_S`` gives way to another; else none begins."""


class SampleWindows:
    """One window for each subject and number of values: samples with another number must not displace the others."""

    def __init__(self, budget_bytes: int = WINDOWS_BYTES) -> None:
        self._budget_bytes = budget_bytes
        self._windows: dict[tuple[Subject, int], SampleWindow] = {}
        self.size_bytes = 0
        self._full = False
        """Whether the last one that came found no room."""

    def __len__(self) -> int:
        """The samples of all windows."""
        return sum(map(len, self._windows.values()))

    def add(self, subject: Subject, stream: str, samples: Sequence[Sample], now_s: float) -> None:
        """Keep samples of a stream, all with as many values."""
        dims = len(samples[0].features)
        window = self._windows.get((subject, dims))
        if window is None:
            was_full, self._full = self._full, not self._has_room(now_s)
            if self._full:
                if not was_full:
                    log.warning(
                        "%d windows of samples are in use: nothing is learnt of stream %s, nor of others that come: "
                        "give some streams a query of their own",
                        MOST_WINDOWS,
                        stream,
                    )
                return
            window = self._windows[subject, dims] = SampleWindow(dims, min(WINDOW_BYTES, self._budget_bytes))
        before_bytes = window.size_bytes
        for sample in samples:
            window.add(stream, sample, now_s)
        self.size_bytes += window.size_bytes - before_bytes
        if self.size_bytes > self._budget_bytes:
            self._make_room()

    def of(self, subject: Subject, dims: int) -> SampleWindow:
        """The samples of a subject with so many values; an empty window where there are none."""
        return self._windows.get((subject, dims)) or SampleWindow(dims, WINDOW_BYTES)

    def expire(self, now_s: float) -> None:
        """Drop what has become too old."""
        for window in self._windows.values():
            window.expire(now_s)
        self._windows = {key: window for key, window in self._windows.items() if len(window)}
        self._count()

    def _has_room(self, now_s: float) -> bool:
        """Whether another window may begin, for which the one that has had no sample for longest gives way.

        Those that still get samples stay: windows of many streams would else displace each other for ever.
        """
        if len(self._windows) >= MOST_WINDOWS:
            quiet = min(self._windows, key=lambda each: self._windows[each].newest_s)
            if now_s - self._windows[quiet].newest_s < HALF_LIFE_S:
                return False
            del self._windows[quiet]
            self._count()
        return True

    def _make_room(self) -> None:
        sizes = [window.size_bytes for window in self._windows.values()]
        level_bytes = fair_level(sizes, int(self._budget_bytes * TRIMMED))
        for window in self._windows.values():
            window.shrink(level_bytes)
        self._count()

    def _count(self) -> None:
        self.size_bytes = sum(window.size_bytes for window in self._windows.values())
