"""Selection without naming a model: what one decision costs among 175 variants (Romero et al., 2021, §6.4, Table 7).

There are as many variants as in the paper; what they can do is drawn, for the time of a decision does not depend on
where the figures come from. Three catalogues lead to the three outcomes: half of the variants are active (the paper's
state b), none is (state a), or none does what is asked. Brute force looks at one record after the other and takes the
same variant.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from benchmarks import harness
from serving.selection import Requirements, VariantRecord, VariantTable, select

VARIANTS = 175
DECISIONS = 200
"""Calls timed for a case in one round."""
ROUNDS, QUICK_ROUNDS = 50, 5
CASES = ("active", "inactive", "none")
TABLE, BRUTE_FORCE = "table", "brute force"

Decide = Callable[[Requirements], object]


def measure(quick: bool) -> harness.Outcome:
    """Every case by both ways, in turns."""
    asked = requirements(np.random.default_rng(1))
    ways = {(case, way): decide for case in CASES for way, decide in _ways(catalogue(case)).items()}
    rounds = QUICK_ROUNDS if quick else ROUNDS
    found = harness.interleaved({key: partial(_times_us, decide, asked) for key, decide in ways.items()}, rounds)
    rows = [row(case, way, found) for case, way in ways]
    return harness.Outcome(rows, headline(rows), partial(_draw, rows))


def catalogue(case: str) -> list[VariantRecord]:
    """The variants of a case; the same but for what the case is about."""
    rng = np.random.default_rng(0)
    drawn = [_draw_record(f"model-{number}@engine-fp32", rng) for number in range(VARIANTS)]
    if case == "active":
        return [replace(each, state="active") if number % 2 else each for number, each in enumerate(drawn)]
    return drawn if case == "inactive" else [replace(each, accuracy=each.accuracy / 2) for each in drawn]


def _draw_record(name: str, rng: np.random.Generator) -> VariantRecord:
    latency_s = float(np.exp(rng.uniform(np.log(0.001), np.log(0.3))))
    # What takes longer is more accurate, by and large.
    accuracy = float(np.clip(0.95 + 0.04 * np.log10(latency_s) + rng.normal(0, 0.03), 0, 1))
    return VariantRecord(name, latency_s, rng.uniform(0.05, 2), accuracy, latency_s / 2, "inactive", rng.random())


def requirements(rng: np.random.Generator) -> list[Requirements]:
    """Those that some variant of the full catalogue meets: each is the figures of one, with a little room."""
    pattern = catalogue("inactive")
    chosen = (pattern[row] for row in rng.integers(VARIANTS, size=DECISIONS))
    return [Requirements(each.latency_s * 1.5, each.accuracy * 0.99, each.cost * 1.5) for each in chosen]


def _ways(records: Sequence[VariantRecord]) -> dict[str, Decide]:
    table = VariantTable(records)
    return {TABLE: lambda asked: select(asked, table), BRUTE_FORCE: partial(brute_force, records)}


def brute_force(records: Sequence[VariantRecord], asked: Requirements) -> VariantRecord:
    """The same choice by looking at every record."""
    meet = [each for each in records if shortfall(asked, each) == 0]
    if active := [each for each in meet if each.state == "active"]:
        return min(active, key=lambda each: each.load)
    if inactive := [each for each in meet if each.state == "inactive"]:
        return min(inactive, key=lambda each: each.load_s + each.latency_s)
    free = [each for each in records if each.state in ("active", "inactive")] or records
    return min(free, key=lambda each: shortfall(asked, each))


def shortfall(asked: Requirements, has: VariantRecord) -> float:
    """The relative distances of all that a variant does not meet, added up."""
    below = max(0.0, 1 - has.accuracy / asked.accuracy) if asked.accuracy else 0.0
    return max(0.0, has.latency_s / asked.latency_s - 1) + below + max(0.0, has.cost / asked.cost - 1)


def _times_us(decide: Decide, asked: Sequence[Requirements]) -> list[float]:
    times_us = []
    for each in asked:
        started = time.perf_counter()
        decide(each)
        times_us.append(1e6 * (time.perf_counter() - started))
    return times_us


def row(case: str, way: str, found: dict[tuple[str, str], list[list[float]]]) -> dict[str, Any]:
    """All decisions of a case by one way; the speed-up is the median of the rounds' own."""
    mine, brute = found[case, way], found[case, BRUTE_FORCE]
    rounds = [np.median(slow) / np.median(fast) for slow, fast in zip(brute, mine, strict=True)]
    times_us = list(chain.from_iterable(mine))
    return {
        "case": case,
        "way": way,
        "variants": VARIANTS,
        "decisions": len(times_us),
        "p50_us": round(float(np.median(times_us)), 2),
        "p99_us": round(float(np.percentile(times_us, 99)), 2),
        "speedup_over_brute_force": round(float(np.median(rounds)), 2),
    }


def headline(rows: Sequence[harness.Row]) -> dict[str, float]:
    """The case that is worst in each respect."""
    ours = [row for row in rows if row["way"] == TABLE]
    return {
        "select_us_p50": max(row["p50_us"] for row in ours),
        "select_us_p99": max(row["p99_us"] for row in ours),
        "speedup_over_brute_force": min(row["speedup_over_brute_force"] for row in ours),
    }


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    axes = figure.subplots()
    places = np.arange(len(CASES))
    for shift, way, colour in ((-0.2, BRUTE_FORCE, "#bbb"), (0.2, TABLE, "#2a7")):
        found = [row for row in rows if row["way"] == way]
        axes.bar(places + shift, [row["p50_us"] for row in found], 0.4, color=colour, label=f"{way}, median")
        axes.plot(places + shift, [row["p99_us"] for row in found], "k_", label=f"{way}, 99th percentile")
    axes.set_xticks(places, ["an active one does it", "an inactive one does it", "none does it"])
    axes.set_title(f"one decision among {VARIANTS} variants, µs", fontsize=8)
    axes.legend(fontsize=6)


if __name__ == "__main__":
    harness.run("selection", measure, __doc__ or "")
