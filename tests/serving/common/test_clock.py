from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from serving.common import clock as clocks
from serving.common.clock import SYSTEM, SteadyClock, day_time
from tests.fake_clock import FakeClock


def test_a_steady_clock_is_not_moved_when_the_time_of_day_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    steady = SteadyClock()
    first, first_s = steady.now(), steady.monotonic_s()

    class Later(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:
            return datetime(2036, 1, 1, tzinfo=UTC)

    monkeypatch.setattr(clocks, "datetime", Later)
    assert SYSTEM.now().year == 2036
    passed_s = (steady.now() - first).total_seconds()
    assert 0 <= passed_s <= steady.monotonic_s() - first_s + 1e-3


async def test_the_system_calls_when_the_time_has_come() -> None:
    called = asyncio.Event()
    SYSTEM.call_at(SYSTEM.monotonic_s() - 1, called.set)
    await called.wait()
    SYSTEM.call_at(SYSTEM.monotonic_s() + 1e6, called.clear).cancel()


def test_a_fake_clock_calls_in_order_each_at_its_time() -> None:
    clock, called = FakeClock(monotonic_s=0.0), []
    for at_s in (3.0, 1.0, 2.0, 9.0):
        clock.call_at(at_s, lambda: called.append(clock.monotonic_s()))
    clock.call_at(1.5, lambda: called.append(-1.0)).cancel()
    clock.advance(5)
    assert called == [1.0, 2.0, 3.0]
    assert clock.monotonic_s() == 5
    clock.advance(5)
    assert called[-1] == 9.0


def test_the_time_of_day_and_sleep() -> None:
    clock = FakeClock()
    before, before_s, passed_s = clock.now(), clock.monotonic_s(), clock.passed_s()
    clock.advance(10)
    assert day_time(clock, before_s) == before
    clock.set_back(60)
    assert (clock.now() - before).total_seconds() == -50
    clock.sleep(100)
    assert clock.monotonic_s() == before_s + 10
    assert clock.passed_s() == passed_s + 110
