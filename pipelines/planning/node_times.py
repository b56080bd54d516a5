"""What nodes take at present: a mean, and a tail that is seldom exceeded. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

QUANTILE = 0.95
"""The share of the times that should stay below the tail."""
STEP = 0.1
NEWEST = 0.1
"""Share of the newest time in the mean."""


@dataclass(slots=True)
class NodeTimes:
    """Follows times, or their ratios to what was expected, with a step each: a spike is forgotten.

    The tail goes up by a large step after a longer time, and down by many small ones.

    >>> times = NodeTimes()
    >>> for _ in range(400):
    ...     times.observe(0.020)
    >>> 0.019 < times.tail < 0.022, round(times.mean, 3)
    (True, 0.02)
    """

    tail: float = 0.0
    mean: float = 0.0
    """Both 0 before the first time."""
    least: float = 0.0
    most: float = inf

    def observe(self, took: float) -> None:
        """Take the next one."""
        if not self.tail:
            self.tail = self.mean = min(max(took, self.least), self.most)
            return
        self.mean += NEWEST * (took - self.mean)
        step = STEP * (QUANTILE if took > self.tail else QUANTILE - 1)
        self.tail = min(max(self.tail * (1 + step), self.least), self.most)


def ratio() -> NodeTimes:
    """How much longer a node takes than was measured of its model: other streams and programs, what is done around it.

    One for all models of a node, so that the ratio of a model that does not run at present is known too.
    """
    return NodeTimes(1.0, 1.0, 0.25, 16.0)
