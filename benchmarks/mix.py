"""The cheapest mix of variants for a load, against one kind of variant alone (Romero et al., 2021, Tables 2 and 3).

``paper``: the three variants of a ResNet-50 of Table 2 under the loads of Table 3. ``drawn``: fifty loads on 100
variants whose throughputs and costs are drawn; the heuristic that answers where the solver has no time, against it.
Costs are per second, in units of the cheapest variant's; processor time of this process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from benchmarks.harness import Outcome, Row, interleaved, run
from benchmarks.mix_parts.cheapest import Candidate, Mix, cheapest_mix

TABLE_2 = (
    Candidate("A: 4 CPUs, TensorFlow", 0.200, 5, 1),
    Candidate("B: 1 Inferentia core, Neuron", 0.020, 100, 3),
    Candidate("C: 1 V100 GPU, TensorRT", 0.015, 800, 16),
)
"""Three variants of a ResNet-50."""
LOADS = ((10, 0.300), (10, 0.050), (1000, 0.300))
"""Items per second, and the SLO in seconds."""
VARIANTS, DRAWN, QUICK_DRAWN = 100, 50, 5
SOLVER_S = 60.0


def measure(quick: bool) -> Outcome:
    """Both parts."""
    rows = [*_paper(), *_drawn(QUICK_DRAWN if quick else DRAWN)]
    return Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[Row]) -> dict[str, Any]:
    """How much dearer the cheapest kind alone is under each load of Table 3; what the heuristic costs beyond."""
    paper = [row for row in rows if row["part"] == "paper" and row["over_cheapest"] is not None]
    alone = {
        f"{load}_per_s_{1000 * slo_s:g}_ms": min(
            row["over_cheapest"]
            for row in paper
            if (row["load_per_s"], row["slo_s"]) == (load, slo_s) and row["way"].endswith("alone")
        )
        for load, slo_s in LOADS
    }
    drawn = {
        way: [row for row in rows if (row["part"], row["way"]) == ("drawn", way)] for way in ("solver", "heuristic")
    }
    over = [row["over_cheapest"] for row in drawn["heuristic"]]
    return {
        "cheapest_kind_over_mix": alone,
        "heuristic_over_solver": {"median": round(median(over), 3), "worst": max(over)},
        **{f"{way}_ms": round(median(row["processor_ms"] for row in found), 2) for way, found in drawn.items()},
    }


def _paper() -> Iterator[Row]:
    for load, slo_s in LOADS:
        best = cheapest_mix(TABLE_2, load, slo_s, limit_s=SOLVER_S)
        yield _row("paper", load, slo_s, "mix", best, best, None)
        for each in TABLE_2:
            alone = cheapest_mix([each], load, slo_s, limit_s=SOLVER_S)
            yield _row("paper", load, slo_s, f"{each.name[0]} alone", alone, best, None)


def _drawn(count: int) -> Iterator[Row]:
    rng = np.random.default_rng(0)
    for number in range(count):
        rates = np.exp(rng.uniform(np.log(5), np.log(800), VARIANTS))
        costs = np.round(rates**0.8 * rng.uniform(0.5, 1.5, VARIANTS) / 4, 2) + 1
        some = [
            Candidate(f"v{place}", 0.1, float(q), float(c))
            for place, (q, c) in enumerate(zip(rates, costs, strict=True))
        ]
        load = float(np.exp(rng.uniform(np.log(10), np.log(10_000))))
        ways: dict[str, Callable[[], tuple[Mix | None, float]]] = {
            way: partial(_timed, some, load, limit_s) for way, limit_s in (("solver", SOLVER_S), ("heuristic", 0.0))
        }
        found = {way: runs[0] for way, runs in interleaved(ways, 1, number).items()}
        for way, (mix, ms) in found.items():
            yield _row("drawn", round(load, 1), 1.0, way, mix, found["solver"][0], ms)


def _timed(some: Sequence[Candidate], load: float, limit_s: float) -> tuple[Mix | None, float]:
    started = time.process_time()
    found = cheapest_mix(some, load, 1.0, limit_s=limit_s)
    return found, 1e3 * (time.process_time() - started)


def _row(
    part: str, load: float, slo_s: float, way: str, mix: Mix | None, best: Mix | None, milliseconds: float | None
) -> Row:
    """One way to carry a load; without figures where it cannot."""
    return {
        "part": part,
        "load_per_s": load,
        "slo_s": slo_s,
        "way": way,
        "instances": None if mix is None else sum(mix.counts),
        "cost_per_s": None if mix is None else round(mix.cost_per_s, 2),
        "over_cheapest": None if mix is None or best is None else round(mix.cost_per_s / best.cost_per_s, 3),
        "processor_ms": None if milliseconds is None else round(milliseconds, 2),
    }


def _draw(rows: Sequence[Row], figure: Any) -> None:
    left, right = figure.subplots(1, 2)
    paper = [row for row in rows if row["part"] == "paper" and row["cost_per_s"] is not None]
    names = [f"{row['load_per_s']}/s, {1000 * row['slo_s']:g} ms: {row['way']}" for row in paper]
    left.barh(names[::-1], [row["over_cheapest"] for row in paper][::-1], color="#2a7")
    left.set_title("cost over the cheapest mix's", fontsize=8)
    left.tick_params(labelsize=6)
    drawn = [row for row in rows if (row["part"], row["way"]) == ("drawn", "heuristic")]
    right.semilogx([row["load_per_s"] for row in drawn], [row["over_cheapest"] for row in drawn], "x")
    right.set_title(f"heuristic over solver, {VARIANTS} variants", fontsize=8)
    right.set_xlabel("load, items a second", fontsize=7)


if __name__ == "__main__":
    run("mix", measure, __doc__ or "")
