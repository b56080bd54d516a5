"""Delivers notifications to one sink, with pictures, as often as it takes, and keeps account of how that goes.

A sink that is away is waited for, since nothing would get through. Where a sink is there and fails with one
notification, that one is given up after some attempts: the worst message must not keep back all that come after it.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Literal

from msgspec.structs import replace

from operators.extensions import raised_at
from operators.frames.codec import FrameError, preview
from operators.observer import Observers
from operators.wire.bounds import SNAPSHOT_BYTES
from operators.wire.mishaps import Mishaps
from operators.wire.schema import Event, Notification
from pipelines.observe.forward.sink import (
    Away,
    Cut,
    EventPicture,
    Failed,
    Missing,
    PictureRefused,
    Refused,
    Sink,
    Sinks,
)
from pipelines.observe.forward.sinks_file import SinkSpec
from pipelines.process.tasks import meanwhile
from serving.common.clock import SYSTEM, Clock
from serving.common.redaction import redact
from serving.common.retrying import Backoff
from serving.common.tensors import Image
from serving.common.threads import in_thread
from serving.common.untrusted import printable

log = logging.getLogger(__name__)

BACKOFF = Backoff(first_s=1.0, max_s=60.0)
PATIENCE_S = 60.0
"""A sink, or the broker, that is away for longer makes the process unhealthy."""
MOST_FAILURES = 8
"""Attempts at a notification with which the sink fails: about a minute and a half."""
LONGEST_S = 120.0
"""An attempt that has not ended by then has failed: ours end sooner, but a sink may be the user's."""
MOST_CUT = 2
"""Connections that break at a notification with its picture; then it goes without it: the sink may have a limit."""
QUALITIES = (80, 50)
"""Qualities of a picture's JPEG: the second one where the first makes too many bytes."""

Outcome = Literal["delivered", "refused", "failed", "expired", "malformed"]
"""How the delivery of a notification ended. ``refused``: the sink said that it will never take it; ``failed``: it
failed ``MOST_FAILURES`` times; ``expired``: the sink was away for too long; ``malformed``: the message was none."""
Load = Callable[[], Image]
"""Makes the image of a frame; called in a thread, raises ``FrameError`` or ValueError."""
Find = Callable[[Event], Awaitable[Load | Missing]]
"""Finds the frame that caused an event."""
Sleep = Callable[[float], Awaitable[None]]


class Delivery:
    def __init__(
        self, spec: SinkSpec, sink: Sink, observers: Observers, clock: Clock = SYSTEM, sleep: Sleep = asyncio.sleep
    ) -> None:
        self.spec, self._sink = spec, sink
        self._observers, self._clock, self._sleep = observers, clock, sleep
        self._rng = random.Random()
        self._mishaps = Mishaps(log)
        self._trouble: str | None = None
        self._since_s = 0.0
        self._under_way = 0

    def trouble(self, patience_s: float) -> str | None:
        """Why the sink has taken nothing for at least so long; None while it is well, or has nothing to take."""
        lasted_s = self._clock.monotonic_s() - self._since_s
        if self._trouble is None or not self._under_way or lasted_s < patience_s:
            return None
        return f"sink {self.spec.name} has taken nothing for {lasted_s:.0f} s: {self._trouble}"

    def ended(self, outcome: Outcome, what: Notification | str, why: str = "") -> None:
        """Count how a notification ended, and log those that were not delivered: the 1st, the 10th, the 100th."""
        self._observers.notification_ended(self.spec.name, outcome)
        if outcome != "delivered":
            said = f"{what.kind} of stream {what.stream}" if isinstance(what, Notification) else what
            self._mishaps.note(f"sink {self.spec.name}: a notification is given up ({outcome})", f"{said}: {why}")

    def waits(self, notifications: int) -> None:
        """Tell observers how many wait for the sink."""
        self._observers.sink_checked(self.spec.name, notifications)

    async def deliver(self, notice: Notification, age_s: float, find: Find) -> None:
        """Return when it was delivered or given up; ``age_s``: since it happened, ``find``: for its picture."""
        self._under_way += 1
        try:
            await self._deliver(notice, age_s, find)
        except Exception as error:  # what nobody foresaw costs this one alone
            self.ended("failed", notice, redact(f"{type(error).__name__}: {error}"))
        finally:
            self._under_way -= 1

    async def _deliver(self, notice: Notification, age_s: float, find: Find) -> None:
        began_s, failures, attempts = self._clock.monotonic_s() - max(0.0, age_s), 0, 0
        kept = notice.state is not None and self._sink.keeps_states  # a sink that is away is to know it afterwards
        if age_s >= self.spec.max_age_s and not kept:
            self.ended("expired", notice, f"it is {age_s:.0f} s old")
            return
        picture: EventPicture | None = None
        if notice.event is not None and self.spec.snapshot is not None:
            found = await _picture(find, notice.event, self.spec.snapshot.max_width)
            picture = None if isinstance(found, str) else found
            notice = replace(notice, snapshot_missing=found if isinstance(found, str) else None)
        while True:
            not_before_s = 0.0
            try:
                await self._attempt(notice, picture)
            except Refused as error:
                if isinstance(error, PictureRefused) and picture is not None:
                    picture, notice = None, replace(notice, snapshot_missing="too_large")
                    continue
                self._well()
                self.ended("refused", notice, redact(str(error)))
                return
            except (Failed, Cut) as error:
                failures += 1
                why = str(error)
                if isinstance(error, Cut) and picture is not None and failures >= MOST_CUT:
                    picture, notice = None, replace(notice, snapshot_missing="too_large")
            except Away as error:
                why, not_before_s = str(error), error.not_before_s
            except Exception as error:  # no library's surprise stops the others
                failures += 1
                why = f"{type(error).__name__}: {raised_at(error, type(self._sink))}{error}"
            else:
                self._well()
                self.ended("delivered", notice)
                return
            why = printable(redact(why), 300)
            self._ill(why)
            if (outcome := end_of(failures, self._clock.monotonic_s() - began_s, self.spec.max_age_s)) is not None:
                self.ended(outcome, notice, why)
                return
            await self._sleep(max(not_before_s, BACKOFF.delay_s(attempts, self._rng)))
            attempts += 1

    async def _attempt(self, notice: Notification, picture: EventPicture | None) -> None:
        try:
            async with asyncio.timeout(LONGEST_S) as limit:
                await self._sink.deliver(notice, picture)
        except TimeoutError:
            if not limit.expired():
                raise  # the sink's own
            raise Failed(f"it has not been taken within {LONGEST_S:g} s") from None

    def _ill(self, why: str) -> None:
        if self._trouble is None:
            self._since_s = self._clock.monotonic_s()
            log.warning("sink %s: %s; trying again", self.spec.name, why)
        self._trouble = why

    def _well(self) -> None:
        if self._trouble is not None:
            log.info("sink %s takes notifications again", self.spec.name)
        self._trouble = None


@asynccontextmanager
async def deliveries(sinks: Sinks, observers: Observers) -> AsyncIterator[list[Delivery]]:
    """The ways to sinks, which stay connected while the block runs."""
    async with AsyncExitStack() as stack:
        for _, sink in sinks:
            await stack.enter_async_context(meanwhile(sink.run()))
        yield [Delivery(spec, sink, observers) for spec, sink in sinks]


def end_of(failures: int, age_s: float, max_age_s: float) -> Outcome | None:
    """Return how the delivery ends after a failed attempt; None: another one follows.

    ``failures``: attempts that failed while the sink was there.
    """
    if failures >= MOST_FAILURES:
        return "failed"
    return "expired" if age_s >= max_age_s else None


async def _picture(find: Find, event: Event, max_width: int) -> EventPicture | Missing:
    load = await find(event)
    if isinstance(load, str):
        return load
    try:
        return await in_thread(partial(_scaled, load, max_width))
    except (FrameError, ValueError):
        return "unreadable"


def _scaled(load: Load, max_width: int) -> EventPicture | Missing:
    image = load()
    for quality in QUALITIES:
        jpeg, width, height = preview(image, max_width, quality)
        if len(jpeg) <= SNAPSHOT_BYTES:
            return EventPicture(jpeg, width, height)
    return "too_large"
