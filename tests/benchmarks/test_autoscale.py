"""The fleet in virtual time: requests in order, instances that load, loads as they are said to be."""

import pytest

from benchmarks.autoscale import headline
from benchmarks.autoscale_parts.fleet import Copy, SimulatedFleet
from benchmarks.autoscale_parts.loads import REQUESTS, Arrival, fluctuating, high, poisson, production
from benchmarks.autoscale_parts.profiles import ARCHITECTURES, RESNET50, SLO_S, slo_s, variants_of
from benchmarks.autoscale_parts.ways import MANY_MODELS, ONE_MODEL, boxes


def test_a_request_waits_for_those_before_it() -> None:
    cpu = Copy(RESNET50["cpu"], "cpu-0", 0.0)
    fleet = SimulatedFleet({"resnet50": 0.5}, [], [cpu], boxes(1, 0, 0), False)
    found = fleet.run([Arrival(0.1 * number, "resnet50") for number in range(5)], 10.0)
    # Done at .2, .4, .6, .8 and 1.0, after .2, .3, .4, .5 and .6 s.
    assert (found.requests, found.done, found.in_time) == (5, 5, 4)
    assert found.instance_cost == pytest.approx(10 * 0.031)


def test_an_instance_serves_once_it_is_loaded() -> None:
    fleet = SimulatedFleet({"resnet50": 0.5}, [RESNET50["cpu"]], [], boxes(1, 0, 0), False)
    found = fleet.run([Arrival(0.5 + number, "resnet50") for number in range(20)], 20.0)
    assert found.done == 17  # ordered at 1 s, loaded at 3 s


def test_loads_are_as_they_are_said_to_be() -> None:
    assert [fluctuating(each) for each in (0, 50, 55, 60, 90, 95, 100, 165)] == [4, 4, 42, 80, 80, 42, 4, 80]
    assert (high(0), high(100), high(300)) == (650, 675, 700)
    assert len(poisson(lambda _: 50.0, 100.0, 0, "x")) == pytest.approx(5000, rel=0.05)
    trace = production(0)
    assert len(trace) == pytest.approx(REQUESTS, rel=0.02)
    popular = {each.name for each in ARCHITECTURES if each.popular}
    assert sum(each.application in popular for each in trace) / len(trace) == pytest.approx(0.8, abs=0.01)


def test_the_profiles_are_those_of_the_paper() -> None:
    assert (RESNET50["cpu"].items_per_s, RESNET50["inferentia"].items_per_s, RESNET50["gpu-8"].items_per_s) == (
        5,
        100,
        800,
    )
    cpu, eight, one = (RESNET50[name].cost_per_s or 0 for name in ("cpu", "gpu-8", "gpu-1"))
    assert [eight / cpu, one / cpu] == pytest.approx([21.6, 21.3], abs=0.1)
    assert all(each.latency_s <= SLO_S for each in RESNET50.values())
    assert all(variants_of(each)["gpu"].latency_s <= slo_s(each) for each in ARCHITECTURES)


def test_ways_begin_with_what_the_paper_says() -> None:
    for way in (*ONE_MODEL.values(), *MANY_MODELS.values()):
        fleet = way()
        assert fleet.copies
        assert {each.machine for each in fleet.copies} <= set(fleet.boxes)
    assert len(MANY_MODELS["static"]().copies) == 7 * 4 + 18


def test_autoscaling_is_cheaper_than_a_gpu_and_serves_more_than_a_cpu() -> None:
    arrivals = poisson(fluctuating, 120.0, 0, "resnet50")
    found = {way: ONE_MODEL[way]().run(arrivals, 120.0) for way in ("autoscale", "static CPU", "static GPU")}
    assert found["autoscale"].instance_cost < found["static GPU"].instance_cost / 1.5
    assert found["autoscale"].in_time > 2 * found["static CPU"].in_time


def test_the_headline_compares_with_autoscaling() -> None:
    row = {"load": "low", "way": "autoscale", "seed": 0, "late_share": 0.02, "cost": 2.0}
    other = row | {"way": "static", "late_share": 0.04, "cost": 5.0}
    assert headline([row, other]) == {
        "low": {
            "late": {"autoscale": 0.02, "static": 0.04},
            "times_cheaper": {"static": 2.5},
            "times_fewer_late": {"static": 2.0},
        }
    }
