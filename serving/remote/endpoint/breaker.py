"""Leaves an endpoint alone that fails or asks for it; then a single call finds out whether it is well again."""

from __future__ import annotations

import random

from serving.common.retrying import Backoff

FAILURES = 5
"""So many calls in a row that fail open it."""
RESTS = Backoff(first_s=5.0, max_s=300.0)


class CallBreaker:
    """That of one endpoint; ``now_s`` is that of a steady clock."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._failures = 0
        self._until_s = 0.0

    def left_s(self, now_s: float) -> float:
        """Seconds for which no call is to be made; 0 where one may be."""
        return max(0.0, self._until_s - now_s)

    def begin(self, now_s: float) -> None:
        """Note that a call is made: where the endpoint has failed, the others wait for its outcome."""
        if self._failures >= FAILURES:
            self._rest(now_s)

    def went_well(self) -> None:
        self._failures, self._until_s = 0, 0.0

    def failed(self, now_s: float) -> None:
        """Note a call that has failed for a reason that may pass."""
        self._failures += 1
        if self._failures >= FAILURES:
            self._rest(now_s)

    def asked(self, now_s: float, seconds: float) -> None:
        """Note that the endpoint asks to be left alone."""
        self._until_s = max(self._until_s, now_s + seconds)

    def _rest(self, now_s: float) -> None:
        self._until_s = max(self._until_s, now_s + RESTS.delay_s(self._failures - FAILURES, self._rng))
