"""Milliseconds per stage of one frame."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class TimedStage:
    """Notes how long its block took, however that ends."""

    __slots__ = ("_name", "_started", "_watch")

    def __init__(self, name: str, watch: StageStopwatch) -> None:
        self._name, self._watch = name, watch

    def __enter__(self) -> None:
        watch, self._started = self._watch, time.perf_counter()
        watch.stages_ms[self._name] = 0.0
        if not watch.open:
            watch.opened = self._started
        watch.open += 1

    def __exit__(self, *_: object) -> None:
        watch, now = self._watch, time.perf_counter()
        watch.stages_ms[self._name] = (now - self._started) * 1000
        watch.open -= 1
        if not watch.open:
            watch.in_stages_ms += (now - watch.opened) * 1000


class StageStopwatch:
    """Runs from when it is made; ``framework`` is the time in no stage, though several run at the same time."""

    __slots__ = ("_started", "in_stages_ms", "open", "opened", "stages_ms")

    def __init__(self) -> None:
        self.stages_ms: dict[str, float] = {}
        """The stages in the order in which they began; 0 until they end."""
        self.open, self.opened, self.in_stages_ms = 0, 0.0, 0.0
        """Stages that have not ended, when the first of these began, and the time in any before."""
        self._started = time.perf_counter()

    def another(self) -> StageStopwatch:
        """One that goes on from here by itself; no stage is open."""
        other = StageStopwatch()
        other.stages_ms.update(self.stages_ms)
        other.in_stages_ms, other._started = self.in_stages_ms, self._started
        return other

    def stage(self, name: str) -> TimedStage:
        return TimedStage(name, self)

    def timed(self, name: str, work: Callable[[], T]) -> T:
        with self.stage(name):
            return work()

    def finish(self) -> dict[str, float]:
        total_ms = (time.perf_counter() - self._started) * 1000
        return {**self.stages_ms, "framework": max(0.0, total_ms - self.in_stages_ms)}
