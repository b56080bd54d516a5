"""How long to wait after an attempt that brought nothing: twice as long each time. Pure."""

from __future__ import annotations

import msgspec

from learning.saved import Count

MOST_DOUBLINGS = 10


class RetryGap(msgspec.Struct):
    """Attempts are counted off by something that goes on meanwhile, such as the oracle's answers; plain data.

    >>> gap = RetryGap(first=100)
    >>> gap.failed(at=0)
    >>> gap.is_over(at=99), gap.is_over(at=100)
    (False, True)
    >>> gap.failed(at=100)
    >>> gap.is_over(at=299), gap.is_over(at=300)
    (False, True)
    >>> gap.succeeded()
    >>> gap.is_over(at=101)
    True
    """

    first: Count
    """The gap after the first attempt that brought nothing."""
    failures: Count = 0
    """Since the last one that brought something."""
    until: Count = 0

    def failed(self, at: int) -> None:
        """An attempt has brought nothing."""
        self.until = at + (self.first << min(self.failures, MOST_DOUBLINGS))
        self.failures += 1

    def succeeded(self) -> None:
        """An attempt has brought more than it cost."""
        self.failures = self.until = 0

    def is_over(self, at: int) -> bool:
        """Whether another attempt may be made."""
        return at >= self.until
