"""The times of nodes at present: a mean, and a tail that is seldom exceeded. Pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import ceil

QUANTILE = 0.95
"""The share of the times that should stay below the tail."""
LATEST = 64
"""Times that the tail is taken from."""
PLACES = tuple(max(min(ceil(QUANTILE * (count + 1)), count) - 1, 0) for count in range(LATEST + 1))
"""By their number: the place of the tail in their order. One more time is as likely to fall into any gap between them
as into any other, so no more than 1 - ``QUANTILE`` lie beyond; of few times it is the longest."""
NEWEST = 0.2
"""Share of the newest time in the mean."""
KEPT = 0.97
"""How much of what was known of a model's times counts after one more."""
PRIOR = 1.0
"""Weight of the belief that models take as many times longer as was measured: none; in observations."""
SHORTEST = 1e-9
LEAST_SLOWDOWN, MOST_SLOWDOWN = 0.25, 16.0


@dataclass(slots=True)
class NodeTimes:
    """Follows the times of a node.

    The tail is the mean times what the latest times seldom exceed as shares of the mean before each: so it rises and
    falls with a load, and is what was taken where that does not change.

    >>> times = NodeTimes()
    >>> for _ in range(100):
    ...     times.observe(0.020)
    >>> times.mean, times.tail
    (0.02, 0.02)
    """

    mean: float = 0.0
    """0 before the first time."""
    tail: float = 0.0
    _shares: deque[float] = field(default_factory=lambda: deque(maxlen=LATEST))

    def observe(self, took: float) -> None:
        """Take the next one."""
        if not self.mean:
            self.mean = took
        self._shares.append(took / max(self.mean, SHORTEST))
        self.mean += NEWEST * (took - self.mean)
        self.tail = self.mean * sorted(self._shares)[PLACES[len(self._shares)]]


@dataclass(slots=True)
class ModelTimes:
    """A node's times by any of its models, from their measured ones: ``extra_s + slowdown × measured``.

    ``extra_s`` is what is done around a network and the wait for others, ``slowdown`` what a busy machine makes of it.
    Both are fitted to the latest times of all models of the node, so that what a small model takes is not believed to
    be a slowdown of a large one, and a large one that does not run is not believed slow for ever. Where the times
    cannot tell the two apart, they are extra: a ridge draws ``slowdown`` to 1.

    >>> times = ModelTimes()
    >>> for _ in range(200):
    ...     times.observe(measured_s=0.002, took_s=0.005)
    >>> round(times.slowdown, 2), round(times.extra_s, 4), round(times.mean_s(0.040), 3)
    (1.0, 0.003, 0.043)
    """

    slowdown: float = 1.0
    extra_s: float = 0.0
    _over: NodeTimes = field(default_factory=lambda: NodeTimes(1.0, 1.0))
    """The times as shares of what was expected."""
    _sums: tuple[float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0)
    """Decayed: of 1, measured, its square, what was taken beyond it, and the product of the two."""

    def observe(self, measured_s: float, took_s: float) -> None:
        """Take what a node took, and what was measured of its model for as many objects, above 0."""
        if self._sums[0]:  # nothing was expected of the first
            self._over.observe(took_s / max(self.mean_s(measured_s), SHORTEST))
        beyond_s = took_s - measured_s
        n, t, tt, u, tu = self._sums
        n, t, tt = KEPT * n + 1.0, KEPT * t + measured_s, KEPT * tt + measured_s**2
        u, tu = KEPT * u + beyond_s, KEPT * tu + measured_s * beyond_s
        self._sums = n, t, tt, u, tu
        slope = (tu - t * u / n) / (tt - t * t / n + PRIOR * tt / n)
        extra_s = (u - slope * t) / n
        if extra_s < 0:  # faster than was measured
            slope, extra_s = tu / tt, 0.0
        self.slowdown = min(max(1 + slope, LEAST_SLOWDOWN), MOST_SLOWDOWN)
        self.extra_s = extra_s

    @property
    def ratio(self) -> float | None:
        """Recent times as a multiple of measured ones; None before the first time."""
        _, measured, _, beyond, _ = self._sums
        return max(measured + beyond, 1e-9) / measured if measured else None

    @property
    def tail(self) -> float:
        """The share of the mean that times seldom exceed."""
        return self._over.tail

    @property
    def tail_line(self) -> tuple[float, float]:
        """Seconds, and a factor of what was measured: together what is seldom exceeded."""
        tail = self.tail
        return tail * self.extra_s, tail * self.slowdown

    def mean_s(self, measured_s: float) -> float:
        """A node's mean time by a model that was measured to take so long."""
        return self.extra_s + self.slowdown * measured_s
