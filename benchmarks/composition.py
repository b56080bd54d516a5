"""Which caches to build: the search by labels against the integer program that it took the place of.

Networks of 19 cuts, as many as a ResNet-50 has, with one, two or four forms of cache at each cut and three points of
each: 57, 114 and 228 caches. What they do is drawn: later caches answer more, and larger ones need more memory. Every
way solves every instance in a process of its own, in an order drawn anew; processor time of that process, and by how
much its memory has grown at most. The program has 300 s of elapsed time. The paper's relaxation is solved for six
values of α.
"""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from math import inf
from multiprocessing import get_context
from statistics import median
from typing import Any

import numpy as np

from benchmarks.composition_parts.problem import Cache, Choice, CompositionProblem, allowed, expected
from benchmarks.harness import Outcome, Row, run

CUTS, POINTS, AGREEMENT = 19, (1.0, 0.5, 0.25), 0.97
FORMS_MB = (268.0, 33.0, 8.0, 2.0)
"""Memory of each form at the first cut."""
FORMS, MEMORIES_MB, SEEDS = (1, 2, 4), (inf, 100.0), range(2)
WAYS = ("search", "program", "relaxation")


def instance(seed: int, forms: int, memory_mb: float, cuts: int = CUTS) -> CompositionProblem:
    """A network and its caches; each cache uses up some of what the agreement allows, by its point."""
    rng = np.random.default_rng(seed)
    layers, rates = rng.uniform(0.5, 2, cuts + 1), np.sort(rng.uniform(0.02, 0.95, cuts))
    caches = []
    for cut, form in product(range(cuts), range(forms)):
        rate, lookup = min(rates[cut] * rng.uniform(0.6, 1.1), 0.99), rng.uniform(0.02, 0.4)
        memory = FORMS_MB[-forms:][form] * rng.uniform(0.5, 1) * (1 - 0.7 * cut / cuts)
        for point, allowed_ in enumerate(POINTS):
            hits = rate * (1 - 0.15 * point) * rng.uniform(0.95, 1)
            wrong = min(allowed_ * (1 - AGREEMENT) * rng.uniform(0.6, 1), hits)
            caches.append(Cache(cut + 1, f"{form}.{point}", hits, 1 - wrong / hits, lookup, memory))
    return CompositionProblem(layers.tolist(), caches, AGREEMENT, memory_mb)


def measure(quick: bool) -> Outcome:
    """All ways on all instances."""
    cases = list(product(FORMS[:1] if quick else FORMS, MEMORIES_MB, SEEDS[:1] if quick else SEEDS))
    rows = list(_rows(cases))
    return Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[Row]) -> dict[str, Any]:
    """By number of caches: median seconds, most memory, and how many instances were not solved to the optimum."""
    found: dict[str, Any] = {}
    for caches, way in product(sorted({row["caches"] for row in rows}), WAYS):
        mine = [row for row in rows if (row["caches"], row["way"]) == (caches, way)]
        found[f"{way}_{caches}"] = {
            "processor_s": round(median(row["processor_s"] for row in mine), 3),
            "memory_mb": max(row["memory_mb"] for row in mine),
            "none_found": sum(row["latency"] is None for row in mine),
            "worst_over_search": max((row["over_search"] for row in mine if row["latency"] is not None), default=None),
        }
    return found


def solved(way: str, seed: int, forms: int, memory_mb: float) -> dict[str, Any]:
    """One way on one instance, to be called in a process of its own."""
    problem, solve = instance(seed, forms, memory_mb), _solver(way)
    before_kib, started_s = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    choice = solve(problem)
    took_s = time.process_time() - started_s
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib
    if choice is not None and not allowed(problem, choice):
        raise AssertionError(f"{way} chose caches that are not allowed: {choice}")
    return {
        "processor_s": round(took_s, 4),
        "memory_mb": round(grown_kib / 1024, 1),
        "chosen": None if choice is None else len(choice),
        "latency": None if choice is None else round(expected(problem, choice).latency / problem.whole, 5),
    }


def _solver(way: str) -> Callable[[CompositionProblem], Choice | None]:
    # Not at the top: what the other ways import would count as memory of a process that does not need it.
    if way == "search":
        from benchmarks.composition_parts.compose import compose

        return compose
    if way == "program":
        from benchmarks.composition_parts.program import programmed

        return programmed
    from benchmarks.composition_parts.relaxation import best_relaxed

    return best_relaxed


def _rows(cases: Sequence[tuple[int, float, int]]) -> Iterator[Row]:
    order = random.Random(0)
    for forms, memory_mb, seed in cases:
        found = {}
        for way in order.sample(WAYS, len(WAYS)):
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
                found[way] = alone.submit(solved, way, seed, forms, memory_mb).result()
        best = found["search"]["latency"]
        for way in WAYS:
            latency = found[way]["latency"]
            over = None if latency is None else round(latency / best - 1, 5)
            case = {"caches": CUTS * forms * len(POINTS), "budget_mb": memory_mb, "seed": seed, "way": way}
            yield {**case, **found[way], "over_search": over}


def _draw(rows: Sequence[Row], figure: Any) -> None:
    for axes, key, label in zip(
        figure.subplots(1, 2), ("processor_s", "memory_mb"), ("processor time, s", "memory, MB"), strict=True
    ):
        for way, style in zip(WAYS, ("o", "x", "+"), strict=True):
            mine = [row for row in rows if row["way"] == way]
            axes.plot([row["caches"] for row in mine], [row[key] for row in mine], style, label=way)
        axes.set(yscale="log" if key == "processor_s" else "linear", xlabel="caches", ylabel=label)
        axes.legend(fontsize=7)


if __name__ == "__main__":
    run("composition", measure, __doc__ or "")
