"""The windows of all subjects, within a number and a number of bytes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cache_adapt.adaptation.targets import Subject
from cache_adapt.adaptation.window import TRIMMED, Sample, SampleWindow, fair_level

WINDOW_BYTES = 16 << 20
"""For one window."""
WINDOWS_BYTES = 128 << 20
"""For all of them together; where there is no room, the largest give way first, each with its oldest samples."""
MOST_WINDOWS = 256
"""Beyond these the smallest gives way."""


class SampleWindows:
    """One window for each subject and number of values: samples with another number must not displace the others."""

    def __init__(self, budget_bytes: int = WINDOWS_BYTES) -> None:
        self._budget_bytes = budget_bytes
        self._windows: dict[Subject, dict[int, SampleWindow]] = {}
        self.size_bytes = 0

    def __len__(self) -> int:
        """The samples of all windows."""
        return sum(len(window) for _, _, window in self._all())

    def add(self, subject: Subject, stream: str, samples: Sequence[Sample], now_s: float) -> None:
        """Keep samples of a stream, all with as many values."""
        dims = len(samples[0].features)
        fresh = SampleWindow(dims, min(WINDOW_BYTES, self._budget_bytes))
        window = self._windows.setdefault(subject, {}).setdefault(dims, fresh)
        before_bytes = window.size_bytes
        for sample in samples:
            window.add(stream, sample, now_s)
        self.size_bytes += window.size_bytes - before_bytes
        if window is fresh:
            self._limit()
        if self.size_bytes > self._budget_bytes:
            self._make_room()

    def of(self, subject: Subject, dims: int) -> SampleWindow:
        """The samples of a subject with so many values; an empty window where there are none."""
        return self._windows.get(subject, {}).get(dims) or SampleWindow(dims, WINDOW_BYTES)

    def expire(self, now_s: float) -> None:
        """Drop what has become too old."""
        for subject, dims, window in list(self._all()):
            window.expire(now_s)
            if not len(window):
                self._drop(subject, dims)
        self._count()

    def _all(self) -> Iterator[tuple[Subject, int, SampleWindow]]:
        for subject, windows in self._windows.items():
            for dims, window in windows.items():
                yield subject, dims, window

    def _limit(self) -> None:
        known = list(self._all())
        if len(known) > MOST_WINDOWS:
            subject, dims, _ = min(known, key=lambda each: len(each[2]))
            self._drop(subject, dims)
            self._count()

    def _make_room(self) -> None:
        sizes = [window.size_bytes for _, _, window in self._all()]
        level_bytes = fair_level(sizes, int(self._budget_bytes * TRIMMED))
        for _, _, window in self._all():
            window.shrink(level_bytes)
        self._count()

    def _drop(self, subject: Subject, dims: int) -> None:
        del self._windows[subject][dims]
        if not self._windows[subject]:
            del self._windows[subject]

    def _count(self) -> None:
        self.size_bytes = sum(window.size_bytes for _, _, window in self._all())
