"""Model load delay against cache size: all eviction policies, three correlations of popularity and load cost, drift.

Simulated in virtual time (Ogden et al., 2021, §VI-C) with networks measured on a real machine
(``eviction_parts/measured.csv``). Figures are means over traces of one hour. The policy that serves is to be no worse
than the best of popularity, CremeBrulee and GDSF at every point.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import mean, median
from typing import Any

from benchmarks.eviction_parts.baselines import GDSF, LRU, CremeBrulee, Popularity, Random
from benchmarks.eviction_parts.clairvoyant import BeladyMIN, CremeBruleeOracle
from benchmarks.eviction_parts.measured import Measured, read
from benchmarks.eviction_parts.simulate import Delay, Workload, simulate, workload
from benchmarks.harness import Outcome, Row, run
from datasets.requests import CORRELATIONS, Correlation
from serving.loading.eviction import EvictionPolicy, Forecast

POLICIES: dict[str, Callable[[Sequence[str]], EvictionPolicy]] = {
    "random": lambda _: Random(random.Random(0)),
    "lru": lambda _: LRU(),
    "popularity": lambda _: Popularity(),
    "gdsf": lambda _: GDSF(),
    "cremebrulee": lambda _: CremeBrulee(),
    "default": lambda _: Forecast(),
    "belady_min": BeladyMIN,
    "cremebrulee_oracle": CremeBruleeOracle,
}
"""Each is made with the requests to come; two look at them."""
FORETOLD = ("belady_min", "cremebrulee_oracle")
RIVALS = ("popularity", "cremebrulee", "gdsf")
DRIFTS = (0.0, 0.05)
"""Share of the models that swap their popularity every minute."""
SHARES, QUICK_SHARES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95), (0.2, 0.65)
SEEDS, QUICK_SEEDS = (0, 1, 2), (0,)
MINUTES, QUICK_MINUTES = 60, 15
MANY = 2400
"""Models among which the default policy has to choose in a moment."""

Points = dict[tuple[Correlation, float, float], dict[str, float]]
"""Load delay by correlation, drift and cache size, then by policy."""


def measure(quick: bool) -> Outcome:
    """Rows: one per workload, cache size and policy."""
    networks = read()
    rows = [row for how in CORRELATIONS for drift in DRIFTS for row in _rows(networks, how, drift, quick)]
    found = {**headline(rows), f"eviction_ms_of_{MANY}": round(1000 * eviction_s(MANY), 3)}
    return Outcome(rows, found, partial(_draw, rows))


def _rows(networks: Sequence[Measured], how: Correlation, drift: float, quick: bool) -> Iterator[Row]:
    minutes = QUICK_MINUTES if quick else MINUTES
    works = [workload(networks, how, drift, seed, minutes) for seed in (QUICK_SEEDS if quick else SEEDS)]
    for share in QUICK_SHARES if quick else SHARES:
        for name, make in POLICIES.items():
            delays = [simulate(work, round(share * work.total_bytes), make(work.requests)) for work in works]
            yield _row(works, how, drift, share, name, delays)


def _row(
    works: Sequence[Workload], how: Correlation, drift: float, share: float, policy: str, delays: Sequence[Delay]
) -> Row:
    return {
        "correlation": how,
        "drift_per_minute": drift,
        "cache_share": share,
        "cache_gib": round(share * mean(work.total_bytes for work in works) / (1 << 30), 1),
        "policy": policy,
        "load_delay_ms": round(1000 * mean(delay.load_s for delay in delays), 3),
        "miss_share": round(mean(delay.misses for delay in delays), 4),
        "models": round(mean(len(work.cost) for work in works)),
        "requests": round(mean(len(work.requests) for work in works)),
        "traces": len(works),
    }


def headline(rows: Sequence[Row]) -> dict[str, Any]:
    """Ratios of load delays over all workloads and cache sizes; below 1 is better than what it is compared with."""
    points: Points = {}
    for row in rows:
        point = (row["correlation"], row["drift_per_minute"], row["cache_share"])
        points.setdefault(point, {})[row["policy"]] = row["load_delay_ms"]
    over_best = [delays["default"] / min(delays[rival] for rival in RIVALS) for delays in points.values()]
    return {
        "default_over_best_of_three_worst": round(max(over_best), 3),
        "default_over_best_of_three_mean": round(mean(over_best), 3),
        "default_over_lru_worst": round(max(delays["default"] / delays["lru"] for delays in points.values()), 3),
        "cremebrulee_over_popularity": {how: _extremes(points, how) for how in CORRELATIONS},
    }


def _extremes(points: Points, how: Correlation) -> tuple[float, float]:
    """The least and the greatest ratio of CremeBrulee's delay to popularity's."""
    ratios = [delays["cremebrulee"] / delays["popularity"] for key, delays in points.items() if key[0] == how]
    return round(min(ratios), 3), round(max(ratios), 3)


def eviction_s(models: int) -> float:
    """Seconds that the default policy takes to choose among so many resident models; median of many choices."""
    policy = Forecast()
    names = [f"model {number:04d}" for number in range(models)]
    for now, name in enumerate(names):
        policy.requested(name, float(now))
        policy.loaded(name, 1 << 20, 0.01 * (1 + now % 50))
    resident, took_s = set(names), []
    for now, name in enumerate(names[:200], start=models):
        policy.requested(name, float(now))
        started = time.perf_counter()
        resident.difference_update(policy.evict(resident, 1 << 20))
        took_s.append(time.perf_counter() - started)
    return median(took_s)


def _draw(rows: Sequence[Row], figure: Any) -> None:
    grid = figure.subplots(len(DRIFTS), len(CORRELATIONS), sharex=True)
    for axes_of_drift, drift in zip(grid, DRIFTS, strict=True):
        for axes, how in zip(axes_of_drift, CORRELATIONS, strict=True):
            chosen = [row for row in rows if (row["correlation"], row["drift_per_minute"]) == (how, drift)]
            _panel(axes, chosen)
            axes.set_title(f"{how}, {'drifting' if drift else 'steady'}", fontsize=9)
    for axes in grid[-1]:
        axes.set_xlabel("cache, share of all models' memory", fontsize=8)
    for axes_of_drift in grid:
        axes_of_drift[0].set_ylabel("load delay per request / ms", fontsize=8)
    figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside right upper", fontsize=7)


def _panel(axes: Any, rows: Sequence[Row]) -> None:
    for name in POLICIES:
        points = [(row["cache_share"], row["load_delay_ms"]) for row in rows if row["policy"] == name]
        style = {"color": "black", "linewidth": 2} if name == "default" else {"linewidth": 1}
        axes.plot(*zip(*points, strict=True), label=name, linestyle=":" if name in FORETOLD else "-", **style)
    axes.set_yscale("log")
    axes.tick_params(labelsize=7)


if __name__ == "__main__":
    run("eviction", measure, "Model load delay against cache size, in simulation.")
