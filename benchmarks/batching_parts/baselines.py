"""Batching policies that benchmarks compare ours with (Shen, 2019, §3.5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from serving.scheduling.batching import BatchDecision, Latency, R, WaitingLine, decide


class EarliestFirst:
    """The most urgent request is in time; as many others go with it as that allows (Clipper's policy)."""

    def __call__(self, queue: Sequence[R], now: float, latency: Latency, max_batch: int) -> BatchDecision[R]:
        """See ``Policy``."""
        return decide(queue, now, latency, max_batch, lambda line: (0, line.longest(0)))


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """A window of a fixed size slides to the first request that it is in time for; those before are dropped (Nexus)."""

    batch: int
    """Places: what the scheduler expects of each round."""

    def __call__(self, queue: Sequence[R], now: float, latency: Latency, max_batch: int) -> BatchDecision[R]:
        """See ``Policy``."""
        return decide(queue, now, latency, max_batch, self._window)

    def _window(self, line: WaitingLine[R]) -> tuple[int, int]:
        batch = min(self.batch, line.limit)
        windows = ((first, line.end(first, batch)) for first in range(len(line.requests)))
        return next(window for window in windows if line.in_time(*window))


class MaximalWindow:
    """The longest window that is in time for all its requests; those before are dropped."""

    def __call__(self, queue: Sequence[R], now: float, latency: Latency, max_batch: int) -> BatchDecision[R]:
        """See ``Policy``."""
        return decide(queue, now, latency, max_batch, self._window)

    def _window(self, line: WaitingLine[R]) -> tuple[int, int]:
        windows = ((first, line.longest(first)) for first in range(len(line.requests)))
        return max(windows, key=lambda window: window[1] - window[0])
