"""The eviction benchmark's simulator and arithmetic, and its claim on a small workload."""

from __future__ import annotations

import pytest

from benchmarks.eviction import POLICIES, RIVALS, headline
from benchmarks.eviction_parts.baselines import LRU
from benchmarks.eviction_parts.measured import Measured, read
from benchmarks.eviction_parts.simulate import Workload, simulate, workload
from datasets.requests import CORRELATIONS, Correlation
from serving.loading.eviction import Forecast

SMALL = Measured("small", 1, 1, 2.0)
LARGE = Measured("large", 3, 3, 5.0)
COST = {"a": SMALL, "b": SMALL, "c": LARGE}


def given(requests: str) -> Workload:
    return Workload(list(requests), [float(place) for place in range(len(requests))], COST)


def test_every_miss_costs_its_load() -> None:
    delay = simulate(given("abab"), 2, LRU())
    assert delay.load_s == pytest.approx((2.0 + 2.0) / 4)
    assert delay.misses == 0.5


def test_a_large_model_may_push_out_several() -> None:
    delay = simulate(given("abcab"), 3, LRU())
    assert delay.load_s == pytest.approx((2.0 + 2.0 + 5.0 + 2.0 + 2.0) / 5)


def test_total_is_of_all_models() -> None:
    assert given("a").total_bytes == 5


def test_all_policies_agree_where_everything_fits() -> None:
    work = workload(read(), "uniform", 0.0, seed=0, minutes=5)
    delays = {name: simulate(work, work.total_bytes, make(work.requests)) for name, make in POLICIES.items()}
    assert len(set(delays.values())) == 1


@pytest.mark.parametrize("how", CORRELATIONS)
@pytest.mark.parametrize("drift", [0.0, 0.05])
def test_the_default_is_as_good_as_the_best_of_its_rivals(how: Correlation, drift: float) -> None:
    work = workload(read(), how, drift, seed=7, minutes=40)
    budget_bytes = round(0.4 * work.total_bytes)
    best = min(simulate(work, budget_bytes, POLICIES[name](work.requests)).load_s for name in RIVALS)
    assert simulate(work, budget_bytes, Forecast()).load_s <= 1.01 * best


@pytest.mark.parametrize("how", CORRELATIONS)
def test_foreknowledge_is_worth_something(how: Correlation) -> None:
    work = workload(read(), how, 0.0, seed=7, minutes=20)
    budget_bytes = round(0.3 * work.total_bytes)
    delay = {name: simulate(work, budget_bytes, make(work.requests)).load_s for name, make in POLICIES.items()}
    assert delay["cremebrulee_oracle"] < delay["belady_min"] < delay["default"] < delay["random"]


def test_measurements_are_plausible() -> None:
    networks = {each.network: each for each in read()}
    assert len(networks) >= 20
    assert networks["vgg16"].size_bytes > 10 * networks["resnet18"].size_bytes
    assert all(0 < each.load_s < 60 for each in networks.values())


def test_headline_takes_the_worst_point() -> None:
    def rows(how: str, share: float, **delays: float) -> list[dict[str, object]]:
        return [
            {
                "correlation": how,
                "drift_per_minute": 0.0,
                "cache_share": share,
                "policy": policy,
                "load_delay_ms": delay,
            }
            for policy, delay in delays.items()
        ]

    found = headline(
        [
            *rows("quantiles", 0.1, popularity=10.0, gdsf=9.0, cremebrulee=8.0, default=8.4, lru=8.4),
            *rows("quantiles", 0.2, popularity=4.0, gdsf=5.0, cremebrulee=6.0, default=3.0, lru=4.0),
            *rows("uniform", 0.1, popularity=1.0, gdsf=1.0, cremebrulee=1.0, default=1.0, lru=2.0),
            *rows("quantiles-r", 0.1, popularity=1.0, gdsf=1.0, cremebrulee=0.9, default=0.9, lru=2.0),
        ]
    )
    assert found["default_over_best_of_three_worst"] == 1.05
    assert found["default_over_lru_worst"] == 1.0
    assert found["cremebrulee_over_popularity"]["quantiles"] == (0.8, 1.5)
