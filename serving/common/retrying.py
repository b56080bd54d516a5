"""When to try again, and how often: one loop for threads and one for the event loop, with delays that have jitter, so
that many clients do not come back in step.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Generic, TypeVar


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


Made = TypeVar("Made")
Failure = TypeVar("Failure", bound=Exception)

OnFailure = Callable[[Failure, float], None]
"""Called after a failure that another attempt will follow, with the error and the seconds left (perhaps infinite)."""

_RNG = random.Random()


async def retrying(
    work: Callable[[], Awaitable[Made]],
    on: type[Failure] | tuple[type[Failure], ...],
    persistence: Persistence,
    on_failure: OnFailure[Failure],
) -> Made:
    """The result of the first attempt that succeeds; an error in ``on`` leads to another, the last one is raised."""
    again = _Attempts(persistence, on_failure)
    while True:
        try:
            return await work()
        except on as error:
            if (delay_s := again.delay_s(error)) is None:
                raise
        await asyncio.sleep(delay_s)


def retry(
    work: Callable[[], Made],
    on: type[Failure] | tuple[type[Failure], ...],
    persistence: Persistence,
    on_failure: OnFailure[Failure],
    pause: Callable[[float], None] = time.sleep,
) -> Made:
    """``retrying`` for a thread; ``pause`` waits between attempts, and ends them by raising."""
    again = _Attempts(persistence, on_failure)
    while True:
        try:
            return work()
        except on as error:
            if (delay_s := again.delay_s(error)) is None:
                raise
        pause(delay_s)


class _Attempts(Generic[Failure]):
    def __init__(self, persistence: Persistence, on_failure: OnFailure[Failure]) -> None:
        self._persistence, self._on_failure = persistence, on_failure
        self._began_s, self._failures = time.monotonic(), 0

    def delay_s(self, error: Failure) -> float | None:
        """Seconds before the next attempt; None where it is time to give up."""
        self._failures += 1
        waited_s = time.monotonic() - self._began_s
        delay_s = self._persistence.delay_s(self._failures, waited_s, _RNG)
        if delay_s is not None:
            self._on_failure(error, self._persistence.within_s - waited_s)
        return delay_s


MOST_PATIENCE_S = 3600.0
"""A server that asks for more time than that is asked again nevertheless."""


def asked_for_s(retry_after: str | None, now_s: float) -> float:
    """For how long a web server asks to be left alone, by its header ``Retry-After``: seconds, or a date.

    ``now_s``: since the epoch. What is neither asks for nothing (RFC 9110, 10.2.3).

    >>> [asked_for_s(said, now_s=0.0) for said in ("120", "Thu, 01 Jan 1970 00:01:00 GMT", "-1", "soon", None)]
    [120.0, 60.0, 0.0, 0.0, 0.0]
    """
    said = (retry_after or "").strip()
    if said.isascii() and said.isdigit():
        return min(float(said[:9]), MOST_PATIENCE_S)
    try:
        at_s = parsedate_to_datetime(said).timestamp()
    except (ValueError, OverflowError):
        return 0.0
    return min(max(0.0, at_s - now_s), MOST_PATIENCE_S)
