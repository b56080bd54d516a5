"""Wanted backends become those of the fleet: the most alike first, then by priority and name."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from serving.placement import place as module
from serving.placement.demands import BatchProfile, Demand, DeviceKind, Fleet, FleetBackend
from serving.placement.nodes import FleetNode
from serving.placement.place import place
from serving.placement.plan import FleetPlan

KINDS = [DeviceKind("gpu", 1 << 30, 3.0), DeviceKind("cpu", 1 << 30)]
PROFILES = {
    model: {kind.name: BatchProfile({1: took_s, 8: 4 * took_s}, 100) for kind in KINDS}
    for model, took_s in (("cars", 0.01), ("people", 0.02), ("faces", 0.03))
}


def pairs(nodes: Sequence[FleetNode], free: Sequence[FleetBackend], before: FleetPlan) -> list[str | None]:
    """The same as a list of all pairs."""
    had = {each.name: {model for share in each.sessions for model in share.models} for each in before.backends}
    ranked: list[tuple[float, int, int, str]] = []
    for place_, node in enumerate(nodes):
        mine = {model for piece in node.pieces for model in piece.session.models}
        urgency = max(piece.session.key.priority for piece in node.pieces)
        for each in free:
            theirs = had.get(each.name, set())
            if node.name is None and each.kind == node.kind.name:
                ranked.append((-len(mine & theirs) / len(mine | theirs), -urgency, place_, each.name))
    found = {place_: node.name for place_, node in enumerate(nodes)}
    for *_, place_, name in sorted(ranked):
        if found[place_] is None and name not in found.values():
            found[place_] = name
    return list(found.values())


@pytest.mark.parametrize("seed", range(12))
def test_names_are_those_that_a_list_of_all_pairs_gives(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, seen = random.Random(seed), list[bool]()
    named = module._named

    def compared(nodes: Sequence[FleetNode], free: Sequence[FleetBackend], before: FleetPlan) -> list[FleetNode]:
        found = named(nodes, free, before)
        seen.append([each.name for each in found] == pairs(nodes, free, before))
        return found

    monkeypatch.setattr(module, "_named", compared)
    plan: FleetPlan | None = None
    for _ in range(4):
        demands = [
            Demand(rng.choice(list(PROFILES)), rng.choice([0.1, 0.2]), rng.uniform(0, 300), rng.randint(0, 2))
            for _ in range(6)
        ]
        backends = [FleetBackend(f"b{number}", rng.choice(KINDS).name) for number in range(rng.randint(0, 12))]
        plan = place(demands, PROFILES, Fleet(KINDS, backends), plan)
    assert seen
    assert all(seen)


def test_a_load_far_beyond_a_backend_leaves_it_as_full_as_it_can_be() -> None:
    kinds = [DeviceKind("gpu", 1 << 30, 3.0), DeviceKind("cpu", 1 << 30, most=0)]
    profiles = {"cars": {"gpu": BatchProfile({1: 0.001, 8: 0.004}, 1), "cpu": BatchProfile({1: 0.01}, 1)}}
    plan = place([Demand("cars", 0.2, 1e9)], profiles, Fleet(kinds, [FleetBackend("b0", "cpu")]))
    assert sum(share.items_per_s for each in plan.backends for share in each.sessions) == pytest.approx(100, rel=0.01)
