"""How much longer nodes take at present than was measured of their variants: other streams, a busy machine. Pure."""

from __future__ import annotations

from dataclasses import dataclass

QUANTILE = 0.95
"""The share of nodes' times that should stay below what is expected."""
STEP = 0.1
LEAST, MOST = 0.25, 16.0


@dataclass(slots=True)
class Slowdown:
    """A factor that follows a quantile of the times: up by a large step after a longer one, down by many small ones.

    One for all variants of a device: a variant that does not run for a while gets no faster or slower by itself.

    >>> slowdown = Slowdown()
    >>> for _ in range(400):
    ...     slowdown.observe(expected_s=0.010, took_s=0.020)
    >>> 1.9 < slowdown.factor < 2.3
    True
    """

    factor: float = 1.0

    def observe(self, expected_s: float, took_s: float) -> None:
        """Take what a node took, and what was measured of its variant for as many objects."""
        if expected_s <= 0:
            return
        longer = took_s > self.factor * expected_s
        step = STEP * (QUANTILE if longer else QUANTILE - 1)
        self.factor = min(max(self.factor * (1 + step), LEAST), MOST)
