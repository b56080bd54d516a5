"""Equal demands are one session, groups too; what cannot be served is said; numbers that make no sense are refused."""

from __future__ import annotations

from math import inf, nan

import pytest

from serving.errors import BadInput
from serving.placement.curves import BatchCurve, sessions_of
from serving.placement.demands import BatchProfile, Demand, DeviceKind, Fleet, FleetBackend
from serving.placement.place import place
from serving.placement.prefixes import prefix_profile
from tests.serving.placement.made import CPU, GPU, TABLE_3_2, fleet, on_gpus

PROFILES = on_gpus(TABLE_3_2)


def test_cameras_of_one_model_and_slo_are_one_session() -> None:
    asked = [Demand("A", 0.2, 2.0)] * 100 + [Demand("A", 0.4, 2.0)] * 3
    assert [(each.key.slo_s, each.rate) for each in sessions_of(asked, PROFILES, (GPU,))] == [(0.2, 200), (0.4, 6)]


def test_models_that_share_a_prefix_are_one_session_whose_members_are_all_loaded() -> None:
    shared = prefix_profile([TABLE_3_2["A"], TABLE_3_2["A"]], suffix=0.0)
    asked = [Demand("A", 0.2, 80, prefix="trunk"), Demand("A2", 0.2, 80, prefix="trunk")]
    plan = place(asked, {**PROFILES, "trunk": {"gpu": shared}}, fleet(1))
    (share,) = plan.backends[0].sessions
    assert (share.model, share.items_per_s, share.models) == ("trunk", 160, {"A": 80, "A2": 80})
    assert {move.model for move in plan.moves} == {"A", "A2"}


def test_a_group_without_a_profile_is_the_models_one_by_one() -> None:
    asked = [Demand("A", 0.2, 8, prefix="trunk"), Demand("B", 0.2, 8, prefix="trunk")]
    plan = place(asked, PROFILES, fleet(1))
    assert [share.model for share in plan.backends[0].sessions] == ["A", "B"]


def test_priorities_of_one_session_share_its_batch() -> None:
    plan = place([Demand("A", 0.2, 40, 1), Demand("A", 0.2, 24, 0)], PROFILES, fleet(1))
    assert [(share.priority, share.batch) for share in plan.backends[0].sessions] == [(1, 8), (0, 8)]


def test_a_session_so_slow_that_nothing_is_gathered_is_served_all_the_same() -> None:
    """The paper's line 9 has no batch for it: 1 / r alone is longer than the SLO."""
    plan = place([Demand("A", 0.2, 0.5)], PROFILES, fleet(1))
    assert plan.backends[0].sessions[0].batch == 1
    assert plan.backends[0].duty_cycle_s == pytest.approx(0.150)


def test_memory_counts_each_model_once() -> None:
    large = {"A": BatchProfile({1: 0.001, 8: 0.004}, 600), "B": BatchProfile({1: 0.001, 8: 0.004}, 600)}
    assert place([Demand("A", 0.2, 5), Demand("A", 0.4, 5)], on_gpus(large), fleet(2)).wanted == {"gpu": 1}
    assert place([Demand("A", 0.2, 5), Demand("B", 0.4, 5)], on_gpus(large), fleet(2)).wanted == {"gpu": 2}


def test_items_are_run_where_they_are_cheapest_and_few_of_them_on_the_cheapest_backend() -> None:
    """A dear backend whose items are cheap pays for many, not for a few."""
    kinds = (DeviceKind("gpu", 1000, price=10), DeviceKind("cpu", 1000))
    profiles = {"A": {"gpu": BatchProfile({1: 0.001, 64: 0.064}, 1), "cpu": BatchProfile({1: 0.02, 8: 0.16}, 1)}}
    assert place([Demand("A", 0.2, 20)], profiles, Fleet(kinds)).wanted == {"cpu": 1}
    assert place([Demand("A", 0.2, 950)], profiles, Fleet(kinds)).wanted == {"gpu": 1}


@pytest.mark.parametrize(
    ("demand", "cause", "reason"),
    [
        (Demand("A", 0.08, 1), "slo", "A within 80 ms: no device is fast enough; one item takes 50.0 ms on gpu, and"),
        (Demand("huge", 1, 1), "memory", "huge: it takes 9000 MB, and no device has more than 4000"),
        (Demand("new", 1, 1), "profile", "new: there is no profile of it on any kind of device (gpu, cpu)"),
    ],
)
def test_what_no_device_can_serve_is_shed_with_the_reason(demand: Demand, cause: str, reason: str) -> None:
    kinds = (DeviceKind("gpu", 1_000_000_000), DeviceKind("cpu", 4_000_000_000))
    profiles = {**PROFILES, "huge": {"cpu": BatchProfile({1: 0.001}, 9_000_000_000)}}
    plan = place([demand, Demand("B", 0.25, 5)], profiles, fleet(1, 1, kinds))
    (shed,) = plan.shed
    assert (shed.cause, shed.items_per_s) == (cause, 1)
    assert shed.reason.startswith(reason)
    assert len(plan.backends) == 1


def test_batches_and_rates_of_a_curve() -> None:
    curve = BatchCurve(TABLE_3_2["A"])
    assert curve.saturated(0.2) == (16, 160)
    assert curve.saturated(0.08) == (0, 0.0)
    assert curve.longest_cycle_s(0.2, 64) == pytest.approx(0.125)


@pytest.mark.parametrize("demand", [Demand("A", 0, 1), Demand("A", nan, 1), Demand("A", 1, -1), Demand("A", 1, inf)])
def test_demands_that_make_no_sense_are_refused(demand: Demand) -> None:
    with pytest.raises(BadInput, match="an SLO above 0 and a rate of 0 or more"):
        place([demand], PROFILES, fleet(1))


@pytest.mark.parametrize("kind", [DeviceKind("gpu", 0), DeviceKind("gpu", 1, price=0), DeviceKind("gpu", 1, 1.0, -1)])
def test_kinds_that_make_no_sense_are_refused(kind: DeviceKind) -> None:
    with pytest.raises(BadInput, match="device kind gpu: memory and price must be above 0"):
        place([], {}, Fleet((kind,)))


def test_a_backend_of_no_kind_is_refused() -> None:
    with pytest.raises(BadInput, match=r"backend x: there is no device kind tpu, only \['cpu', 'gpu'\]"):
        place([], {}, Fleet((GPU, CPU), [FleetBackend("x", "tpu")]))
