"""How long to wait for a network that does not return: pure, told the time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LOAD_FACTOR = 3.0
"""Opening a network may take so many times as long as a batch: a runtime optimises it, and its first run is slow."""
GRACE_S = 2.0
"""So long a network that was asked to end may take to do so."""
LOOKS = 20
"""So many looks are taken within the time allowed, but at least one each second."""

Verdict = Literal["wait", "interrupt", "abandon"]


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """Time limits of networks."""

    batch_s: float = 60.0

    @property
    def load_s(self) -> float:
        """For opening one and running it for the first time."""
        return self.batch_s * LOAD_FACTOR


class Patience:
    """Looks at one thing after the other and says when it has taken too long.

    Only time in which this process ran is counted: between two looks never more than twice the time that there should
    have been. A process that was frozen for an hour wakes up with a network that has taken no time meanwhile.
    """

    def __init__(self, limit_s: float, grace_s: float = GRACE_S) -> None:
        self.look_every_s = min(1.0, limit_s / LOOKS)
        self._limit_s, self._grace_s = limit_s, grace_s
        self._thing: object = None
        self._taken_s = 0.0
        self._asked_s: float | None = None
        self._last = 0.0

    def look(self, thing: object, now: float) -> Verdict:
        """The action for the thing under way; None where nothing is to be done."""
        if thing is None or thing is not self._thing:
            self._thing, self._taken_s, self._asked_s, self._last = thing, 0.0, None, now
            return "wait"
        self._taken_s += min(now - self._last, 2 * self.look_every_s)
        self._last = now
        if self._asked_s is None:
            return self._over_limit()
        return "abandon" if self._taken_s - self._asked_s >= self._grace_s else "wait"

    def _over_limit(self) -> Verdict:
        if self._taken_s < self._limit_s:
            return "wait"
        self._asked_s = self._taken_s
        return "interrupt"
