"""Which of several models serve a session on paper: Table 3 of Romero et al., 2021, and limits of machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.schedule.cheapest_models import ModelChoices, cheapest_models
from pipelines.schedule.paper_fleet import simulated
from serving.placement.demands import BatchProfile, Demand, DeviceKind, Fleet

KINDS = [DeviceKind("cpu", 1 << 30, 1.0, most=16), DeviceKind("gpu", 1 << 30, 6.0, most=1)]
PROFILES = {
    "large": {"cpu": BatchProfile({1: 0.100}, 0), "gpu": BatchProfile({1: 0.004, 8: 0.008}, 0)},
    "small": {"cpu": BatchProfile({1: 0.020}, 0)},
}


def chosen(demand: Demand, *instead: str) -> dict[str, float]:
    found = cheapest_models(ModelChoices([demand], [instead], PROFILES, Fleet(KINDS)))
    return {each.model: each.items_per_s for each in found}


def test_the_model_that_costs_least_serves() -> None:
    assert chosen(Demand("large", 0.5, 20.0), "small") == {"small": 20.0}
    assert chosen(Demand("large", 0.5, 20.0)) == {"large": 20.0}
    # 1,000 a second for 6 on the GPU, 50 for 1 on a CPU by the small one: a little load pays no whole GPU.
    assert chosen(Demand("large", 0.5, 900.0), "small") == {"large": 900.0}


def test_what_exceeds_the_machines_is_served_by_both() -> None:
    found = chosen(Demand("large", 0.5, 1400.0), "small")
    assert set(found) == {"large", "small"}
    assert sum(found.values()) == pytest.approx(1400)


def test_a_model_that_misses_the_slo_is_not_chosen_and_a_demand_that_none_serves_stays() -> None:
    assert chosen(Demand("small", 0.03, 20.0), "large") == {"large": 20.0}
    assert chosen(Demand("large", 0.001, 20.0), "small") == {"large": 20.0}
    assert chosen(Demand("unknown", 0.5, 20.0)) == {"unknown": 20.0}


def test_a_fleet_on_paper_plans_with_the_cheaper_model(tmp_path: Path) -> None:
    text = """\
sessions:
  - {model: cars, slo_ms: 200, rate: 300, INSTEAD}
profiles:
  cars: {gpu: {times_ms: {1: 8, 8: 24, 16: 40}}, cpu: {times_ms: {1: 90}}}
  cars-int8: {cpu: {times_ms: {1: 12, 8: 50}}}
machines:
  gpu: {price_per_hour: 3.0, resources: {gpu_memory_gib: 16}}
  cpu: {price_per_hour: 0.4, resources: {memory_gib: 16}}
"""
    path = tmp_path / "fleet.yaml"
    path.write_text(text.replace(", INSTEAD", ""))
    alone = simulated(path, lambda model: None)
    path.write_text(text.replace("INSTEAD", "instead: [cars-int8]"))
    free = simulated(path, lambda model: None)
    assert {session.model for each in free.plan.backends for session in each.sessions} == {"cars-int8"}
    assert not free.plan.shed
    assert free.price < alone.price
