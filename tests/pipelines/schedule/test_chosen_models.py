"""Which of several models a live fleet serves with: by price, by what is there, and seldom another one."""

from __future__ import annotations

from collections.abc import Mapping

from operators.wire.schema import AskedSession, FleetPlacement, ProcessLoad
from serving.placement.demands import DeviceKind
from tests.pipelines.schedule.fleets import AT, timed, told
from tests.pipelines.schedule.test_epochs import Scheduler

CPU, GPU = DeviceKind("cpu", 1 << 30, 1.0, most=16), DeviceKind("gpu", 1 << 30, 4.0, most=4)
EITHER = {"cars": ["cars@int8"], "cars@int8": ["cars"]}
SLOW, FAST, FASTEST = {1: 40.0}, {1: 10.0, 8: 40.0}, {1: 4.0, 8: 8.0, 32: 16.0}


class Fleet(Scheduler):
    """Workers that take cars or their quantised form, and backends that know both."""

    def __init__(self) -> None:
        super().__init__(kinds=[CPU, GPU])

    def hear(self, process: str, device: str, times: Mapping[str, Mapping[int, float]], **fields: object) -> None:
        profiles = [timed(model, each) for model, each in times.items()]
        self.view.hear(told(process, kind="backend", profiles=profiles, device=device, **fields), self.now_s)  # type: ignore[arg-type]

    def cpu(self, process: str, **fields: object) -> None:
        self.hear(process, "cpu", {"cars": SLOW, "cars@int8": FAST}, **fields)

    def ask(self, rates: Mapping[str, float], instead: Mapping[str, list[str]] | None = None) -> None:
        for _ in range(12):  # rates are means of late
            self.view.hear(told("w0", rates, instead=EITHER if instead is None else instead), self.now_s)

    def later(self, seconds: float, *cpus: str) -> None:
        self.now_s += seconds
        for process in cpus:
            self.cpu(process)


def served(placement: FleetPlacement) -> dict[str, set[str]]:
    return {each.id: {session.model for session in each.sessions} for each in placement.backends if each.sessions}


def wanted(placement: FleetPlacement) -> dict[str, int]:
    return {each.device: each.wanted for each in placement.wanted if each.wanted}


def test_the_model_that_needs_fewer_machines_is_placed_whichever_is_asked_for() -> None:
    for asked in ({"cars": 100.0}, {"cars@int8": 100.0}, {"cars": 40.0, "cars@int8": 60.0}):
        one = Fleet()
        one.cpu("b0")
        one.ask(asked)
        found = one.next()
        assert (served(found), wanted(found)) == ({"b0": {"cars@int8"}}, {"cpu": 1})
        assert sum(session.rate for each in found.backends for session in each.sessions) > 100
        assert not found.shed


def test_the_plan_stays_while_workers_change_over() -> None:
    one = Fleet()
    one.cpu("b0")
    one.ask({"cars": 100.0})
    first = one.next()
    for part in (0.2, 0.5, 0.8, 1.0):
        one.view.hear(told("w0", {"cars": 100 * (1 - part), "cars@int8": 100 * part}, instead=EITHER), one.now_s)
        assert not one.epochs.is_due(one.now_s)
        assert one.next().backends == first.backends


def test_a_query_that_names_its_model_keeps_it() -> None:
    one = Fleet()
    for process in ("b0", "b1", "b2", "b3", "b4"):
        one.cpu(process)
    one.ask({"cars": 20.0}, instead={})
    assert {model for models in served(one.next()).values() for model in models} == {"cars"}
    one.view.hear(told("w1", {"cars": 20.0}, instead=EITHER), 0.0)  # others would take another, and this one not
    assert {model for models in served(one.next()).values() for model in models} == {"cars"}


def test_what_is_there_serves_until_a_cheaper_kind_of_machine_has_come() -> None:
    """On a GPU cars are cheapest: it is wanted, and the quantised form serves on CPUs meanwhile."""
    one = Fleet()
    one.hear("old-gpu", "gpu", {"cars": FASTEST}, leaving=True)
    cpus = [f"b{number}" for number in range(8)]
    one.later(0, *cpus)
    one.ask({"cars": 1200.0})
    found = one.next()
    assert {model for models in served(found).values() for model in models} == {"cars@int8"}
    assert not found.shed
    assert wanted(found) == {"cpu": 7, "gpu": 1}
    one.later(10, *cpus)
    one.hear("g0", "gpu", {"cars": FASTEST})
    one.ask({"cars@int8": 1200.0})
    assert "g0" not in served(one.next()), "models change once a minute at most, to save cost"
    one.later(60, *cpus)
    one.hear("g0", "gpu", {"cars": FASTEST})
    one.ask({"cars@int8": 1200.0})
    assert served(one.next()) == {"g0": {"cars"}}
    one.now_s += 130
    one.hear("g0", "gpu", {"cars": FASTEST})
    one.ask({"cars": 1200.0})
    assert wanted(one.next()) == {"gpu": 1}


def test_a_model_that_others_disturb_is_left_where_another_serves_more() -> None:
    one = Fleet()
    times = {"cars": {1: 16.0}, "cars@int8": {1: 10.0}}
    one.hear("b0", "cpu", times)
    one.ask({"cars@int8": 58.0})
    assert served(one.next()) == {"b0": {"cars@int8"}}
    disturbed = AskedSession(
        model="cars@int8", slo_ms=200.0, asked=58, served=58, latency_ratio=4.0, state="interfered", instead=[]
    )
    load = told("b0", kind="backend", profiles=[timed(model, each) for model, each in times.items()], device="cpu")
    one.now_s += 5
    one.view.hear(with_sessions(load, disturbed), one.now_s)
    one.ask({"cars@int8": 58.0})
    assert served(one.next()) == {"b0": {"cars"}}


def with_sessions(load: ProcessLoad, *sessions: AskedSession) -> ProcessLoad:
    return ProcessLoad(
        id=load.id, kind=load.kind, at=AT, device=load.device, profiles=load.profiles, sessions=list(sessions)
    )


def test_another_leader_goes_on_with_the_models_that_serve() -> None:
    first, second = Fleet(), Fleet()
    for each in (first, second):
        each.cpu("b0")
        each.ask({"cars": 100.0})
    left = first.next()
    second.epoch = left.epoch
    second.epochs.follow(left, 0.0)
    found = second.next()
    assert (found.leader, served(found)) == (left.leader, served(left))
    assert [each.unload for each in found.backends] == [[]]
