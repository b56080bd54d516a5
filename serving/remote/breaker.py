"""Keeps calls away from a server that fails: after a few failures running it is asked no more, then, ever more seldom,
by one call at a time. The delays are drawn at random, so that many clients do not come back in step.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from serving.common.retrying import Backoff


@dataclass(frozen=True, slots=True)
class BreakerRule:
    """When a breaker opens, and for how long."""

    failures: int
    """So many running open it."""
    returns: Backoff
    """From the failure that opened it to the call that tries again."""


BREAKER = BreakerRule(failures=3, returns=Backoff(first_s=0.5, max_s=30.0))


@dataclass(slots=True)
class Breaker:
    """That of one server.

    >>> breaker, rng = Breaker(), Random(1)
    >>> [breaker.failed(10.0, rng) for _ in range(BREAKER.failures + 1)]
    [True, True, True, False]
    >>> breaker.allows(10.0), breaker.allows(11.0), breaker.allows(11.0)
    (False, True, False)
    >>> breaker.succeeded()
    >>> breaker.allows(11.0)
    True
    """

    rule: BreakerRule = BREAKER
    _failures: int = field(default=0, init=False)
    _next_s: float = field(default=0.0, init=False)
    """When one call may try again, once it is open."""
    _rests_s: float = field(default=0.0, init=False)
    """Until when no call may be made, open or not."""
    _trying: bool = field(default=False, init=False)
    """Whether one does."""

    @property
    def is_open(self) -> bool:
        """Whether the server is believed not to answer."""
        return self._failures >= self.rule.failures

    def may_allow(self, now_s: float) -> bool:
        """Whether ``allows`` would say yes; takes no try."""
        return self.left_s(now_s) <= 0 and not (self.is_open and self._trying)

    def left_s(self, now_s: float) -> float:
        """Seconds until a call may be made, as far as that is known; 0 or less: none."""
        return max(self._rests_s, self._next_s if self.is_open else 0.0) - now_s

    def allows(self, now_s: float) -> bool:
        """Whether a call may be made now; what it has allowed must end as ``succeeded``, ``failed`` or ``left``."""
        if not self.may_allow(now_s):
            return False
        self._trying = self.is_open
        return True

    def succeeded(self) -> None:
        """The server has answered, be it with a refusal of what was asked."""
        self._failures, self._trying = 0, False

    def failed(self, now_s: float, rng: Random) -> bool:
        """A call has failed for the server's sake, or it did not answer in time; whether that tells anything new.

        Once it is open, calls that began before do not: only the one that tries again does.
        """
        if self.is_open and not self._trying:
            return False
        self._failures, self._trying = self._failures + 1, False
        if self.is_open:
            self._next_s = now_s + self.rule.returns.delay_s(self._failures - self.rule.failures, rng)
        return True

    def rests(self, now_s: float, seconds: float) -> None:
        """The server asks to be left alone for a while."""
        self._rests_s = max(self._rests_s, now_s + seconds)

    def returned(self) -> None:
        """The server says that it is ready, which it was not: one call may try at once."""
        self._next_s = 0.0

    def left(self) -> None:
        """A call was given up before it could tell anything."""
        self._trying = False
