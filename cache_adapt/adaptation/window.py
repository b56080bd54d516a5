"""The newest samples of one network, of one stream or of all together, within a number of bytes. Pure.

Samples of the last hour are kept, and recent ones are drawn more often (Balasubramanian et al., 2021, §5.3 and §7.2). A
camera that sees many objects, or a class that is seen all day, does not displace the others: where there is no room,
the longest of all groups of one stream and class give way first, each with its oldest samples.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

SPAN_S = 3600.0
"""Age up to which samples are kept, as in §7.2."""
HALF_LIFE_S = 900.0
"""Age at which a sample is drawn half as often as a new one: the interval of retraining in §7.2."""
HELD_SHARE = 0.2
"""Share of every group that is held back for validation, the newest of it: as much as in §7."""
OVERHEAD_BYTES = 200
"""The bytes of a sample beside its features."""
TRIMMED = 15 / 16
"""Share of the bytes that is left when room is made, so that it is made seldom."""


class Sample(NamedTuple):
    """The oracle's answer for one object, and a network's values for it."""

    at_s: float
    """When it was seen, seconds since 1970."""
    label: int
    features: NDArray[np.float16]
    """D values."""


@dataclass(frozen=True, slots=True)
class Rows:
    """N samples, oldest first."""

    features: NDArray[np.float16]
    """N × D."""
    labels: NDArray[np.int32]
    """N."""

    def __len__(self) -> int:
        return len(self.labels)


NO_ROWS = Rows(np.empty((0, 1), np.float16), np.empty(0, np.int32))


class SampleWindow:
    """Keeps the samples of one network.

    >>> window = SampleWindow(dims=2, budget_bytes=1 << 20)
    >>> for second in range(100):
    ...     window.add("gate", Sample(float(second), second % 2, np.zeros(2, np.float16)), now_s=100.0)
    >>> training, held = window.split(now_s=100.0, most=60, rng=np.random.default_rng(0))
    >>> len(training), len(held)
    (60, 20)
    """

    def __init__(self, dims: int, budget_bytes: int, span_s: float = SPAN_S) -> None:
        """``dims``: D of all samples."""
        self.dims = dims
        self._most = max(1, budget_bytes // (OVERHEAD_BYTES + 2 * dims))
        self._span_s = span_s
        self._groups: dict[tuple[str, int], deque[Sample]] = {}
        """Each oldest first."""
        self._count = self.seen = 0

    def __len__(self) -> int:
        return self._count

    @property
    def size_bytes(self) -> int:
        return self._count * (OVERHEAD_BYTES + 2 * self.dims)

    @property
    def newest_s(self) -> float:
        """When its newest sample was seen."""
        return max((group[-1].at_s for group in self._groups.values() if group), default=-inf)

    def add(self, stream: str, sample: Sample, now_s: float) -> None:
        """Keep a sample, unless it is too old; one that seems to come from the future counts as new."""
        if sample.at_s < now_s - self._span_s:
            return
        self.seen += 1
        insort(
            self._groups.setdefault((stream, sample.label), deque()),
            sample._replace(at_s=min(sample.at_s, now_s)),
            key=_time,
        )
        self._count += 1
        if self._count > self._most:
            self._make_room(max(1, int(self._most * TRIMMED)))

    def expire(self, now_s: float) -> None:
        """Drop what has become too old."""
        oldest_s = now_s - self._span_s
        for group in self._groups.values():
            while group and group[0].at_s < oldest_s:
                group.popleft()
        self._recount()

    def shrink(self, size_bytes: int) -> None:
        """Drop old samples where there are more than so many bytes."""
        most = size_bytes // (OVERHEAD_BYTES + 2 * self.dims)
        if self._count > most:
            self._make_room(most)

    def copy(self) -> SampleWindow:
        """The same samples, to be read by a thread while others come."""
        copied = SampleWindow(self.dims, self.size_bytes, self._span_s)
        copied._groups = {key: group.copy() for key, group in self._groups.items()}
        copied._count = self._count
        return copied

    def split(self, now_s: float, most: int, rng: Generator) -> tuple[Rows, Rows]:
        """At most ``most`` samples to train on, recent ones preferred, and the newest of every group, held back.

        Parted by time, since an object that is seen again and again must not be on both sides.
        """
        older: list[Sample] = []
        newest: list[Sample] = []
        for group in self._groups.values():
            first_held = len(group) - int(len(group) * HELD_SHARE)
            older += islice(group, first_held)
            newest += islice(group, first_held, None)
        drawn = draw([now_s - each.at_s for each in older], most, rng)
        return self._rows([older[each] for each in drawn]), self._rows(newest)

    def _rows(self, samples: list[Sample]) -> Rows:
        samples.sort(key=_time)
        features = np.empty((len(samples), self.dims), np.float16)
        for row, each in zip(features, samples, strict=True):  # one by one: other threads may go on in between
            row[:] = each.features
        return Rows(features, np.array([each.label for each in samples], np.int32))

    def _make_room(self, left: int) -> None:
        level = fair_level([len(group) for group in self._groups.values()], left)
        for group in self._groups.values():
            while len(group) > level:
                group.popleft()
        self._recount()

    def _recount(self) -> None:
        self._groups = {key: group for key, group in self._groups.items() if group}
        self._count = sum(map(len, self._groups.values()))


def fair_level(sizes: Sequence[int], total: int) -> int:
    """The greatest size that groups may have so that all together are no more than ``total``, larger ones cut to it.

    >>> fair_level([10, 2, 7], 12)
    5
    """
    left = total
    for place, size in enumerate(ordered := sorted(sizes)):
        share = left // (len(ordered) - place)
        if size > share:
            return share
        left -= size
    return max(ordered, default=0)


def draw(ages_s: Sequence[float], most: int, rng: Generator) -> Sequence[int]:
    """Places of ``most`` samples drawn without replacement, each with a weight that halves with ``HALF_LIFE_S``.

    The largest of log(u) / weight, u uniform (Efraimidis and Spirakis, 2006).
    """
    if len(ages_s) <= most:
        return range(len(ages_s))
    weights = np.exp2(-np.maximum(np.asarray(ages_s), 0.0) / HALF_LIFE_S)
    keys = np.log(rng.uniform(1e-12, 1.0, len(weights))) / weights
    return [int(each) for each in np.argpartition(-keys, most)[:most]]


def _time(sample: Sample) -> float:
    return sample.at_s
