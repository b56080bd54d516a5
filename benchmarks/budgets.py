"""Accuracy served at equal budgets of a day, against static placement (Shen, 2019, §4.4.2 and Figures 4.12 and 4.13).

A camera sees vehicles for a day with two rush hours; three networks of this machine, and one of a machine that is away
for three and a half hours, may name them. Energy of this machine and calls to the other are bounded. This is simulated
with the product's budgets and the measured times of our networks, for two days: on the first nothing is known of how
often it is asked. *Static* is the one placement that the day turns out to pay, chosen with the whole day known; *server
first* the paper's straw man, which leaves requests unserved once all is spent; *shares alone* Algorithm 4.1 without
what requests save; *optimal* the linear programme over the whole day.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import fmean
from typing import Any

from benchmarks import harness
from benchmarks.budgets_parts.day import PLACES, Asked, requests
from benchmarks.budgets_parts.deciders import DECIDERS, Budgets

ENERGY = (0.15, 0.2, 0.3, 0.4, 0.55, 0.75, 1.0)
"""Shares of the energy of a day by the best network here alone; the cheapest takes .145."""
CALLS = (0.0, 0.1, 0.4)
"""Shares of the day's requests that may go to the other machine."""
SEEDS = (0, 1)
"""One for each of the two days."""
COLOURS = {"budgets": "#2a7", "shares alone": "#7bd", "static": "#888", "server first": "#c63", "optimal": "#000"}


def measure(quick: bool) -> harness.Outcome:
    """All ways under all budgets, on both days."""
    days = [requests(seed, 0.1 if quick else 1.0) for seed in SEEDS]
    budgets = [(energy, calls) for calls in CALLS for energy in ENERGY]
    rows = [row for energy, calls in budgets for way in DECIDERS for row in _rows(way, days, energy, calls)]
    return harness.Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[harness.Row]) -> dict[str, Any]:
    """By day: points of accuracy over the other ways, least, mean and most; the most that was used of the budgets."""
    return {f"day {day}": _compared([row for row in rows if row["day"] == day]) for day in (1, 2)}


def _compared(rows: Sequence[harness.Row]) -> dict[str, Any]:
    by_way = {way: [row for row in rows if row["way"] == way] for way in DECIDERS}
    mine = by_way.pop("budgets")
    gains = {
        way: [100 * (each["accuracy"] - row["accuracy"]) for each, row in zip(mine, others, strict=True)]
        for way, others in by_way.items()
    }
    return {
        "points_over": {way: [round(min(g), 1), round(fmean(g), 1), round(max(g), 1)] for way, g in gains.items()},
        "most_of_energy": max(row["energy_used"] for row in mine),
        "most_of_calls": max(row["calls_used"] for row in mine),
    }


def _rows(way: str, days: Sequence[Sequence[Asked]], energy: float, calls: float) -> list[harness.Row]:
    requests_a_day = fmean(map(len, days))
    given = Budgets(energy * requests_a_day * PLACES[1].processor_s, calls * requests_a_day)
    return [
        {
            "way": way,
            "day": number,
            "energy_share": energy,
            "calls_share": calls,
            "requests": len(asked),
            "accuracy": round(served.accuracy, 4),
            "energy_used": round(served.processor_s / given.processor_s, 4),
            "calls_used": round(served.calls / given.calls if given.calls else 0.0, 4),
        }
        for number, (asked, served) in enumerate(zip(days, DECIDERS[way](days, given), strict=True), 1)
    ]


def _draw(rows: Sequence[harness.Row], figure: Any) -> None:
    for calls, axes in zip(CALLS, figure.subplots(1, len(CALLS), sharey=True), strict=True):
        for way, colour in COLOURS.items():
            mine = [row for row in rows if (row["way"], row["calls_share"], row["day"]) == (way, calls, 2)]
            style = "--" if way == "optimal" else "-"
            axes.plot(
                [row["energy_share"] for row in mine],
                [row["accuracy"] for row in mine],
                style,
                color=colour,
                label=way,
            )
        axes.set_title(f"second day, calls for {calls:.0%} of the requests", fontsize=8)
        axes.set_xlabel("energy of the day, share of the best network's", fontsize=7)
    figure.axes[0].set_ylabel("accuracy over all requests", fontsize=7)
    figure.axes[0].legend(fontsize=6)


if __name__ == "__main__":
    harness.run("budgets", measure, __doc__ or "")
