"""When to try again, and how often: exponential delays with jitter, so that many clients do not come back in step."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays ``first_s, 2·first_s, 4·first_s …`` up to ``max_s``, each shortened by up to half at random.

    Attempts that failed for a reason that seldom passes by itself start at ``persistent_first_s``.

    >>> backoff, rng = Backoff(first_s=1.0, max_s=5.0), random.Random(1)
    >>> [round(backoff.delay_s(attempt, rng), 1) for attempt in range(5)]
    [0.6, 1.8, 3.5, 3.1, 3.7]
    >>> Persistence(backoff, attempts=3).delay_s(failures=3, waited_s=0.0, rng=rng) is None
    True
    """

    first_s: float = 1.0
    max_s: float = 60.0
    persistent_first_s: float = 15.0

    def delay_s(self, attempt: int, rng: random.Random, *, persistent: bool = False) -> float:
        """Seconds before attempt number ``attempt``; 0 is the first after a success."""
        first_s = self.persistent_first_s if persistent else self.first_s
        longest_s = min(self.max_s, first_s * 2.0 ** min(attempt, 32))
        return longest_s * rng.uniform(0.5, 1.0)


@dataclass(frozen=True, slots=True)
class Persistence:
    """How long to try one thing: with these delays, no more than so many times and no longer than so many seconds."""

    backoff: Backoff
    attempts: float = math.inf
    within_s: float = math.inf

    def delay_s(self, failures: int, waited_s: float, rng: random.Random) -> float | None:
        """Seconds before the next attempt, after so many failures; None when it is time to give up."""
        left_s = self.within_s - waited_s
        if failures >= self.attempts or left_s <= 0:
            return None
        return min(self.backoff.delay_s(failures - 1, rng), left_s)


BROKER_BACKOFF = Backoff(first_s=0.5, max_s=5.0)
"""For a broker that is away: it is asked soon after it comes back, and a restart of it costs few attempts."""
