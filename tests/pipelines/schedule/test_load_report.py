from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from operators.wire.fleet import MOST_INSTEAD
from operators.wire.schema import BatchTime, TimedModel, from_json, to_json
from operators.wire.schema import ProcessLoad as Load
from pipelines.measure.process_meter import MOST_NETWORKS, MOST_SIZES, NetworkUse, ProcessMeter
from pipelines.schedule.backend_side import ModelsHere, times
from pipelines.schedule.load_report import LoadReport, ProcessFacts
from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.common.threads import usable_cores
from serving.errors import Malformed, ModelError
from serving.remote.session_meter import SessionMeter
from serving.scheduling.device import DeviceStats
from serving.scheduling.requests import Urgency
from tests.models import relatives

AT = datetime(2026, 5, 4, tzinfo=UTC)
PROFILE = TimedModel(model="cars", times=[BatchTime(batch=1, ms=10.0), BatchTime(batch=8, ms=40.0)])


class Process:
    """A backend that is asked for cars, at a clock that stands where it is put."""

    def __init__(self, *profiles: TimedModel) -> None:
        self.meter, self.sessions = ProcessMeter(), SessionMeter()
        facts = ProcessFacts("gpu-1/7f", "backend", "gpu-1", device="a10g", memory_bytes=1000)
        self.processor_s = 0.0
        self.report = LoadReport(
            facts, self.meter, self.sessions, lambda uses: profiles, 0.0, processor_s=lambda: self.processor_s
        )

    def ask(self, count: int, now_s: float, took_s: float = 0.1, model: str = "cars") -> None:
        for _ in range(count):
            self.sessions.asked(model, Urgency(now_s + 0.2, slo_s=0.5), 1, now_s).ended(now_s + took_s, answered=True)

    def next(self, now_s: float) -> Load:
        load = self.report.next(AT, now_s)
        assert from_json(to_json(load), Load) == load
        return load


def test_what_has_happened_since_the_last_time_is_told() -> None:
    process = Process(PROFILE)
    process.meter.model_loaded("cars", 0.5, 300)
    first = process.next(1.0)
    assert (first.ready, first.profiles, first.memory_free_bytes) == (["cars"], [PROFILE], 700)
    process.ask(40, 2.0)
    process.ask(10, 3.0, took_s=0.3)
    for _ in range(10):
        process.meter.network_ran("cars", 4, 0.03)
    process.meter.network_ran("cars", 8, 0.06)
    process.meter.network_ran("cars on another", 1, 4.0)  # that machine ran it
    process.report.stats = lambda: DeviceStats(busy_s=3.36, background_s=3.0)
    load = process.next(6.0)
    (session,) = load.sessions
    assert (session.asked, session.served, session.late) == (10.0, 10.0, 0.2)
    assert load.busy == pytest.approx(0.36 / 5)
    assert session.mean_batch == pytest.approx(48 / 11)
    assert session.latency_ratio == pytest.approx(0.36 / (10 * (0.01 + 0.03 * 3 / 7) + 0.04), rel=1e-3)
    assert (session.state, load.profiles) == ("active", [])
    assert process.next(11.0).sessions[0].asked == 0.0


def test_a_process_is_busy_with_what_frames_wait_for_on_its_device_or_its_processors() -> None:
    process, cores = Process(), usable_cores()
    busy: list[float] = []
    for now_s, device, processor_s in (
        (10.0, DeviceStats(busy_s=6.0, background_s=2.0), 0.0),
        (20.0, DeviceStats(busy_s=6.0, background_s=2.0), 7.0 * cores),  # it decodes, and asks other machines
        (30.0, DeviceStats(busy_s=15.0, background_s=11.0), 16.5 * cores),  # a job runs
    ):
        process.processor_s = processor_s
        process.report.stats = lambda device=device: device  # type: ignore[misc]
        busy.append(process.next(now_s).busy)
    assert busy == pytest.approx([0.4, 0.7, 0.05])


def test_what_queries_of_several_priorities_ask_for_are_sessions_of_their_own() -> None:
    process = Process()
    for priority, items in ((0, 10), (5, 30)):
        process.sessions.asked("cars", Urgency(0.2, slo_s=0.5, priority=priority), items, 0.0)
    asked = {each.priority: each.asked for each in process.next(1.0).sessions}
    assert asked == {0: 10.0, 5: 30.0}


def test_profiles_are_told_now_and_then_and_where_there_are_new_ones() -> None:
    known = [PROFILE]
    process = Process()
    process.report = LoadReport(process.report.facts, process.meter, process.sessions, lambda uses: known, 0.0)
    assert len(process.next(1.0).profiles) == 1
    assert len(process.next(200.0).profiles) == 0
    process.meter.model_loaded("people", 0.5, 300)
    assert len(process.next(210.0).profiles) == 0
    known.append(TimedModel(model="people", times=PROFILE.times))
    assert len(process.next(220.0).profiles) == 2
    assert len(process.next(400.0).profiles) == 0
    assert len(process.next(520.0).profiles) == 2


@pytest.mark.parametrize(("asked", "large"), [(48, False), (80, True), (20, True), (55, False)])
def test_large_changes_are_told_at_once(asked: int, large: bool) -> None:
    process = Process()
    process.ask(250, 1.0)
    process.next(5.0)  # 50 each second
    process.ask(asked, 5.5)
    assert process.report.changed(6.0) == large


def test_what_is_ready_and_obeyed_is_told_at_once() -> None:
    process = Process()
    process.next(1.0)
    assert not process.report.changed(2.0)
    process.meter.model_loaded("cars", 0.5, 300)
    assert process.report.changed(2.0)
    process.next(2.0)
    process.meter.model_unloaded("cars")
    assert process.report.changed(3.0)
    process.next(3.0)
    process.report.epoch = 7
    assert process.report.changed(3.5)
    assert process.next(4.0).epoch == 7
    process.report.leaving = True
    assert process.report.changed(4.5)
    assert process.next(5.0).leaving


def test_states_follow_the_profile() -> None:
    process = Process(PROFILE)
    process.meter.model_loaded("cars", 0.5, 300)
    process.next(0.0)
    process.ask(1, 0.5)
    for _ in range(25):
        process.meter.network_ran("cars", 8, 0.04)  # all that it can
    assert process.next(1.0).sessions[0].state == "overloaded"
    for _ in range(5):
        process.meter.network_ran("cars", 1, 0.03)
    assert process.next(2.0).sessions[0].state == "interfered"
    process.meter.model_unloaded("cars")
    assert process.next(3.0).sessions[0].state == "inactive"


def test_what_is_counted_is_bounded() -> None:
    meter = ProcessMeter()
    for number in range(2 * MOST_NETWORKS):
        meter.network_ran(f"n{number}", 1, 0.1)
    for size in range(1, 2 * MOST_SIZES):
        meter.network_ran("n0+cuts1", size, 0.1)
    assert len(meter.networks()) == MOST_NETWORKS
    assert len(meter.networks()["n0"].sizes) == MOST_SIZES


def test_models_in_the_place_of_a_sessions_are_few() -> None:
    """A message full of them would cost a scheduler seconds."""
    process = Process(PROFILE)
    others = [f"cars-{number}" for number in range(MOST_INSTEAD + 1)]
    process.report.facts = replace(process.report.facts, instead={"cars": others})
    process.ask(1, 0.5)
    told = process.next(1.0)
    assert told.sessions[0].instead == others[:MOST_INSTEAD]
    data = to_json(told).replace(b'"instead":[', b'"instead":["one-more",')
    with pytest.raises(Malformed, match="instead"):
        from_json(data, Load)


def test_times_ascend_and_are_bounded() -> None:
    told = times({size: 1.0 / size for size in range(1, 100)})
    assert [each.batch for each in told] == list(range(1, 33))
    assert {each.ms for each in told} == {1000.0}


def test_models_have_times_that_were_measured_or_learnt(tmp_path: Path) -> None:
    known = Catalogue([SHIPPED])
    use = NetworkUse(batches=3, items=3, took_s=0.3, sizes={1: (3, 0.1)}, loaded=True, memory_bytes=5)
    here = ModelsHere(known, tmp_path)
    assert here.timed({}) == []
    (found,) = here.timed({"street-kind": use, "unknown": NetworkUse(loaded=True)})
    assert (found.model, found.times, found.memory_bytes) == ("street-kind", [BatchTime(batch=1, ms=125.0)], 5)


def test_what_a_network_has_in_common_with_its_relatives_is_told_once_it_was_looked_at(tmp_path: Path) -> None:
    known = relatives(tmp_path / "models", ["one", "other"])
    here = ModelsHere(Catalogue([tmp_path / "models", SHIPPED]), tmp_path)
    used = NetworkUse(batches=1, items=1, took_s=0.1, sizes={1: (1, 0.1)}, loaded=True)
    uses = dict.fromkeys([*known.names(), "street-kind", "vehicle-type"], used)
    assert all(not each.prefixes for each in here.timed(uses))
    for name in uses:
        here.look(name)
    told = {each.model: each.prefixes for each in here.timed(uses)}
    shares = [each.share for each in told["one"]]
    assert shares == sorted(shares)
    assert 0.5 <= shares[0] < 0.9 < shares[-1] <= 1
    assert told["one"] == told["other"]
    assert told["one"][0].digest == told["street-kind"][0].digest
    assert not {each.digest for each in told["one"]} & {each.digest for each in told["vehicle-type"]}
    with pytest.raises(ModelError):
        here.look("unknown")


def test_profiles_of_which_more_is_known_are_told_at_once_and_a_group_takes_its_memory_once() -> None:
    process = Process(PROFILE)
    process.meter.model_loaded("cars", 0.5, 300)
    assert process.next(1.0).profiles
    assert not process.next(6.0).profiles
    process.report.profiles_changed()
    assert process.next(11.0).profiles
    process.meter.model_loaded("cars + people", 0.5, 400)
    process.meter.model_unloaded("cars")
    assert process.next(16.0).memory_free_bytes == 600
    process.meter.model_unloaded("cars + people")
    assert process.next(21.0).memory_free_bytes == 1000
