"""States of models, from the batches that a process runs."""

from __future__ import annotations

import pytest

from pipelines.measure.process_meter import HELD_S, ModelStates, ProcessMeter

CURVE = {"cars": {1: 0.010, 8: 0.040}, "people": {1: 0.02}}
"""At most 200 and 50 items a second."""


def run(meter: ProcessMeter, items: int, took_s: float, batches: int) -> None:
    for _ in range(batches):
        meter.network_ran("cars", items, took_s)


def test_states_follow_what_is_run() -> None:
    meter = ProcessMeter()
    states = ModelStates(meter)
    assert states.at(0.0, CURVE)["cars"].state == "inactive"
    meter.model_loaded("cars", 1.0, 1000)
    assert states.at(1.0, CURVE)["cars"].state == "inactive"  # not looked at yet
    run(meter, 1, 0.011, 10)
    assert states.at(2.0, CURVE)["cars"][:2] == ("active", 5 / 200)
    run(meter, 8, 0.040, 48)
    assert states.at(4.0, CURVE)["cars"][:2] == ("overloaded", 0.96)
    assert states.at(4.0, CURVE)["people"].state == "inactive"


def test_trouble_is_held_though_nobody_asks_meanwhile() -> None:
    meter = ProcessMeter()
    states = ModelStates(meter)
    states.at(0.0, CURVE)
    meter.model_loaded("cars", 1.0, 1000)
    run(meter, 1, 0.020, 10)
    assert states.at(2.0, CURVE)["cars"].state == "interfered"
    assert states.at(2.0 + HELD_S - 1, CURVE)["cars"].state == "interfered"
    assert states.at(2.0 + HELD_S + 2, CURVE)["cars"].state == "active"
    meter.model_unloaded("cars")
    assert ModelStates(meter).at(0.0, CURVE)["cars"].state == "inactive"


def test_a_model_at_a_backend_is_known_by_its_calls() -> None:
    meter = ProcessMeter()
    states = ModelStates(meter)
    states.at(0.0, CURVE)
    run(meter, 1, 0.03, 5)
    assert states.at(2.0, CURVE)["cars"].state == "interfered"


def test_a_model_that_a_placement_has_nowhere_is_said_to_be_that() -> None:
    placed = {"cars": True, "people": False}
    for known, standing in (({}, {"cars": True, "people": True}), (placed, placed)):
        found = ModelStates(ProcessMeter(), known.get).at(0.0, CURVE)
        assert {model: each.placed for model, each in found.items()} == standing


@pytest.mark.parametrize("other", ["cars+416x256", "cars+cuts1", "cars + people"])
def test_a_network_is_loaded_as_long_as_one_form_of_it_is(other: str) -> None:
    meter = ProcessMeter()
    meter.model_loaded("cars", 0.5, 300)
    meter.model_loaded(other, 0.5, 300)
    meter.model_unloaded(other)
    assert meter.networks()["cars"].loaded
    meter.model_unloaded("cars")
    assert not meter.networks()["cars"].loaded
