"""Where backends are too few: shortcuts of the search decide nothing."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serving.placement import carrying, nodes, packing, shedding
from serving.placement.demands import BatchProfile, Demand, DeviceKind, Profiles
from serving.placement.nodes import FleetNode, Piece, largest_rate, node_of, with_piece
from serving.placement.place import place
from serving.placement.plan import FleetPlan
from tests.serving.placement.made import CPU, GPU, catalogues, demands, fleet

KINDS = (GPU, CPU)


def placed_plainly(*arguments: object) -> FleetPlan:
    """As ``place``, where every backend is tried for every session, and every part of a session is searched for."""

    def largest(node: FleetNode | None, kind: DeviceKind, piece: Piece, least: float = 0.0) -> float:
        return largest_rate(node, kind, piece)

    def joined(node: FleetNode, piece: Piece) -> FleetNode | None:
        return node_of(node.kind, with_piece(node, piece), node.name)

    with pytest.MonkeyPatch.context() as patch:
        for module in (nodes, packing, carrying, shedding):
            patch.setattr(module, "joined", joined)
        for module in (nodes, packing):
            patch.setattr(module, "SURELY_FULL", inf)
        patch.setattr(shedding, "largest_rate", largest)
        return place(*arguments)  # type: ignore[arg-type]


@settings(max_examples=40, deadline=None)
@given(demands(priorities=3), catalogues(), st.integers(0, 4), st.integers(0, 3), st.floats(0.3, 3))
def test_a_plan_is_that_of_a_search_without_shortcuts(
    asked: list[Demand], profiles: Profiles, gpus: int, cpus: int, factor: float
) -> None:
    there = fleet(gpus, cpus, KINDS)
    before = place(asked, profiles, there)
    assert before == placed_plainly(asked, profiles, there)
    now = [Demand(each.model, each.slo_s, factor * each.items_per_s, each.priority) for each in asked]
    assert place(now, profiles, there, before) == placed_plainly(now, profiles, there, before)


def test_sessions_that_find_no_place_are_hardly_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    real = nodes.duty_cycle

    def counted(kind: DeviceKind, pieces: list[Piece]) -> nodes.DutyCycle | None:
        tried.append(len(pieces))
        return real(kind, pieces)

    profiles = {"a": {"gpu": BatchProfile({1: 0.006, 8: 0.02}, 1)}}
    asked = [Demand("a", 0.1 + number / 10_000, 40.0, number % 3) for number in range(400)]
    monkeypatch.setattr(nodes, "duty_cycle", counted)
    plan = place(asked, profiles, fleet(4))
    assert len(plan.shed) > 300
    assert len(tried) < 5 * len(asked)  # without shortcuts some 280
