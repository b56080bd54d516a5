"""Delivers notifications to one sink, as often as it takes, and keeps account of how that goes."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable

from operators.observer import Observers
from operators.wire.mishaps import Mishaps
from operators.wire.schema import Notification
from pipelines.observe.forward.attempts import BACKOFF, Outcome, end_of
from pipelines.observe.forward.sink import Away, Failed, Picture, Refused, Sink
from pipelines.observe.forward.sinks_file import SinkSpec
from serving.common.clock import SYSTEM, Clock
from serving.common.printable import printable
from serving.common.redaction import redact

log = logging.getLogger(__name__)

AT_ONCE = 8
"""Streams of which a sink is told at the same time; what happened in one stream is told in order."""

Sleep = Callable[[float], Awaitable[None]]


class Delivery:
    """The way to one sink."""

    def __init__(
        self, spec: SinkSpec, sink: Sink, observers: Observers, clock: Clock = SYSTEM, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._name, self._sink, self._max_age_s = spec.name, sink, spec.max_age_s
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
        return f"sink {self._name} has taken nothing for {lasted_s:.0f} s: {self._trouble}"

    def ended(self, outcome: Outcome, what: str, why: str = "") -> None:
        """Count how a notification ended, and log those that were not delivered: the 1st, the 10th, the 100th."""
        self._observers.notification_ended(self._name, outcome)
        if outcome != "delivered":
            self._mishaps.note(f"sink {self._name}: a notification is given up ({outcome})", f"{what}: {why}")

    async def deliver(self, notice: Notification, picture: Picture | None, age_s: float) -> None:
        """Return when it was delivered or given up; ``age_s``: since the message was written."""
        self._under_way += 1
        try:
            await self._deliver(notice, picture, age_s)
        finally:
            self._under_way -= 1

    def waits(self, notifications: int) -> None:
        """Tell observers how many wait for the sink."""
        self._observers.sink_checked(self._name, notifications)

    async def _deliver(self, notice: Notification, picture: Picture | None, age_s: float) -> None:
        began_s, failures, attempts = self._clock.monotonic_s() - max(0.0, age_s), 0, 0
        what = f"{notice.kind} of stream {notice.stream}"
        if age_s >= self._max_age_s:
            self.ended("expired", what, f"it is {age_s:.0f} s old")
            return
        while True:
            not_before_s = 0.0
            try:
                await self._sink.deliver(notice, picture)
            except Refused as error:
                self._well()
                self.ended("refused", what, redact(str(error)))
                return
            except Failed as error:
                failures += 1
                why = str(error)
            except Away as error:
                why, not_before_s = str(error), error.not_before_s
            except Exception as error:  # no library's surprise stops the others
                failures += 1
                why = f"{type(error).__name__}: {error}"
            else:
                self._well()
                self.ended("delivered", what)
                return
            why = printable(redact(why), 300)
            self._ill(why)
            if (outcome := end_of(failures, self._clock.monotonic_s() - began_s, self._max_age_s)) is not None:
                self.ended(outcome, what, why)
                return
            await self._sleep(max(not_before_s, BACKOFF.delay_s(attempts, self._rng)))
            attempts += 1

    def _ill(self, why: str) -> None:
        if self._trouble is None:
            self._since_s = self._clock.monotonic_s()
            log.warning("sink %s: %s; trying again", self._name, why)
        self._trouble = why

    def _well(self) -> None:
        if self._trouble is not None:
            log.info("sink %s takes notifications again", self._name)
        self._trouble = None
