"""Milliseconds per stage of one frame."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Stage:
    """Notes how long its block took, however that ends."""

    __slots__ = ("_name", "_stages_ms", "_started")

    def __init__(self, name: str, stages_ms: dict[str, float]) -> None:
        self._name, self._stages_ms = name, stages_ms

    def __enter__(self) -> None:
        self._started = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._stages_ms[self._name] = (time.perf_counter() - self._started) * 1000


class Stopwatch:
    """Runs from when it is made; ``framework`` is what no stage accounts for."""

    def __init__(self) -> None:
        self.stages_ms: dict[str, float] = {}
        """The stages that have ended, in that order."""
        self._started = time.perf_counter()

    def stage(self, name: str) -> Stage:
        """Time within the block counts for the stage."""
        return Stage(name, self.stages_ms)

    def timed(self, name: str, work: Callable[[], T]) -> T:
        """Do the work as a stage."""
        with self.stage(name):
            return work()

    def finish(self) -> dict[str, float]:
        """All stages in order."""
        total_ms = (time.perf_counter() - self._started) * 1000
        return {**self.stages_ms, "framework": max(0.0, total_ms - sum(self.stages_ms.values()))}
