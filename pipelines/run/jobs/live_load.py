"""How busy a worker is with live frames: jobs have what is left of it.

It is the larger of two shares: of the device's time, and of the processor's, which counts what decodes and tracks too.
What a job takes of the processor cannot be told apart, so that is measured while none runs. And jobs wait where live
frames are late, whatever the shares say.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from serving.autoscale.machines import AutoscaleTerms, offline_may_run
from serving.common.clock import SYSTEM, Clock
from serving.common.threads import usable_cores
from serving.scheduling.device import DeviceStats

TERMS = AutoscaleTerms()
WINDOW_S = 2.0
EVERY_S = 0.1
SETTLES_S = 0.5
"""A job that waits has some frames in work for so long."""


class _Look(NamedTuple):
    at_s: float
    device_s: float
    """Time of the device for live frames."""
    late: int


class LiveLoad:
    def __init__(
        self,
        stats: Callable[[], DeviceStats],
        late: Callable[[], int],
        clock: Clock = SYSTEM,
        processor_s: Callable[[], float] = time.process_time,
        cores: int | None = None,
    ) -> None:
        """``late``: counts live frames that were late, or given up."""
        self._stats, self._late, self._clock, self._processor_s = stats, late, clock, processor_s
        self._cores = cores or usable_cores()
        self._seen: deque[_Look] = deque()
        self._rested: deque[tuple[float, float]] = deque()
        """Times, and the processor's, while no job runs."""
        self._rests_from_s = clock.monotonic_s()
        self._works = False
        self._processor_share = 0.0

    @property
    def busy(self) -> bool:
        """Whether jobs wait."""
        if len(self._seen) < 2:
            return False
        return self._seen[-1].late > self._seen[0].late or not offline_may_run(self.share, TERMS)

    @property
    def share(self) -> float:
        """The share of the last seconds in which the worker was at work for live frames, 0..1."""
        first, last = self._seen[0], self._seen[-1]
        device = (last.device_s - first.device_s) / (last.at_s - first.at_s) if last.at_s > first.at_s else 0.0
        return max(device, self._processor_share)

    def look(self) -> None:
        stats, now_s = self._stats(), self._clock.monotonic_s()
        self._seen.append(_Look(now_s, stats.busy_s - stats.background_s, self._late()))
        while len(self._seen) > 2 and now_s - self._seen[1].at_s >= WINDOW_S:
            self._seen.popleft()
        if not self._works and now_s >= self._rests_from_s:
            self._look_at_processor(now_s)

    async def run(self) -> None:
        """Look until this is cancelled."""
        while True:
            self.look()
            await asyncio.sleep(EVERY_S)

    @contextmanager
    def working(self) -> Iterator[None]:
        """A job runs while the block does."""
        self._begin()
        try:
            yield
        finally:
            self._rest()

    async def room(self, unless: asyncio.Event) -> None:
        """Wait until a job may go on, or that event is set."""
        if not self.busy:
            return
        self._rest()
        while self.busy and not unless.is_set():  # noqa: ASYNC110 - the counters are the device's thread's
            await asyncio.sleep(EVERY_S)
        self._begin()

    def _begin(self) -> None:
        self._works = True
        self._rested.clear()

    def _rest(self) -> None:
        self._works, self._rests_from_s = False, self._clock.monotonic_s() + SETTLES_S

    def _look_at_processor(self, now_s: float) -> None:
        self._rested.append((now_s, self._processor_s()))
        while len(self._rested) > 2 and now_s - self._rested[1][0] >= WINDOW_S:
            self._rested.popleft()
        (first_s, before_s), (last_s, after_s) = self._rested[0], self._rested[-1]
        if last_s - first_s >= WINDOW_S / 2:
            self._processor_share = (after_s - before_s) / (last_s - first_s) / self._cores
