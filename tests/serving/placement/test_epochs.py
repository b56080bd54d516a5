"""From epoch to epoch: load that grows and falls, backends that come and go, too few of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from serving.placement.demands import BatchProfile, Demand, Fleet, FleetBackend
from serving.placement.place import place
from serving.placement.plan import FleetPlan, Move
from tests.serving.placement.made import CPU, GPU, TABLE_3_2, fleet, on_gpus

PROFILES = on_gpus(TABLE_3_2)
ASKED = [Demand("A", 0.2, 64), Demand("B", 0.25, 32), Demand("C", 0.25, 32)]


def where(plan: FleetPlan) -> dict[str, set[str]]:
    return {each.name: {share.model for share in each.sessions} for each in plan.backends}


def rates(plan: FleetPlan) -> dict[str, float]:
    found: dict[str, float] = {}
    for share in (share for each in plan.backends for share in each.sessions):
        found[share.model] = found.get(share.model, 0.0) + share.items_per_s
    return found


def test_a_session_that_grows_has_the_cheapest_beside_it_move() -> None:
    before = place(ASKED, PROFILES, fleet(3))
    plan = place([replace(ASKED[0], items_per_s=70), *ASKED[1:]], PROFILES, fleet(3), before)
    assert where(before) == {"g0": {"A", "B"}, "g1": {"C"}}
    assert where(plan) == {"g0": {"A"}, "g1": {"B", "C"}}
    assert plan.moves == (Move("g1", "B", loads=True), Move("g0", "B", loads=False))


def test_a_session_that_grows_within_its_backend_moves_nothing() -> None:
    before = place(ASKED, PROFILES, fleet(3))
    plan = place([*ASKED[:2], replace(ASKED[2], items_per_s=60)], PROFILES, fleet(3), before)
    assert plan.moves == ()
    assert rates(plan)["C"] == pytest.approx(60)


def test_load_that_falls_empties_the_least_busy_backend() -> None:
    before = place(ASKED, PROFILES, fleet(2))
    plan = place([replace(each, items_per_s=8) for each in ASKED[1:]], PROFILES, fleet(2), before)
    assert where(plan) in ({"g0": {"B", "C"}}, {"g1": {"B", "C"}})
    assert plan.wanted == {"gpu": 1}


def test_the_smallest_place_is_left_first() -> None:
    before = place([Demand("A", 0.2, 400)], PROFILES, fleet(3))
    plan = place([Demand("A", 0.2, 320)], PROFILES, fleet(3), before)
    assert sorted(share.items_per_s for each in plan.backends for share in each.sessions) == [160, 160]
    assert not any(move.loads for move in plan.moves)


def test_a_backend_that_is_gone_has_its_sessions_placed_elsewhere() -> None:
    before = place(ASKED, PROFILES, fleet(2))
    there = Fleet((GPU,), [FleetBackend("g0", "gpu"), FleetBackend("g7", "gpu")])
    plan = place(ASKED, PROFILES, there, before)
    assert where(plan) == {"g0": {"A", "B"}, "g7": {"C"}}


def test_a_profile_that_became_slower_drives_the_cheapest_away() -> None:
    before = place(ASKED, PROFILES, fleet(3))
    slower = BatchProfile({size: 1.2 * seconds for size, seconds in TABLE_3_2["A"].latency_s.items()}, 1)
    plan = place(ASKED, {**PROFILES, "A": {"gpu": slower}}, fleet(3), before)
    assert where(plan)["g0"] == {"A"}
    assert rates(plan) == pytest.approx({"A": 64, "B": 32, "C": 32})


def test_too_few_backends_serve_the_higher_priority_and_say_who_is_left_out() -> None:
    asked = [replace(each, priority=each.model == "C") for each in ASKED]
    plan = place(asked, PROFILES, fleet(1))
    assert rates(plan)["C"] == 32
    assert plan.wanted == {"gpu": 2}
    assert all(each.priority == 0 and each.cause == "capacity" for each in plan.shed)
    assert sum(each.items_per_s for each in plan.shed) + rates(plan).get("A", 0) + rates(plan).get("B", 0) == 96
    assert "find no backend; wanted besides: 1 × gpu" in plan.shed[0].reason


def test_a_higher_priority_that_comes_takes_the_place_of_lower_ones() -> None:
    before = place([Demand("A", 0.2, 160)], PROFILES, fleet(1))
    plan = place([Demand("A", 0.2, 160), Demand("B", 0.25, 32, priority=1)], PROFILES, fleet(1), before)
    assert rates(plan)["B"] == 32
    assert 0 < rates(plan)["A"] < 160
    (shed,) = plan.shed
    assert shed.model == "A"
    assert shed.items_per_s == pytest.approx(160 - rates(plan)["A"])


def test_part_of_a_session_is_served_where_all_of_it_does_not_fit() -> None:
    plan = place([Demand("A", 0.2, 400)], PROFILES, fleet(2))
    assert rates(plan) == {"A": 320}
    assert plan.shed[0].items_per_s == pytest.approx(80)
    assert plan.wanted == {"gpu": 3}


def test_none_is_left_where_no_backend_is_there() -> None:
    plan = place(ASKED, PROFILES, fleet(0))
    assert (plan.backends, plan.wanted, len(plan.shed)) == ((), {"gpu": 2}, 3)


def test_no_more_of_a_kind_are_wanted_than_may_be() -> None:
    plan = place([Demand("A", 0.2, 1000)], PROFILES, fleet(2, kinds=(replace(GPU, most=2),)))
    assert plan.wanted == {"gpu": 2}
    assert "raise the most of a device kind" in plan.shed[0].reason


def test_another_kind_serves_meanwhile_and_both_are_wanted_until_the_right_one_is_there() -> None:
    slow = BatchProfile({size: 2 * seconds for size, seconds in TABLE_3_2["C"].latency_s.items()}, 1)
    profiles = {"C": {"gpu": TABLE_3_2["C"], "cpu": slow}}
    asked = [Demand("C", 0.5, 20)]
    kinds = (GPU, CPU)
    plan = place(asked, profiles, fleet(1, kinds=kinds))
    assert (where(plan), plan.wanted) == ({"g0": {"C"}}, {"gpu": 1, "cpu": 1})
    plan = place(asked, profiles, fleet(1, 1, kinds), plan)
    assert (where(plan), plan.wanted) == ({"c0": {"C"}}, {"cpu": 1})


def test_nothing_asked_for_wants_nothing() -> None:
    before = place(ASKED, PROFILES, fleet(2))
    plan = place([replace(each, items_per_s=0) for each in ASKED], PROFILES, fleet(2), before)
    assert (plan.backends, plan.wanted, plan.shed) == ((), {}, ())
    assert {(move.backend, move.model, move.loads) for move in plan.moves} == {
        ("g0", "A", False),
        ("g0", "B", False),
        ("g1", "C", False),
    }


def line(first_s: float, item_s: float, memory: int) -> BatchProfile:
    return BatchProfile({size: first_s + (size - 1) * item_s for size in (1, 2, 4, 8, 16)}, memory)


def test_what_is_shed_does_not_drive_away_what_is_more_important() -> None:
    """The lower c would fit a GPU alone; the higher priorities there, with CPUs for the rest, stay all the same."""
    profiles = {
        "c": {"gpu": line(0.0071, 0.00404, 436), "cpu": line(0.0855, 0.00547, 95)},
        "d": {"gpu": line(0.0186, 0.00205, 533), "cpu": line(0.0850, 0.00505, 368)},
    }
    asked = [Demand("d", 0.2, 480, priority=2), Demand("c", 0.1, 212, priority=1), Demand("c", 0.2, 33, priority=2)]
    there = fleet(2, 5, (GPU, CPU))
    plan = place(asked, profiles, there)
    assert {each.priority for each in plan.shed} <= {1}
    again = place(asked, profiles, there, plan)
    assert (again.moves, again.wanted) == ((), plan.wanted)
