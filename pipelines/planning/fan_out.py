"""α: how often a node is asked for each item of the node before it, measured online (Shen, 2019, §3.4.2). Pure."""

from __future__ import annotations

from dataclasses import dataclass

HALF_LIFE = 50.0
"""Items after which an observation counts half."""


@dataclass(slots=True)
class FanOut:
    """The α of one edge: exponentially decayed items out per items in.

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
        """Take how many items the node before had ``given``, and how many of them came to this node."""
        kept = 0.5 ** (given / HALF_LIFE)
        self.given = kept * self.given + given
        self.taken = kept * self.taken + taken

    @property
    def alpha(self) -> float:
        """Items for each item of the node before; 1 as long as nothing is known."""
        return self.taken / self.given if self.given else 1.0
