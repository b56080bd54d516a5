"""Table 3.2 exactly; what holds for every plan."""

from __future__ import annotations

from collections import defaultdict
from math import floor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.placement_parts.replay import plan_lines, replay
from serving.placement import packing
from serving.placement.curves import sessions_of
from serving.placement.demands import Demand, DeviceKind, Fleet, Profiles
from serving.placement.place import place
from serving.placement.plan import FleetPlan
from tests.serving.placement.made import CPU, GPU, TABLE_3_2, catalogues, demands, fleet, on_gpus

KINDS = (GPU, CPU)


def test_figure_3_4_a_whole_backends_run_the_largest_batch_that_takes_half_of_the_slo() -> None:
    """160, 128 and 128 requests a second with batches of 16."""
    asked = [Demand("A", 0.2, 480), Demand("B", 0.25, 256), Demand("C", 0.25, 128)]
    plan = place(asked, on_gpus(TABLE_3_2), fleet(6))
    shares = sorted((share.model, share.items_per_s, share.batch) for each in plan.backends for share in each.sessions)
    assert shares == [("A", 160, 16)] * 3 + [("B", 128, 16)] * 2 + [("C", 128, 16)]
    assert plan.wanted == {"gpu": 6}


def test_figure_3_4_b_a_and_b_share_a_backend_and_c_has_its_own() -> None:
    asked = [Demand("A", 0.2, 64), Demand("B", 0.25, 32), Demand("C", 0.25, 32)]
    plan = place(asked, on_gpus(TABLE_3_2), fleet(2))
    together, alone = plan.backends
    assert together.duty_cycle_s == pytest.approx(0.125)
    assert [(share.model, share.batch) for share in together.sessions] == [("A", 8), ("B", 4)]
    assert [share.model for share in alone.sessions] == ["C"]
    assert plan.wanted == {"gpu": 2}
    assert not plan.shed


def test_a_load_without_end_has_a_plan_that_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "MOST_NODES", 50)
    plan = place([Demand("A", 0.2, 1e9), Demand("B", 0.25, 1e9)], on_gpus(TABLE_3_2), fleet(2))
    assert plan.wanted == {"gpu": 50}
    assert {(each.model, each.cause) for each in plan.shed} == {("A", "capacity"), ("B", "capacity")}
    assert sum(each.items_per_s for each in plan.shed) == pytest.approx(2e9)


def test_of_pieces_that_are_alike_one_looks_for_a_place_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message claims as much as it likes of many models, and two thousand backends would do for each."""
    merge, tried = packing.Packing.merge, list[float]()

    def counted(self: packing.Packing, *given: Any) -> bool:
        tried.append(given[0].rate)
        return merge(self, *given)

    monkeypatch.setattr(packing.Packing, "merge", counted)
    asked = [Demand(f"A{number}", 0.2, 1e9) for number in range(20)]
    profiles = on_gpus({each.model: TABLE_3_2["A"] for each in asked})
    plan = place(asked, profiles, fleet(2, kinds=(DeviceKind("gpu", 1000, most=4),)))
    assert plan.wanted == {"gpu": 4}
    assert sum(each.items_per_s for each in plan.shed) == pytest.approx(2e10)
    assert len(tried) < 20 * len(asked)


def served(plan: FleetPlan) -> dict[tuple[str, float, int], float]:
    found: dict[tuple[str, float, int], float] = defaultdict(float)
    for share in (share for backend in plan.backends for share in backend.sessions):
        found[share.model, share.slo_s, share.priority] += share.items_per_s
    return found


def check_sums(asked: list[Demand], plan: FleetPlan) -> None:
    """All that is asked for is served or said to be shed, on backends whose memory holds it."""
    found = served(plan)
    for shed in plan.shed:
        found[shed.model, shed.slo_s, shed.priority] += shed.items_per_s
    assert found == pytest.approx({(each.model, each.slo_s, each.priority): each.items_per_s for each in asked}, 1e-4)


def check_in_time(plan: FleetPlan, profiles: Profiles, seed: int = 0, seconds: float = 3.0) -> None:
    """Requests that come evenly, each session from a moment of its own, are all answered in time."""
    rng = np.random.default_rng(seed)
    for lines, rates in plan_lines(plan, profiles):
        arrivals = {key: np.arange(rng.random() / rate, seconds, 1 / rate).tolist() for key, rate in rates.items()}
        replay(lines, arrivals)
        assert {key: line.beyond for key, line in lines.items() if line.beyond} == {}
        assert {key: line.served for key, line in lines.items()} == {key: len(arrivals[key]) for key in arrivals}


@settings(max_examples=25, deadline=None)
@given(demands(), catalogues(), st.integers(0, 9))
def test_no_request_of_a_plan_is_beyond_its_slo(asked: list[Demand], profiles: Profiles, seed: int) -> None:
    plan = place(asked, profiles, fleet(30, 30, KINDS))
    check_sums(asked, plan)
    check_in_time(plan, profiles, seed)


@settings(max_examples=25, deadline=None)
@given(demands(), catalogues())
def test_never_more_backends_than_saturated_ones_and_one_for_each_session(
    asked: list[Demand], profiles: Profiles
) -> None:
    plan = place(asked, profiles, Fleet((GPU,)))
    able = [each for each in sessions_of(asked, profiles, (GPU,)) if each.kinds]
    most = sum(1 + floor(each.rate / each.saturated["gpu"][1] + 1e-9) for each in able)
    assert plan.wanted.get("gpu", 0) <= most


@settings(max_examples=25, deadline=None)
@given(demands(priorities=3), catalogues(), st.integers(0, 12), st.integers(0, 12))
def test_epochs_of_equal_load_move_nothing(asked: list[Demand], profiles: Profiles, gpus: int, cpus: int) -> None:
    there = fleet(gpus, cpus, KINDS)
    plan = place(asked, profiles, there)
    check_sums(asked, plan)
    for _ in range(2):
        plan, before = place(asked, profiles, there, plan), plan
        assert (plan.moves, plan.wanted) == ((), before.wanted)


@settings(max_examples=25, deadline=None)
@given(demands(priorities=2), catalogues(), st.lists(st.floats(0.2, 3), min_size=7, max_size=7), st.integers(0, 12))
def test_plans_that_go_on_keep_every_slo_too(
    asked: list[Demand], profiles: Profiles, factors: list[float], gpus: int
) -> None:
    there = fleet(gpus, 4, KINDS)
    before = place(asked, profiles, there)
    now = [
        Demand(each.model, each.slo_s, each.items_per_s * factor, each.priority)
        for each, factor in zip(asked, factors, strict=False)
    ]
    plan = place(now, profiles, there, before)
    check_sums(now, plan)
    check_in_time(plan, profiles)
