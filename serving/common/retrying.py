"""Try until it works or patience ends: one loop for threads, one for the event loop, both without decisions."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from serving.common.backoff import Persistence

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
    rng: random.Random = _RNG,
) -> Made:
    """The result of the first attempt that succeeds; an error in ``on`` leads to another, the last one is raised."""
    began_s = time.monotonic()
    for failures in itertools.count(1):
        try:
            return await work()
        except on as error:
            waited_s = time.monotonic() - began_s
            delay_s = persistence.delay_s(failures, waited_s, rng)
            if delay_s is None:
                raise
            on_failure(error, persistence.within_s - waited_s)
        await asyncio.sleep(delay_s)
    raise AssertionError("counting has no end")


def retry(
    work: Callable[[], Made],
    on: type[Failure] | tuple[type[Failure], ...],
    persistence: Persistence,
    on_failure: OnFailure[Failure],
    pause: Callable[[float], None] = time.sleep,
    rng: random.Random = _RNG,
) -> Made:
    """``retrying`` for a thread; ``pause`` waits between attempts, and ends them by raising."""
    began_s = time.monotonic()
    for failures in itertools.count(1):
        try:
            return work()
        except on as error:
            waited_s = time.monotonic() - began_s
            delay_s = persistence.delay_s(failures, waited_s, rng)
            if delay_s is None:
                raise
            on_failure(error, persistence.within_s - waited_s)
        pause(delay_s)
    raise AssertionError("counting has no end")
