"""How busy the networks of a process are with what hurries: jobs have what is left of it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from serving.autoscale.machines import offline_may_run
from serving.autoscale.terms import AutoscaleTerms
from serving.common.clock import SYSTEM, Clock
from serving.scheduling.device import DeviceStats

TERMS = AutoscaleTerms()
WINDOW_S = 2.0
EVERY_S = 0.1


class LiveLoad:
    """Looks at the device's counters now and then."""

    def __init__(self, stats: Callable[[], DeviceStats], clock: Clock = SYSTEM) -> None:
        self._stats, self._clock = stats, clock
        self._seen: deque[tuple[float, float]] = deque()

    @property
    def busy(self) -> bool:
        """Whether jobs wait."""
        return len(self._seen) > 1 and not offline_may_run(self.share, (), TERMS)

    @property
    def share(self) -> float:
        """The share of the last seconds in which the device worked for live frames, 0..1."""
        (first_s, before_s), (last_s, after_s) = self._seen[0], self._seen[-1]
        return (after_s - before_s) / (last_s - first_s) if last_s > first_s else 0.0

    def look(self) -> None:
        """Read the counters."""
        stats, now_s = self._stats(), self._clock.monotonic_s()
        self._seen.append((now_s, stats.busy_s - stats.background_s))
        while len(self._seen) > 2 and now_s - self._seen[1][0] >= WINDOW_S:
            self._seen.popleft()

    async def run(self) -> None:
        """Look until this is cancelled."""
        while True:
            self.look()
            await asyncio.sleep(EVERY_S)

    async def room(self, unless: asyncio.Event) -> None:
        """Wait until a job may go on, or that event is set."""
        while self.busy and not unless.is_set():  # noqa: ASYNC110 - the counters are the device's thread's
            await asyncio.sleep(EVERY_S)
