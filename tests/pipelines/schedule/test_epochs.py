from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from operators.wire.fleet import LEAST_MS, MOST_DEVICE_KINDS, MOST_RATE
from operators.wire.schema import AskedSession, FleetPlacement, from_json, to_json
from pipelines.schedule import steady
from pipelines.schedule.epochs import Epochs, EpochStart, EpochTerms
from pipelines.schedule.fleet_view import FleetView
from pipelines.schedule.steady import SteadyRates
from serving.placement.demands import DeviceKind
from tests.pipelines.schedule.fleets import AT, backend, timed, told

KINDS = [DeviceKind("cpu", 1 << 30, 1.0, most=5)]


class Scheduler:
    """One that hears of a fleet, at a clock that stands where it is put."""

    def __init__(self, name: str = "s0", kinds: list[DeviceKind] | None = None) -> None:
        self.view = FleetView()
        self.epochs = Epochs(self.view, EpochTerms(KINDS if kinds is None else kinds), name)
        self.epoch, self.now_s = 0, 0.0

    def backends(self, *names: str, ready: list[str] | None = None) -> None:
        for name in names:
            self.view.hear(backend(name, "cars", "people", ready=ready or []), self.now_s)

    def next(self) -> FleetPlacement:
        self.epoch += 1
        task = self.epochs.begin(self.now_s)
        found = self.epochs.end(self.epoch, EpochStart(AT, self.now_s, partitions=4), task, task.plan())
        assert from_json(to_json(found), FleetPlacement) == found
        return found


def served(placement: FleetPlacement) -> dict[str, list[str]]:
    return {each.id: sorted(session.model for session in each.sessions) for each in placement.backends}


def test_sessions_are_placed_with_room_for_what_varies() -> None:
    one = Scheduler()
    one.backends("b0", "b1")
    one.view.hear(told("w0", {"cars": 300.0, "people": 20.0}, busy=0.2), 0.0)
    found = one.next()
    rates = {session.model: 0.0 for each in found.backends for session in each.sessions}
    for each in found.backends:
        for session in each.sessions:
            rates[session.model] += session.rate
            assert (session.slo_ms, session.duty_cycle_ms) == (200.0, session.duty_cycle_ms)
    assert rates["cars"] >= 345
    assert not found.shed
    assert [(each.wanted, each.running) for each in found.wanted] == [(2, 2)]
    assert found.workers == 1


def test_more_kinds_of_devices_than_a_placement_tells_leave_the_others_placed() -> None:
    one = Scheduler(kinds=[])
    for number in range(MOST_DEVICE_KINDS + 2):
        one.view.hear(backend(f"b{number}", "cars", device=f"k{number:03}"), 0.0)
    one.view.hear(told("w0", {"cars": 10.0}), 0.0)
    found = one.next()
    assert len(found.backends) == len(found.wanted) == MOST_DEVICE_KINDS
    assert sum(len(each.sessions) for each in found.backends) == 1
    assert not one.epochs.is_due(0.0)


def test_sessions_whose_times_are_as_good_as_one_are_told_within_the_largest_rate() -> None:
    one = Scheduler()
    one.backends("b0")
    asked = [AskedSession(model="cars", slo_ms=100 + part, asked=MOST_RATE, served=0.0) for part in (1e-4, 2e-4)]
    one.view.hear(replace(told("w0"), sessions=asked), 0.0)
    (shed,) = one.next().shed
    assert shed.rate == MOST_RATE


def test_workers_are_wanted_at_once_and_two_minutes_longer_also_by_the_next_leader() -> None:
    one, other = Scheduler(), Scheduler("s1")
    wanted: list[int] = []
    for now_s, lag in ((0.0, 300), (30.0, 0), (119.0, 0), (121.0, 0)):
        one.now_s = now_s
        one.view.hear(told("w0", {"cars": 1.0}, lag=lag), now_s)
        wanted.append(one.next().workers)
    assert wanted == [3, 3, 3, 1]
    other.epochs.follow(replace(one.next(), workers=4), 0.0)
    assert [other.next().workers, other.next().workers] == [4, 4]


def test_a_leader_goes_on_from_a_placement_with_a_rate_that_was_rounded_to_nothing() -> None:
    one, other = Scheduler(), Scheduler("s1")
    for each in (one, other):
        each.backends("b0")
        each.view.hear(told("w0", {"cars": 30.0}), 0.0)
    found = one.next()
    (backend_,) = found.backends
    sessions = [replace(session, rate=0.0) for session in backend_.sessions]
    other.epochs.follow(replace(found, backends=[replace(backend_, sessions=sessions)]), 0.0)
    assert served(other.next()) == {"b0": ["cars"]}


def test_equal_load_moves_nothing_also_where_it_varies() -> None:
    one, rng = Scheduler(), random.Random(5)
    one.backends("b0", "b1", "b2")
    found: FleetPlacement | None = None
    for _ in range(20):
        one.view.hear(told("w0", {"cars": rng.uniform(380, 420), "people": rng.uniform(19, 21)}), one.now_s)
        before, found = found, one.next()
        assert before is None or found.backends == before.backends
        assert not one.epochs.is_due(one.now_s)


def test_a_model_that_nobody_asks_for_keeps_its_place_for_a_minute() -> None:
    one = Scheduler()
    one.backends("b0", ready=["cars"])
    placed: list[dict[str, list[str]]] = []
    unloads: list[list[str]] = []
    for now_s, rates in ((0.0, {"cars": 50.0}), (5.0, {}), (59.0, {}), (61.0, {})):
        one.now_s = now_s
        one.backends("b0", ready=["cars"])
        for _ in range(20):  # what a process asked before is soon forgotten
            one.view.hear(told("w0", rates), now_s)
        placement = one.next()
        placed.append(served(placement))
        unloads.append(placement.backends[0].unload)
    assert placed == [{"b0": ["cars"]}, {"b0": ["cars"]}, {"b0": ["cars"]}, {"b0": []}]
    assert unloads == [[], [], [], ["cars"]]


def test_a_model_under_another_deadline_is_not_kept_under_the_one_before() -> None:
    rates = SteadyRates()
    rates.planned({("cars", 200.0, 0): 10.0}, 0.0)
    assert list(rates.planned({("cars", 100.0, 0): 10.0}, 1.0)) == [("cars", 100.0, 0)]


def test_who_tells_of_ever_new_models_has_a_bounded_number_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steady, "MOST", 3)
    rates = SteadyRates()
    for number in range(5):
        planned = rates.planned({(f"m{number}", 200.0, 0): 1.0, (f"n{number}", 200.0, 0): 1.0}, float(number))
        assert {f"m{number}", f"n{number}"} <= {model for model, _, _ in planned}
        assert len(planned) <= 3


def test_a_new_leader_goes_on_from_the_plan_of_the_one_before() -> None:
    first, second = Scheduler("s0"), Scheduler("s1")
    for each in (first, second):
        each.backends("b0", "b1", "b2")
        each.view.hear(told("w0", {"cars": 500.0, "people": 30.0}), 0.0)
    left = first.next()
    second.epoch = left.epoch
    second.epochs.follow(from_json(to_json(left), FleetPlacement), 0.0)
    found = second.next()
    assert (found.epoch, found.leader) == (left.epoch + 1, "s1")
    assert served(found) == served(left)
    assert [each.unload for each in found.backends] == [[], [], []]


def test_backends_that_come_and_go_begin_an_epoch_and_what_they_served_moves() -> None:
    one = Scheduler()
    one.backends("b0", "b1")
    one.view.hear(told("w0", {"cars": 600.0}), 0.0)
    assert sorted(served(one.next()).values()) == [["cars"], ["cars"]]
    assert not one.epochs.is_due(0.0)
    one.view.hear(backend("b1", leaving=True), 1.0)
    assert one.epochs.is_due(1.0)
    left = one.next()
    assert served(left) == {"b0": ["cars"]}
    assert left.shed[0].model == "cars"
    assert left.wanted[0].wanted >= 2 > left.wanted[0].running
    one.backends("b2")
    assert one.epochs.is_due(1.0)
    assert served(one.next()) == {"b0": ["cars"], "b2": ["cars"]}


def test_a_rate_that_triples_begins_an_epoch() -> None:
    one = Scheduler()
    one.backends("b0")
    one.view.hear(told("w0", {"cars": 100.0}), 0.0)
    one.next()
    one.view.hear(told("w0", {"cars": 300.0}), 1.0)
    assert one.epochs.is_due(1.0)


def test_numbers_fall_only_after_a_while_and_never_rise_above_what_may_be_had() -> None:
    one = Scheduler()
    one.backends("b0")
    one.view.hear(told("w0", {"cars": 10_000.0}), 0.0)
    assert one.next().wanted[0].wanted == 5
    for number in range(1, 30):
        one.now_s = 5.0 * number
        one.backends("b0")
        one.view.hear(told("w0", {"cars": 1.0}), one.now_s)
        wanted = one.next().wanted[0].wanted
        assert wanted == (5 if one.now_s <= 120 else wanted)
    assert wanted == 1


def test_networks_that_moved_away_are_unloaded_until_they_are_gone() -> None:
    one = Scheduler()
    one.backends("b0", "b1", ready=["cars", "people", "kept"])
    one.view.hear(told("w0", {"cars": 600.0, "people": 200.0}), 0.0)
    first = served(one.next())
    for number in range(20):
        one.view.hear(told("w0", {"people": 1.0}), number / 10)
    found = one.next()
    for each in found.backends:
        assert set(each.unload) == set(first[each.id]) - set(served(found)[each.id])
    assert any(each.unload for each in found.backends)
    assert [each.unload for each in one.next().backends] == [each.unload for each in found.backends]
    one.backends("b0", "b1", ready=["kept"])
    assert [each.unload for each in one.next().backends] == [[], []]


def test_what_nobody_has_measured_gets_a_backend_that_can() -> None:
    one = Scheduler()
    one.view.hear(told("w0", {"unknown": 10.0}), 0.0)
    found = one.next()
    assert [(each.device, each.wanted) for each in found.wanted] == [("cpu", 1)]
    assert found.shed[0].model == "unknown"


def test_kinds_that_no_file_lists_are_those_that_are_there() -> None:
    one = Scheduler(kinds=[])
    one.view.hear(backend("b0", "cars", device="odd"), 0.0)
    one.view.hear(told("w0", {"cars": 10.0}), 0.0)
    found = one.next()
    assert served(found) == {"b0": ["cars"]}
    assert [(each.device, each.wanted) for each in found.wanted] == [("odd", 1)]
    assert Scheduler(kinds=[]).next().backends == []


@pytest.mark.parametrize(("there", "most"), [(1, 16), (12, 24)])
def test_of_a_kind_that_no_file_lists_one_message_has_no_thousand_wanted(there: int, most: int) -> None:
    one = Scheduler(kinds=[])
    one.backends(*(f"b{number}" for number in range(there)))
    one.view.hear(told("w0", {"cars": MOST_RATE}), 0.0)
    found = one.next()
    assert [(each.wanted, each.running) for each in found.wanted] == [(most, there)]
    assert found.shed[0].why.endswith(f"wanted besides: {most - there} × cpu")


@pytest.mark.parametrize("slo_ms", [LEAST_MS, 0.0015, 200.0, 3.6e6])
@pytest.mark.parametrize("rate", [0.0, 1.0, MOST_RATE])
@pytest.mark.parametrize("times", [{1: LEAST_MS, 65_536: LEAST_MS}, {1: 3.6e6}])
def test_what_a_process_may_claim_never_makes_a_placement_that_nobody_can_read(
    slo_ms: float, rate: float, times: dict[int, float]
) -> None:
    one = Scheduler(kinds=[DeviceKind("cpu", 1 << 30, 1.0, most=2)])
    session = AskedSession(model="odd", slo_ms=slo_ms, asked=rate, served=0.0, latency_ratio=1e6, state="interfered")
    for number in range(2):
        worker = replace(told(f"w{number}", {"cars": 60.0}, lag=2**63 - 1), sessions=[session])
        one.view.hear(from_json(to_json(worker), type(worker)), 0.0)
    one.backends("b0")
    one.view.hear(told("b1", kind="backend", profiles=[timed("odd", times)], device="b\n"), 0.0)
    found = one.next()
    assert len(found.backends) == 2
    if rate == MOST_RATE:
        assert sum(each.rate for each in found.shed) <= MOST_RATE
        assert not one.epochs.is_due(0.0)  # else epochs would follow each other without end
