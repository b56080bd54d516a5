from __future__ import annotations

import math
from weakref import WeakKeyDictionary

import pytest

from serving.scheduling.health import State
from serving.scheduling.latency import LatencyTable
from serving.scheduling.monitor import LOOK_S, Health, Monitor, saturation

PROFILE = LatencyTable({1: 0.010, 4: 0.020})
"""At its peak 200 items/s, in batches of 4."""


looks: WeakKeyDictionary[Monitor, int] = WeakKeyDictionary()
"""How often each monitor has looked; all begin at 0 s."""


def after(monitor: Monitor, batches: int, items: int, seconds: float) -> Health:
    """The look after one interval with so many batches."""
    for _ in range(batches):
        monitor.ran(items, seconds)
    looks[monitor] = looks.get(monitor, 0) + 1
    return monitor.health(PROFILE, looks[monitor] * LOOK_S)


def test_the_peak_is_that_of_the_best_batch() -> None:
    assert saturation(PROFILE, 4) == pytest.approx(200)
    assert saturation(PROFILE, 1) == pytest.approx(100)
    assert math.isinf(saturation(LatencyTable({}), 4))


def test_an_idle_network_is_active_without_load() -> None:
    assert after(Monitor(PROFILE, 4, 0.0), 0, 0, 0.0) == Health(State.ACTIVE, 0.0)


def test_load_is_the_share_of_the_peak() -> None:
    health = after(Monitor(PROFILE, 4, 0.0), 50, 4, 0.020)
    assert (health.state, health.load) == (State.ACTIVE, pytest.approx(0.5))


def test_at_its_peak_it_is_overloaded_until_it_is_relieved() -> None:
    monitor = Monitor(PROFILE, 4, 0.0)
    states = [after(monitor, batches, 4, 0.020).state for batches in (98, 88, 60)]
    assert states == [State.OVERLOADED, State.OVERLOADED, State.ACTIVE]


def test_slower_than_its_profile_it_is_interfered() -> None:
    monitor = Monitor(PROFILE, 4, 0.0)
    states = [after(monitor, 10, 4, seconds).state for seconds in (0.040, 0.026, 0.021)]
    assert states == [State.INTERFERED, State.INTERFERED, State.ACTIVE]


def test_without_a_profile_nothing_is_slower_than_it_should_be() -> None:
    assert after(Monitor(None, 4, 0.0), 10, 4, 0.040).state is State.ACTIVE


def test_between_looks_the_last_one_holds() -> None:
    monitor = Monitor(PROFILE, 4, 0.0)
    assert after(monitor, 98, 4, 0.020).state is State.OVERLOADED
    assert monitor.health(PROFILE, LOOK_S + 0.1).state is State.OVERLOADED
