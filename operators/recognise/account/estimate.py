"""How long work will probably take, from a first guess and what it took before. Pure."""

from __future__ import annotations

NEWEST = 0.5
"""Share of the newest figure in the estimate."""


class Estimate:
    """Seconds of one kind of work.

    >>> estimate = Estimate(0.8)
    >>> estimate.took(0.2)
    >>> estimate.seconds
    0.2
    >>> estimate.took(0.4)
    >>> round(estimate.seconds, 3)
    0.3
    """

    def __init__(self, guess_s: float) -> None:
        self.seconds = guess_s
        self._known = False

    def took(self, seconds: float) -> None:
        """The work has taken so long; the first figure replaces the guess."""
        self.seconds = self.seconds + NEWEST * (seconds - self.seconds) if self._known else seconds
        self._known = True
