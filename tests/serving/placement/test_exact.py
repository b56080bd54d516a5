"""Algorithm 3.1 beside the exact programme. The paper proves no bound; this one is measured."""

from __future__ import annotations

import numpy as np

from serving.placement.demands import BatchProfile, Demand, Fleet
from serving.placement.place import place
from tests.serving.placement.exact import fewest_backends
from tests.serving.placement.made import GPU, TABLE_3_2, on_gpus

INSTANCES = 120


def instance(rng: np.random.Generator) -> tuple[list[Demand], dict[str, BatchProfile]]:
    """Three to eight sessions, each of 2 to 90 % of a backend."""
    asked: list[Demand] = []
    profiles: dict[str, BatchProfile] = {}
    while len(asked) < rng.integers(3, 9):
        fixed, item, slo_s = rng.uniform(0.001, 0.02), rng.uniform(0.0002, 0.005), rng.choice([0.05, 0.1, 0.2, 0.4])
        latency = {size: fixed + size * item for size in (1, 2, 4, 8, 16, 32)}
        most = max(batch / (fixed + batch * item) for batch in range(1, 33) if fixed + batch * item <= slo_s / 2)
        name = f"m{len(asked)}"
        profiles[name] = BatchProfile(latency, int(rng.integers(50, 400)))
        asked.append(Demand(name, float(slo_s), float(rng.uniform(0.02, 0.9) * most)))
    return asked, profiles


def test_table_3_2_needs_two_backends() -> None:
    asked = [Demand("A", 0.2, 64), Demand("B", 0.25, 32), Demand("C", 0.25, 32)]
    assert fewest_backends(asked, list(TABLE_3_2.values()), 1000) == 2


def test_hardly_ever_more_than_the_exact_programme_and_never_by_two() -> None:
    rng = np.random.default_rng(4)
    more: list[int] = []
    for _ in range(INSTANCES):
        asked, profiles = instance(rng)
        fewest = fewest_backends(asked, [profiles[each.model] for each in asked], GPU.memory_bytes)
        assert fewest is not None
        more.append(place(asked, on_gpus(profiles), Fleet((GPU,))).wanted["gpu"] - fewest)
    assert set(more) <= {0, 1}
    assert more.count(1) <= 0.03 * INSTANCES
