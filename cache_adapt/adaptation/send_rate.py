"""How many samples a worker sends to what trains elsewhere: some at first, then so many in a time. Pure."""

from __future__ import annotations

AT_ONCE = 1500
"""Samples that are sent at first: several doublings' worth."""
PER_S = 0.5
"""Further ones: 1,800 in an hour are as many as one training takes."""


class SendRate:
    """A bucket that fills as time passes.

    >>> rate = SendRate(now_s=0.0)
    >>> rate.sent(1500), rate.allows(1, now_s=1.0), rate.allows(1, now_s=2.0)
    (None, False, True)
    """

    def __init__(self, now_s: float) -> None:
        self._left, self._at_s = float(AT_ONCE), now_s

    def allows(self, samples: int, now_s: float) -> bool:
        """Whether so many may be sent; a batch of more than fit into the bucket never may."""
        self._left = min(AT_ONCE, self._left + max(now_s - self._at_s, 0.0) * PER_S)
        self._at_s = now_s
        return samples <= self._left

    def sent(self, samples: int) -> None:
        self._left -= samples
