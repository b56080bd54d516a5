"""How long to wait before the next attempt: exponential, with jitter so that cameras do not come back in step."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays ``first_s, 2·first_s, 4·first_s …`` up to ``max_s``, each shortened by up to half at random.

    Attempts that failed for a reason that seldom passes by itself start at ``persistent_first_s``.
    """

    first_s: float = 1.0
    max_s: float = 60.0
    persistent_first_s: float = 15.0

    def delay_s(self, attempt: int, rng: random.Random, *, persistent: bool = False) -> float:
        """Seconds before attempt number ``attempt``; 0 is the first after a success."""
        first_s = self.persistent_first_s if persistent else self.first_s
        longest_s = min(self.max_s, first_s * 2.0 ** min(attempt, 32))
        return longest_s * rng.uniform(0.5, 1.0)
