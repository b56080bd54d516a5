"""Batching policies under deadlines: which share of the requests is answered too late or not at all.

Figure 3.12 of Shen, 2019, by simulation in virtual time, with our policy beside the thesis' three: one network and
requests that come evenly or at random (Poisson), each with 100 ms. Every policy serves the same arrivals.

The thesis gives 1300 requests/s for Inception but not its latency. Ours is α + β·b with the two values that can be had:
7.0 ms for one item (Table 3.1, Inception on a GPU), and 1300 requests/s as the saturation at this SLO by its own rule
(§3.4.1: the largest batch B whose time is half of the SLO, so ℓ(65) = 50 ms). Load is the rate as a share of that.

Sliding window's batch is B. Our policy learns the rate from the arrivals, as it does when it serves. ``decision_us`` is
processor time.

The thesis' sessions have one SLO. Two workloads have requests of three in one session, as where streams of several
queries share a network: 60, 100 and 300 ms in equal parts, for one item each or for 1 to 6. Their sliding window is
that of the shortest SLO by the same rule. ``minus_sliding_points_error`` is the standard error of the mean over seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.batching_parts.baselines import EarliestFirst, MaximalWindow, SlidingWindow
from benchmarks.batching_parts.policy import Policy
from benchmarks.batching_parts.simulation import Ask, Run, simulate
from datasets.request_times import poisson, uniform
from serving.scheduling.batching import BatchDecision, Latency, R
from serving.scheduling.estimates import Arrivals
from serving.scheduling.look_ahead import LookAheadPolicy

SLO_S = 0.1
CAPACITY_PER_S = 1300.0
BATCH = 65
"""B: 1300/s × 50 ms."""
EACH_S = (SLO_S / 2 - 0.007) / (BATCH - 1)
FIXED_S = 0.007 - EACH_S
MAX_BATCH = 128
OURS, BASELINE = "look ahead", "sliding window"
POLICIES = ("earliest first", BASELINE, "maximal window", OURS)
ARRIVALS = ("uniform", "poisson")
COLOURS = dict(zip(POLICIES, ("#bbb", "#48c", "#c84", "#2a7"), strict=True))


@dataclass(frozen=True)
class Workload:
    """What comes: when, with how much time, for how many items."""

    arrivals: str
    slos_s: tuple[float, ...] = (SLO_S,)
    most_items: int = 1

    @property
    def window(self) -> int:
        """The sliding window's batch: its time is half of the shortest SLO."""
        return int((min(self.slos_s) / 2 - FIXED_S) / EACH_S + 1e-6)

    def asks(self, load: float, duration_s: float, seed: int) -> list[Ask]:
        """The requests of one seed, the same for every policy."""
        rng = np.random.default_rng(seed)
        rate = load * CAPACITY_PER_S / ((1 + self.most_items) / 2)
        times = _times(self.arrivals, rate, duration_s, rng)
        if len(self.slos_s) == 1:
            return [Ask(at, at + self.slos_s[0]) for at in times]
        slos_s, items = rng.choice(self.slos_s, len(times)), rng.integers(1, self.most_items + 1, len(times))
        return [Ask(at, at + slo, int(n)) for at, slo, n in zip(times, slos_s.tolist(), items, strict=True)]


MIXED_S = (0.06, 0.1, 0.3)
WORKLOADS = (Workload("uniform"), Workload("poisson"), Workload("poisson", MIXED_S), Workload("poisson", MIXED_S, 6))


@dataclass(frozen=True)
class Extent:
    """How much is simulated."""

    seeds: int
    duration_s: float
    loads: Sequence[float]


FULL = Extent(seeds=5, duration_s=40.0, loads=(0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2))
FULL_MIXED = Extent(seeds=12, duration_s=12.0, loads=(0.85, 0.9, 0.95, 1.05, 1.2))
QUICK = Extent(seeds=2, duration_s=5.0, loads=(0.9, 1.0, 1.1))


def latency(batch: int) -> float:
    """Seconds of a batch."""
    return FIXED_S + EACH_S * batch


def measure(quick: bool) -> harness.Outcome:
    """Every policy on every workload."""
    rows = [row for workload in WORKLOADS for row in measured(workload, quick)]
    return harness.Outcome(rows, headline(rows), partial(_draw, rows))


def measured(workload: Workload, quick: bool) -> list[harness.Row]:
    """Every policy on one workload."""
    extent = QUICK if quick else FULL_MIXED if len(workload.slos_s) > 1 else FULL
    return [row for load in extent.loads for row in _rows(workload, load, extent)]


def _rows(workload: Workload, load: float, extent: Extent) -> Iterator[harness.Row]:
    """All policies on the same arrivals."""
    asks = [workload.asks(load, extent.duration_s, seed) for seed in range(extent.seeds)]
    runs = {policy: [serve(policy, each, workload.window) for each in asks] for policy in POLICIES}
    for policy in POLICIES:
        yield row(workload, load, policy, runs[policy], runs[BASELINE])


def _times(arrivals: str, rate: float, duration_s: float, rng: np.random.Generator) -> list[float]:
    if arrivals == "poisson":
        return list(poisson(rate, duration_s, rng))
    # Where an even workload meets the first batch is drawn: with no phase all seeds would be one.
    phase_s = rng.random() / rate
    return [phase_s + time_s for time_s in uniform(rate, duration_s)]


@dataclass(frozen=True)
class Learning:
    """Our policy as a session has it: it knows of newcomers what earlier arrivals say."""

    seen: Arrivals

    def __call__(self, queue: Sequence[R], now: float, latency: Latency, max_batch: int) -> BatchDecision[R]:
        """See ``Policy``."""
        policy = LookAheadPolicy(self.seen.rate, self.seen.time_s, self.seen.short_s, self.seen.lost)
        decision = policy(queue, now, latency, max_batch)
        self.seen.left(len(decision.run), len(decision.drop))
        return decision


def serve(policy: str, asks: Sequence[Ask], window: int = BATCH) -> Run:
    """One policy on one workload."""
    seen = Arrivals()
    policies: dict[str, Policy] = {
        "earliest first": EarliestFirst(),
        BASELINE: SlidingWindow(window),
        "maximal window": MaximalWindow(),
        OURS: Learning(seen),
    }
    return simulate(policies[policy], asks, latency, MAX_BATCH, seen.note)


def row(workload: Workload, load: float, policy: str, runs: Sequence[Run], baseline: Sequence[Run]) -> dict[str, Any]:
    """A policy under one load; means over two seeds or more, and the seed that is worst beside the sliding window."""
    missed = 100 * np.array([run.missed for run in runs])
    beyond = missed - 100 * np.array([run.missed for run in baseline])
    decisions_us = 1e6 * np.concatenate([run.decisions_s for run in runs])
    return {
        **kind_of(workload),
        "load": load,
        "rate_per_s": round(load * CAPACITY_PER_S, 1),
        "policy": policy,
        "seeds": len(runs),
        "missed_percent": round(float(missed.mean()), 3),
        "minus_sliding_points": round(float(beyond.mean()), 3),
        "minus_sliding_points_error": round(float(beyond.std(ddof=1) / len(beyond) ** 0.5), 3),
        "minus_sliding_points_worst_seed": round(float(beyond.max()), 3),
        "mean_batch": round(float(np.mean(np.concatenate([run.batches for run in runs]))), 1),
        "decision_us_p50": round(float(np.median(decisions_us)), 1),
        "decision_us_p99": round(float(np.percentile(decisions_us, 99)), 1),
    }


def kind_of(workload: Workload) -> dict[str, Any]:
    """The columns that tell workloads apart."""
    slos = "/".join(f"{1000 * slo_s:.0f}" for slo_s in workload.slos_s)
    return {"arrivals": workload.arrivals, "slo_ms": slos, "most_items": workload.most_items}


def headline(rows: Sequence[harness.Row]) -> dict[str, Any]:
    """Figure 3.12's two panels, in percent, and how ours compares with the sliding window under any load."""
    at_capacity = [row for row in rows if row["load"] == 1.0 and row["slo_ms"] == "100"]
    ours = [row for row in rows if row["policy"] == OURS]
    mixed = [row["minus_sliding_points"] for row in ours if row["slo_ms"] != "100"]
    return {
        **{
            f"miss_{arrivals}": {
                row["policy"]: row["missed_percent"] for row in at_capacity if row["arrivals"] == arrivals
            }
            for arrivals in ARRIVALS
        },
        "lookahead_minus_sliding_worst": max(row["minus_sliding_points"] for row in ours if row["slo_ms"] == "100"),
        "lookahead_minus_sliding_worst_mixed": max(mixed),
        "lookahead_decision_us_p50_worst": max(row["decision_us_p50"] for row in ours),
    }


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    for axes, workload in zip(figure.subplots(2, 2, sharey=True).flat, WORKLOADS, strict=True):
        kind = kind_of(workload)
        for policy in POLICIES:
            found = [each for each in rows if each["policy"] == policy and kind.items() <= each.items()]
            missed = [each["missed_percent"] for each in found]
            axes.plot([each["load"] for each in found], missed, marker="o", ms=3, color=COLOURS[policy], label=policy)
        # Linear below 0.1 %, so that nothing missed has its place too.
        axes.set_yscale("symlog", linthresh=0.1)
        axes.set_ylim(0, 100)
        items = "" if workload.most_items == 1 else f", 1 to {workload.most_items} items"
        axes.set_title(f"{workload.arrivals}, {kind['slo_ms']} ms{items}: requests missed, %", fontsize=8)
        axes.set_xlabel(f"load, of {CAPACITY_PER_S:.0f} items/s", fontsize=8)
        axes.tick_params(labelsize=6)
        axes.legend(fontsize=6)


if __name__ == "__main__":
    harness.run("batching", measure, __doc__ or "")
