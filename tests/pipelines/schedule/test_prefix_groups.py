"""Epochs of a live fleet whose backends say that two networks begin alike: one session, on one backend."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from operators.wire.schema import FleetPlacement, NetworkPrefix, ProcessLoad, TimedModel, from_json, to_json
from pipelines.schedule.worker_side import rates_of
from serving.errors import Malformed
from serving.placement.demands import DeviceKind
from tests.pipelines.schedule.fleets import timed, told
from tests.pipelines.schedule.test_epochs import Scheduler

KINDS = [DeviceKind("cpu", 1000, 1.0, most=5)]
"""There is room for one of the networks, or for both with their common part once."""
ALIKE = {"0" * 16: 0.6, "a" * 16: 0.9}
OTHER = {"1" * 16: 0.6, "b" * 16: 0.9}


def model(name: str, prefixes: Mapping[str, float]) -> TimedModel:
    known = [NetworkPrefix(digest=digest, share=share) for digest, share in prefixes.items()]
    found = timed(name, memory=600)
    return TimedModel(model=name, times=found.times, memory_bytes=600, prefixes=known)


class Fleet(Scheduler):
    """Three backends, and a worker that asks for both networks."""

    def __init__(self, *others: Mapping[str, float], name: str = "s0") -> None:
        super().__init__(name, KINDS)
        for number, prefixes in enumerate([*others, ALIKE, ALIKE, ALIKE][:3]):
            profiles = [model("cars", ALIKE), model("people", prefixes)]
            load = told(f"b{number}", kind="backend", profiles=profiles, ready=["cars", "people"])
            self.view.hear(from_json(to_json(load), ProcessLoad), 0.0)
        self.view.hear(told("w0", {"cars": 20.0, "people": 10.0}), 0.0)


def served(placement: FleetPlacement) -> list[set[str]]:
    return [{session.model for session in each.sessions} for each in placement.backends if each.sessions]


def test_networks_that_begin_alike_are_one_session_on_one_backend_and_others_are_not() -> None:
    one = Fleet()
    found = one.next()
    assert served(found) == [{"cars", "people"}]
    assert [(each.wanted, each.running) for each in found.wanted] == [(1, 3)]
    (rates,) = ({session.model: session.rate for session in each.sessions} for each in found.backends if each.sessions)
    assert rates["cars"] == pytest.approx(23.5)
    assert rates["people"] == pytest.approx(12.0)
    assert {name: sum(each.values()) for name, each in rates_of(found).items()} == rates
    assert served(Fleet(OTHER, OTHER, OTHER).next()) == [{"cars"}, {"people"}]


def test_one_backend_cannot_claim_that_networks_begin_otherwise() -> None:
    assert served(Fleet(OTHER).next()) == [{"cars", "people"}]
    assert served(Fleet(OTHER, {}).next()) == [{"cars"}, {"people"}]  # one word against another


def test_what_was_placed_apart_comes_together_once_backends_have_looked_and_stays() -> None:
    one = Fleet({}, {}, {})
    assert served(one.next()) == [{"cars"}, {"people"}]
    for number in range(3):
        profiles = [model("cars", ALIKE), model("people", ALIKE)]
        one.view.hear(told(f"b{number}", kind="backend", profiles=profiles, ready=["cars", "people"]), 1.0)
    together = one.next()
    assert served(together) == [{"cars", "people"}]
    assert one.next().backends == together.backends


def test_another_scheduler_goes_on_with_the_group() -> None:
    first, second = Fleet(), Fleet(name="s1")
    left = first.next()
    second.epoch = left.epoch
    second.epochs.follow(from_json(to_json(left), FleetPlacement), 0.0)
    assert second.next().backends == left.backends


def test_a_group_that_finds_no_backend_is_shed_by_the_names_of_its_models() -> None:
    one = Fleet()
    for _ in range(12):
        one.view.hear(told("w0", {"cars": 20_000.0, "people": 10.0}), 0.0)
    assert {each.model for each in one.next().shed} == {"cars + people"}


@pytest.mark.parametrize(
    "prefixes",
    [
        [{"digest": "0" * 16, "share": 0.9}, {"digest": "1" * 16, "share": 0.6}],
        [{"digest": "0" * 16, "share": 0.6}, {"digest": "0" * 16, "share": 0.9}],
        [{"digest": "x" * 16, "share": 0.6}],
        [{"digest": "0" * 15, "share": 0.6}],
        [{"digest": "0" * 16, "share": 1.1}],
        [{"digest": f"{number:016x}", "share": 0.5} for number in range(9)],
    ],
)
def test_prefixes_that_cannot_be_are_refused(prefixes: list[dict[str, object]]) -> None:
    load = to_json(told("b0", kind="backend", profiles=[model("cars", {"0" * 16: 0.6})])).decode()
    odd = load.replace('[{"digest":"0000000000000000","share":0.6}]', json.dumps(prefixes))
    assert odd != load
    with pytest.raises(Malformed):
        from_json(odd.encode(), ProcessLoad)
