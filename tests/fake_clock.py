"""A clock that tests move by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta


@dataclass(eq=False)
class _Timer:
    at_s: float
    callback: Callable[[], None]
    cancelled: bool = field(default=False)

    def cancel(self) -> None:
        self.cancelled = True


class FakeClock:
    """Stands still until it is told to move; a ``Clock``."""

    def __init__(self, monotonic_s: float = 1000.0, now: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._monotonic_s = monotonic_s
        self._now = now
        self._slept_s = 0.0
        self._timers: list[_Timer] = []

    def monotonic_s(self) -> float:
        return self._monotonic_s

    def passed_s(self) -> float:
        return self._monotonic_s + self._slept_s

    def now(self) -> datetime:
        return self._now

    def call_at(self, at_s: float, callback: Callable[[], None]) -> _Timer:
        """See ``Clock``; called by ``advance``, or by the next one if its time has come already."""
        timer = _Timer(at_s, callback)
        self._timers.append(timer)
        return timer

    def advance(self, seconds: float) -> None:
        """Let time pass; calls what is due, in order, each at its time."""
        until_s = self._monotonic_s + seconds
        while due := [timer for timer in self._timers if not timer.cancelled and timer.at_s <= until_s]:
            first = min(due, key=lambda timer: timer.at_s)
            self._timers.remove(first)
            self._pass(max(0.0, first.at_s - self._monotonic_s))
            first.callback()
        self._timers = [timer for timer in self._timers if not timer.cancelled]
        self._pass(until_s - self._monotonic_s)

    def set_back(self, seconds: float) -> None:
        """Set the time of day back, or forward by a negative number; no time passes."""
        self._now -= timedelta(seconds=seconds)

    def sleep(self, seconds: float) -> None:
        """The machine sleeps, which ``monotonic_s`` does not count."""
        self._slept_s += seconds
        self._now += timedelta(seconds=seconds)

    def _pass(self, seconds: float) -> None:
        self._monotonic_s += seconds
        self._now += timedelta(seconds=seconds)
