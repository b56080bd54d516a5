"""How long nodes take at present and how often they are asked, learnt from the frames before. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
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


FORGETTING = 1.05
"""A slower frame raises the least time by no more than this factor: one fast frame is forgotten in some dozens."""


class Downstream:
    """The least time that the nodes after a node need, by what they took; 0 until they have run."""

    def __init__(self, groups: Sequence[Sequence[str]]) -> None:
        """``groups``: in the order in which they run, the nodes that run at the same time."""
        self._groups = groups
        self._least_s: dict[str, float] = {}
        self._after_s = {name: 0.0 for group in groups for name in group}

    def observe(self, stages_ms: Mapping[str, float]) -> None:
        """Take in how long the nodes of one analysed frame took; other stages are passed over."""
        after_s, least_s = 0.0, self._least_s
        for group in reversed(self._groups):
            longest_s = 0.0
            for name in group:
                self._after_s[name] = after_s
                if (took_ms := stages_ms.get(name)) is not None:
                    took_s = took_ms / 1000
                    least_s[name] = min(took_s, least_s.get(name, took_s) * FORGETTING)
                longest_s = max(longest_s, least_s.get(name, 0.0))
            after_s += longest_s

    def after(self, node: str) -> float:
        """Seconds between a node's end and the last node's, at least."""
        return self._after_s[node]


HALF_LIFE = 50.0
"""Items after which an observation counts half."""


@dataclass(slots=True)
class FanOut:
    """The α of one edge (Shen, 2019, §3.4.2): exponentially decayed items out per items in.

    >>> fan_out = FanOut()
    >>> fan_out.alpha
    1.0
    >>> for _ in range(1000):
    ...     fan_out.observe(1, 3)
    >>> round(fan_out.alpha, 2)
    3.0
    """

    given: float = 0.0
    taken: float = 0.0

    def observe(self, given: int, taken: int) -> None:
        kept = 0.5 ** (given / HALF_LIFE)
        self.given = kept * self.given + given
        self.taken = kept * self.taken + taken

    @property
    def alpha(self) -> float:
        """Items for each item of the node before; 1 as long as nothing is known."""
        return self.taken / self.given if self.given else 1.0
