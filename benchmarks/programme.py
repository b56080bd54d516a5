"""The integer programme of autoscaling against the heuristic, by architectures (Romero et al., 2021 [INFaaS], §4.2.1).

Each architecture is an application of its own with eight variants on CPUs, Inferentia and GPUs, as many as 175 variants
of 22 architectures in the paper; work, load and SLO are drawn. ``free``: as many machines as are needed; ``short``:
of each kind half as many as the heuristic takes where they are free. HiGHS has a minute. Processor time, by turns.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from math import ceil
from statistics import median
from typing import Any

import numpy as np

from benchmarks.autoscale_parts.exact import solve
from benchmarks.autoscale_parts.greedy import heuristic
from benchmarks.autoscale_parts.programme import Programme, Solution, programme
from benchmarks.autoscale_parts.state import Application, MachineKind, ScalableVariant, ServingState
from benchmarks.harness import Outcome, Row, interleaved, run
from serving.autoscale.machines import AutoscaleTerms

KINDS = (
    MachineKind("cpu", 0.384 / 3600, {"cores": 8, "memory_gb": 32}),
    MachineKind("inferentia", 0.584 / 3600, {"chip_cores": 4, "memory_gb": 16}),
    MachineKind("gpu", 3.06 / 3600, {"gpu": 1, "gpu_memory_gb": 16}),
)
FORMS = (
    ("cpu", 5.0, 0.2, {"cores": 4, "memory_gb": 1.0}),
    ("cpu", 9.0, 0.45, {"cores": 8, "memory_gb": 1.0}),
    ("inferentia", 60.0, 0.017, {"chip_cores": 1, "memory_gb": 1.8}),
    ("inferentia", 100.0, 0.02, {"chip_cores": 1, "memory_gb": 2.2}),
    ("inferentia", 170.0, 0.05, {"chip_cores": 2, "memory_gb": 3.5}),
    ("gpu", 297.0, 0.0034, {"gpu": 0.5, "gpu_memory_gb": 1.3}),
    ("gpu", 500.0, 0.008, {"gpu": 0.7, "gpu_memory_gb": 1.3}),
    ("gpu", 800.0, 0.015, {"gpu": 1.0, "gpu_memory_gb": 1.4}),
)
"""The variants of a ResNet-50: kind of machine, items per second, latency, and what it takes."""
ARCHITECTURES, QUICK_ARCHITECTURES = (10, 22, 50, 100), (10,)
RESOURCES = ("free", "short")
FREE = 10_000
"""Machines of each kind, where they are free."""
LIMIT_S = 60.0
SEEDS, ROUNDS = range(3), 3
WAYS: dict[str, Callable[[Programme], Solution]] = {
    "programme": partial(solve, limit_s=LIMIT_S),
    "heuristic": heuristic,
}


def measure(quick: bool) -> Outcome:
    """A row for each number of architectures, resources, seed and way."""
    cases = product(QUICK_ARCHITECTURES if quick else ARCHITECTURES, RESOURCES, SEEDS)
    rows = [row for case in cases for row in _rows(*case)]
    return Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[Row]) -> dict[str, Any]:
    """By number of architectures and resources: median seconds of both, the most that the heuristic is dearer."""
    found: dict[str, Any] = {}
    for count, resources in dict.fromkeys((row["architectures"], row["resources"]) for row in rows):
        mine = [row for row in rows if (row["architectures"], row["resources"]) == (count, resources)]
        found[f"{count} {resources}"] = {
            way: round(median(row["processor_s"] for row in mine if row["way"] == way), 4) for way in WAYS
        }
    return found


def fleet(architectures: int, resources: str, seed: int) -> Programme:
    """A fleet at rest that is asked for all at once."""
    rng = np.random.default_rng(seed)
    work = np.exp(rng.normal(0, 0.8, architectures))
    applications = [
        Application(f"a{number}", float(rng.uniform(1, 200) / each), float(rng.uniform(0.1, 1.0)))
        for number, each in enumerate(work)
    ]
    variants = [
        ScalableVariant(f"v{form}", application.name, kind, rate / each, latency * each, 3.0, 0.7, needs)
        for application, each in zip(applications, work.tolist(), strict=True)
        for form, (kind, rate, latency, needs) in enumerate(FORMS)
    ]
    state = ServingState(KINDS, variants=variants, applications=applications)
    loads = {each.name: each.items_per_s for each in applications}
    free = programme(state, loads, {kind.name: FREE for kind in KINDS}, AutoscaleTerms())
    return free if resources == "free" else programme(state, loads, _half(free), AutoscaleTerms())


def _half(free: Programme) -> dict[str, int]:
    """Machines by kind."""
    counts = heuristic(free).counts
    taken: Counter[str] = Counter()
    for kind in KINDS:
        for name, amount in kind.resources.items():
            need = sum(counts[each.key] * each.needs.get((kind.name, name), 0.0) for each in free.candidates)
            taken[kind.name] = max(taken[kind.name], ceil(need / amount / 2))
    return dict(taken)


def _rows(architectures: int, resources: str, seed: int) -> Iterator[Row]:
    given = fleet(architectures, resources, seed)
    found = interleaved({way: partial(_timed, work, given) for way, work in WAYS.items()}, ROUNDS, seed)
    for way, runs in found.items():
        solution = runs[0][0]
        yield {
            "architectures": architectures,
            "variants": len(given.candidates),
            "resources": resources,
            "seed": seed,
            "way": way,
            "processor_s": round(median(seconds for _, seconds in runs), 5),
            "price_per_hour": round(3600 * given.objective(solution.counts), 3),
            "unserved": round(given.unserved(solution.counts) / architectures, 4),
        }


def _timed(work: Callable[[Programme], Solution], given: Programme) -> tuple[Solution, float]:
    started_s = time.process_time()
    return work(given), time.process_time() - started_s


def _draw(rows: Sequence[Row], figure: Any) -> None:
    axes = figure.subplots()
    for (way, style), resources in product(zip(WAYS, ("o", "x"), strict=True), RESOURCES):
        mine = [row for row in rows if (row["way"], row["resources"]) == (way, resources)]
        label = f"{way}, machines {resources}"
        axes.plot([row["architectures"] for row in mine], [row["processor_s"] for row in mine], style, label=label)
    axes.set(yscale="log", xlabel="architectures", ylabel="processor time, s")
    axes.legend()


if __name__ == "__main__":
    run("programme", measure, __doc__ or "")
