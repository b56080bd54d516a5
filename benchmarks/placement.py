"""Placement: what a fixed number of GPUs serves, how long plans for 10,000 cameras take, and how much they move.

Shen, 2019, §3.6.3.2 and Figure 3.19: sixteen sessions on eight GPUs in five scenarios, and §3.6.2.1's twenty live games
on sixteen, by the product's placement and by a batch-oblivious one: a session's share of a GPU is its rate over the
most that it would have of one alone. Both serve the same requests through the same code, in virtual time: the turns and
batches of the product, or sliding windows of the planned batch as in the paper. Throughput is the load at which 99 % of
the requests are in time; requests come evenly, or at random.

Profiles are made of the few figures that the paper gives (``placement_parts/workloads.py``). ``beyond_slo`` counts the
requests beyond their SLO at the rates that were planned, where they come evenly. ``seconds`` is processor time. Small
instances are compared with the exact programme: no plan has two backends more than that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.placement_parts.allocators import oblivious, ours
from benchmarks.placement_parts.epochs import LOADS, epochs, seconds_of_a_plan, seconds_with_too_few
from benchmarks.placement_parts.exact import more_than_exact
from benchmarks.placement_parts.throughput import Runtime, most_load, served
from benchmarks.placement_parts.workloads import Scenario, games, scenarios

OURS, OBLIVIOUS, PREFIX = "placement", "batch-oblivious", "placement, prefix groups"
RUNTIMES = {
    "look ahead": (Runtime("even"), Runtime("poisson")),
    "sliding window": (Runtime("even", windows=True), Runtime("poisson", windows=True)),
}
MANY, SHED = "10,000 cameras", "2,000 sessions, 20 backends"
COLOURS = {OBLIVIOUS: "#bbb", OURS: "#2a7", PREFIX: "#48c"}
KEYS = (
    *("part", "case", "way", "batches", "arrivals", "items_per_s", "gain_percent", "requests", "beyond_slo"),
    *("backends", "backends_anew", "models_placed", "loads_per_epoch", "seconds", "instances", "as_few_as_exact"),
)
EMPTY = dict.fromkeys(KEYS, "")


def measure(quick: bool) -> harness.Outcome:
    """All parts."""
    rows = [*_throughputs(quick), *_epochs(6 if quick else 48), *_seconds(quick)]
    rows.append(_exact(40 if quick else 1000))
    return harness.Outcome(rows, headline(rows), partial(_draw, rows))


def _throughputs(quick: bool) -> Iterator[harness.Row]:
    cases = [(each, OURS) for each in scenarios()[:: 4 if quick else 1]]
    if not quick:
        cases += [(games(prefix=False), OURS), (games(prefix=True), PREFIX)]
    for scenario, way in cases:
        plans = {way: ours(scenario), OBLIVIOUS: oblivious(scenario)}
        requests, beyond = served(plans[way][0], scenario.profiles, Runtime("even"))
        for batches, runtimes in RUNTIMES.items():
            for runtime in runtimes[: 1 if quick else 2]:
                found = {
                    name: factor * most_load(plan, scenario.profiles, runtime) for name, (plan, factor) in plans.items()
                }
                for name in found if way == OURS else [way]:
                    yield {
                        **_row("throughput", scenario, name),
                        "batches": batches,
                        "arrivals": runtime.arrivals,
                        "items_per_s": round(found[name]),
                        "gain_percent": round(100 * (found[name] / found[OBLIVIOUS] - 1), 1),
                        "requests": requests if name == way else "",
                        "beyond_slo": beyond if name == way else "",
                    }


def _row(part: str, scenario: Scenario, way: str) -> dict[str, Any]:
    return {**EMPTY, "part": part, "case": scenario.name, "way": way, "backends": scenario.backends}


def _epochs(number: int) -> Iterator[harness.Row]:
    for name, change in LOADS.items():
        found = epochs(change, number)
        yield {
            **EMPTY,
            "part": "epochs",
            "case": name,
            "way": OURS,
            "backends": round(found.backends, 1),
            "backends_anew": round(found.anew, 1),
            "models_placed": round(found.placed, 1),
            "loads_per_epoch": round(found.loads, 2),
        }


def _seconds(quick: bool) -> Iterator[harness.Row]:
    parts = {MANY: seconds_of_a_plan(2 if quick else 7), SHED: seconds_with_too_few(1 if quick else 3)}
    for part, found in parts.items():
        for seconds in found:
            yield {**EMPTY, "part": part, "way": OURS, "seconds": round(seconds, 3)}


def _exact(instances: int) -> harness.Row:
    more = [*more_than_exact(instances, np.random.default_rng(0))]
    assert max(more) <= 1
    return {**EMPTY, "part": "exact", "way": OURS, "instances": instances, "as_few_as_exact": more.count(0)}


def headline(rows: Sequence[harness.Row]) -> dict[str, Any]:
    """Gains over batch-oblivious in the five scenarios, in percent, and what the other parts are for."""
    mine = [row for row in rows if row["part"] == "throughput" and row["way"] in (OURS, PREFIX)]
    gains = {
        (batches, arrivals): [
            row["gain_percent"]
            for row in mine
            if (row["batches"], row["arrivals"]) == (batches, arrivals) and row["case"] != "games"
        ]
        for batches, arrivals in dict.fromkeys((row["batches"], row["arrivals"]) for row in mine)
    }
    served = {
        (row["case"], row["way"]): row["items_per_s"]
        for row in rows
        if (row["batches"], row["arrivals"]) == ("look ahead", "even")
    }
    return {
        "gain_worst": min(gains["look ahead", "even"]),
        "gain_best": max(gains["look ahead", "even"]),
        "gains": {f"{batches}, {arrivals}": [min(each), max(each)] for (batches, arrivals), each in gains.items()},
        **_games(served),
        "beyond_slo": sum(row["beyond_slo"] for row in mine),
        "loads_per_epoch": {row["case"]: row["loads_per_epoch"] for row in rows if row["part"] == "epochs"},
        "as_few_as_exact": [row["as_few_as_exact"] / row["instances"] for row in rows if row["part"] == "exact"],
        "seconds_10000_cameras": median(row["seconds"] for row in rows if row["part"] == MANY),
        "seconds_2000_sessions": median(row["seconds"] for row in rows if row["part"] == SHED),
    }


def _games(served: dict[tuple[str, str], float]) -> dict[str, float]:
    if ("games", PREFIX) not in served:
        return {}
    return {
        "games_gain": round(100 * (served["games", OURS] / served["games", OBLIVIOUS] - 1), 1),
        "games_prefix_gain": round(100 * (served["games", PREFIX] / served["games", OURS] - 1), 1),
    }


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    shown = [row for row in rows if (row["batches"], row["arrivals"]) == ("look ahead", "even")]
    cases = list(dict.fromkeys(row["case"] for row in shown))
    for place, (way, colour) in enumerate(COLOURS.items()):
        mine = [row for row in shown if row["way"] == way]
        left.bar(
            [cases.index(row["case"]) + 0.27 * (place - 1) for row in mine],
            [row["items_per_s"] for row in mine],
            0.25,
            color=colour,
            label=way,
        )
    left.set_xticks(range(len(cases)), [case.replace(", ", ",\n") for case in cases], fontsize=6)
    left.set_title("items/s with 99 % in time (games: frames with two models)", fontsize=8)
    left.tick_params(axis="y", labelsize=6)
    left.legend(fontsize=6)
    moving = [row for row in rows if row["part"] == "epochs"]
    right.bar([row["case"] for row in moving], [row["loads_per_epoch"] for row in moving], color=COLOURS[OURS])
    for place, row in enumerate(moving):
        said = f"{row['backends']:g} backends\n(anew {row['backends_anew']:g})"
        right.text(place, row["loads_per_epoch"], said, ha="center", va="bottom", fontsize=6)
    placed = max((row["models_placed"] for row in moving), default=0)
    right.set_title(f"loads in an epoch, of up to {placed:g} placed models", fontsize=8)
    right.margins(y=0.15)
    right.tick_params(labelsize=6)


if __name__ == "__main__":
    harness.run("placement", measure, __doc__ or "")
