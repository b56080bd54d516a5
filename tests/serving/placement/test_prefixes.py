"""Models whose networks begin alike are placed as one; what has nothing in common is as without."""

from __future__ import annotations

import pytest

from serving.placement.demands import BatchProfile, Demand, DeviceKind, Fleet, FleetBackend
from serving.placement.place import place
from serving.placement.plan import BackendShare, FleetPlan, SessionShare
from serving.placement.prefixes import grouped

TIMES = {1: 0.010, 8: 0.040, 16: 0.075}
ALIKE = {"A": {"d5": 0.5, "d9": 0.9}, "B": {"d5": 0.5, "d9": 0.9}}


def profiles(*models: str, memory: int = 600) -> dict[str, dict[str, BatchProfile]]:
    return {model: {"gpu": BatchProfile(TIMES, memory)} for model in models}


def demands(rates: dict[str, float]) -> list[Demand]:
    return [Demand(model, 0.2, rate) for model, rate in rates.items()]


def test_a_group_has_the_time_and_the_memory_of_its_models_with_the_longest_common_prefix_once() -> None:
    asked, known = grouped(demands({"B": 5.0, "A": 5.0}), profiles("A", "B"), ALIKE)
    assert [each.prefix for each in asked] == ["A + B", "A + B"]
    found = known["A + B"]["gpu"]
    assert found.memory_bytes == round(0.9 * 600 + 0.1 * 1200)
    assert found.latency_s[16] == pytest.approx(0.9 * 0.075 + 0.1 * 2 * 0.040)


@pytest.mark.parametrize(
    "prefixes",
    [
        {},
        {"A": {}, "B": {}},
        {"A": {"d5": 0.5}},
        {"A": {"d5": 0.5, "d9": 0.9}, "B": {"other": 0.5, "d9": 0.9}},
        {"A": {"d5": 0.5}, "C": {"d5": 0.5}},
    ],
)
def test_models_without_a_common_beginning_are_placed_by_themselves(prefixes: dict[str, dict[str, float]]) -> None:
    asked, known = grouped(demands({"A": 5.0, "B": 5.0, "C": 0.0}), profiles("A", "B", "C"), prefixes)
    assert [each.prefix for each in asked] == [None, None, None]
    assert known == profiles("A", "B", "C")


def test_a_group_runs_where_all_of_its_models_can() -> None:
    some = {"A": {"gpu": BatchProfile(TIMES, 1), "cpu": BatchProfile(TIMES, 1)}, "B": {"cpu": BatchProfile(TIMES, 1)}}
    assert list(grouped(demands({"A": 1.0, "B": 1.0}), some, ALIKE)[1]["A + B"]) == ["cpu"]
    nowhere = {"A": {"gpu": BatchProfile(TIMES, 1)}, "B": {"cpu": BatchProfile(TIMES, 1)}}
    asked, known = grouped(demands({"A": 1.0, "B": 1.0}), nowhere, ALIKE)
    assert ([each.prefix for each in asked], known) == ([None, None], nowhere)


def test_what_two_backends_are_needed_for_apart_one_serves_together_and_keeps_each_rate() -> None:
    kinds = [DeviceKind("gpu", 1000)]
    fleet = Fleet(kinds, [FleetBackend(name, "gpu") for name in ("b0", "b1")])
    asked = demands({"A": 6.0, "B": 4.0})
    apart = place(asked, profiles("A", "B"), fleet)
    assert [list(share.models) for each in apart.backends for share in each.sessions] == [["A"], ["B"]]
    together = place(*grouped(asked, profiles("A", "B"), ALIKE), fleet, apart)
    (backend,) = together.backends
    assert [share.models for share in backend.sessions] == [{"A": 6.0, "B": 4.0}]
    assert together.wanted == {"gpu": 1}
    assert place(*grouped(asked, profiles("A", "B"), ALIKE), fleet, together).moves == ()


def test_a_plan_that_knew_no_groups_is_gone_on_from() -> None:
    """As of a scheduler of before, or that which a message tells: sessions of models, which groups serve now."""
    fleet = Fleet([DeviceKind("gpu", 1000)], [FleetBackend(name, "gpu") for name in ("b0", "b1")])
    told = (SessionShare("A", 0.2, 0, 6.0, 1, {"A": 6.0}), SessionShare("B", 0.2, 0, 4.0, 1, {"B": 4.0}))
    before = FleetPlan((BackendShare("b1", "gpu", 0.1, told),), {"gpu": 1})
    found = place(*grouped(demands({"A": 6.0, "B": 4.0}), profiles("A", "B"), ALIKE), fleet, before)
    assert ([each.name for each in found.backends], found.moves) == (["b1"], ())
