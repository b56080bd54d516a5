from __future__ import annotations

import pytest
from msgspec.structs import replace

from operators.wire.fleet import MOST_SESSIONS
from operators.wire.schema import AskedSession
from pipelines.schedule.fleet_view import FleetView, ViewBounds
from tests.pipelines.schedule.fleets import backend, timed, told

CARS = ("cars", 200.0, 0)


def test_workers_wishes_count_and_what_others_ask_of_backends() -> None:
    view = FleetView()
    view.hear(told("w0", {"cars": 60.0}), 0.0)
    view.hear(told("w1", {"cars": 40.0, "people": 5.0}), 0.0)
    view.hear(told("b0", {"cars": 110.0, "people": 50.0}, kind="backend"), 0.0)
    assert view.asked(0.0) == {CARS: 100.0, ("people", 200.0, 0): 50.0}


def test_rates_are_means_of_the_latest_messages() -> None:
    view = FleetView()
    for number, rate in enumerate((100.0, 50.0, 50.0, 0.0)):
        view.hear(told("w0", {"cars": rate}), number)
    assert view.asked(3.0) == {CARS: 31.25}
    for number in range(4, 30):
        view.hear(told("w0"), number)
    assert view.asked(29.0) == {}


def test_a_process_that_is_silent_or_leaves_is_gone() -> None:
    view = FleetView()
    view.hear(backend("b0", "cars"), 0.0)
    view.hear(backend("b1", "cars"), 10.0)
    assert [each.id for each in view.backends(16.0)] == ["b0", "b1"]
    assert [each.id for each in view.backends(17.0)] == ["b1"]
    view.hear(backend("b1", leaving=True), 17.0)
    assert view.backends(17.0) == []
    assert view.profiles()["cars"]["cpu"].latency_s[8] == 0.024  # what it costs stays known


def test_no_single_backend_decides_what_a_model_costs() -> None:
    view = FleetView()
    for number in range(4):
        view.hear(backend(f"b{number}", "cars"), 0.0)
    liar = told("b9", kind="backend", profiles=[timed("cars", {1: 0.001})])
    view.hear(liar, 0.0)
    assert view.profiles()["cars"]["cpu"].latency_s[1] == 0.008
    view.hear(told("w0", profiles=[timed("others")]), 0.0)  # a worker has no device to measure on
    assert view.profiles().keys() == {"cars"}


def test_the_memory_of_a_model_is_the_most_that_backends_tell_and_no_single_one_decides() -> None:
    """One that had memory lying free when it loaded a network has measured too little."""
    view = FleetView()
    for number, memory in enumerate((450, 970, 500)):
        view.hear(told(f"b{number}", kind="backend", profiles=[timed("cars", memory=memory)]), 0.0)
    assert view.profiles()["cars"]["cpu"].memory_bytes == 970
    view.hear(told("b2", kind="backend", profiles=[timed("cars", memory=1 << 50)]), 1.0)
    assert view.profiles()["cars"]["cpu"].memory_bytes == 2 * 970


def test_what_most_backends_take_longer_for_is_planned_with_that() -> None:
    view = FleetView()
    for name, state, ratio in (("b0", "interfered", 2.0), ("b1", "active", 1.1), ("b2", "interfered", 3.0)):
        session = AskedSession(model="cars", slo_ms=200, asked=1, served=1, state=state, latency_ratio=ratio)  # type: ignore[arg-type]
        view.hear(replace(backend(name, "cars"), sessions=[session]), 0.0)
    assert view.profiles()["cars"]["cpu"].latency_s[1] == pytest.approx(0.024)
    view.hear(replace(backend("b2", "cars"), sessions=[session]), 0.0)
    view.hear(backend("b0", "cars"), 0.0)
    assert view.profiles()["cars"]["cpu"].latency_s[1] == pytest.approx(0.008)


def test_what_is_known_is_bounded() -> None:
    view = FleetView(ViewBounds(processes=3, profiles=2, sessions=2))
    for number in range(10):
        view.hear(told(f"w{number}", {"cars": 1.0}), 0.0)
    assert (len(view.there(0.0)), view.left_out) == (3, 7)
    view.hear(told("late", {"a": 3.0, "b": 2.0, "c": 1.0}), 20.0)  # the others are silent
    assert [key[0] for key in view.asked(20.0)] == ["a", "b"]
    view.hear(backend("b0", "a", "b", "c"), 20.0)
    assert view.profiles().keys() == {"a", "b"}


def test_profiles_of_processes_that_are_gone_make_room_where_there_is_none() -> None:
    view = FleetView(ViewBounds(profiles=2))
    view.hear(backend("b0", "a", "b"), 0.0)
    view.hear(backend("b1", "c"), 10.0)
    assert view.profiles().keys() == {"a", "b"}, "those of processes that are there stay"
    view.hear(backend("b1", "b", "c"), 20.0)  # b0 is silent
    assert view.profiles().keys() == {"b", "c"}


def test_a_process_that_tells_of_ever_other_sessions_is_remembered_with_as_many_as_a_message_has() -> None:
    view = FleetView()
    for number in range(40):
        view.hear(told("w0", {f"m{number}-{each}": 1e9 for each in range(MOST_SESSIONS)}), float(number))
    (found,) = view.there(39.0)
    assert len(found.rates) == MOST_SESSIONS


@pytest.mark.parametrize("count", [1, 40])
def test_processes_are_known_by_name_and_not_counted_twice(count: int) -> None:
    view = FleetView()
    for _ in range(count):
        view.hear(told("w0", {"cars": 10.0}), 0.0)
    assert view.asked(0.0) == {CARS: 10.0}
