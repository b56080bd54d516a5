"""Cost and late answers as loads change, against static and threshold scaling (Romero et al., 2021, §6.1 and §6.2).

Requests run in virtual time, on the paper's prices and machines, with Table 2's variants; what the paper does not
print was inferred or assumed, see ``autoscale_parts/profiles.py``. One model has a low, a fluctuating and a high load,
and instances are paid by the GB (§6.2); 22 models have a day with spikes in 450 s, and machines are paid by the hour
(§6.1), where the paper has a trace that we do not have. Arrivals are Poisson's. *Static* has what was loaded at first,
*threshold* adds and takes away instances of one variant, *autoscale* is the paper's way; by *throughput alone* it
is the paper's programme, and with *slack 1.2* it keeps more in reserve, and 2 % may be late in place of 5 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import fmean
from typing import Any

from benchmarks import harness
from benchmarks.autoscale_parts.fleet import Served
from benchmarks.autoscale_parts.loads import TRACE_S, fluctuating, high, low, poisson, production
from benchmarks.autoscale_parts.ways import MANY_MODELS, ONE_MODEL

LOADS = {"low": low, "fluctuating": fluctuating, "high": high}
SECONDS = 240.0
SEEDS = (0, 1, 2)
COLOURS = {
    "autoscale": "#2a7",
    "autoscale, throughput alone": "#000",
    "autoscale, no Inferentia": "#7bd",
    "autoscale, slack 1.2": "#06c",
    "static": "#999",
    "static CPU": "#999",
    "static GPU": "#444",
    "threshold": "#c63",
    "threshold CPU": "#fb8",
    "threshold GPU": "#c63",
    "threshold Inferentia": "#96c",
}
History = dict[tuple[str, str], Served]


def measure(quick: bool) -> harness.Outcome:
    """All ways under all loads."""
    found: History = {}
    rows = []
    for seed in SEEDS[:1] if quick else SEEDS:
        for load, rate in LOADS.items():
            arrivals = poisson(rate, SECONDS / 4 if quick else SECONDS, seed, "resnet50")
            for way, made in ONE_MODEL.items():
                found[load, way] = made().run(arrivals, SECONDS / 4 if quick else SECONDS)
                rows.append(_row(load, way, seed, found[load, way], found[load, way].instance_cost))
        share = 0.1 if quick else 1.0
        trace = production(seed, share)
        for way, many in MANY_MODELS.items():
            found["production", way] = many().run(trace, TRACE_S * share)
            rows.append(_row("production", way, seed, found["production", way], found["production", way].machine_cost))
    return harness.Outcome(rows, headline(rows), partial(_draw, rows, found))


def _row(load: str, way: str, seed: int, served: Served, cost: float) -> harness.Row:
    return {
        "load": load,
        "way": way,
        "seed": seed,
        "requests": served.requests,
        "served": served.done,
        "in_time": served.in_time,
        "late_share": round(1 - served.in_time / served.requests, 4),
        "cost": round(cost, 3),
        "instances": " ".join(f"{name}:{count:.2f}" for name, count in sorted(served.kinds.items())),
    }


def headline(rows: Sequence[harness.Row]) -> dict[str, Any]:
    """By load and other way: how many times cheaper autoscaling is, and how many times fewer answers are late."""
    found: dict[str, Any] = {}
    for load in dict.fromkeys(row["load"] for row in rows):
        ways = list(dict.fromkeys(row["way"] for row in rows if row["load"] == load))
        late = {way: _mean(rows, load, way, "late_share") for way in ways}
        cost = {way: _mean(rows, load, way, "cost") for way in ways}
        mine = late["autoscale"]
        found[load] = {
            "late": {way: round(each, 3) for way, each in late.items()},
            "times_cheaper": {way: round(cost[way] / cost["autoscale"], 2) for way in ways[1:]},
            "times_fewer_late": {way: round(late[way] / mine, 2) if mine else None for way in ways[1:]},
        }
    return found


def _mean(rows: Sequence[harness.Row], load: str, way: str, key: str) -> float:
    return fmean(row[key] for row in rows if (row["load"], row["way"]) == (load, way))


def _draw(rows: Sequence[harness.Row], found: History, figure: Any) -> None:
    loads = [*LOADS, "production"]
    above, below = figure.subplots(2, len(loads))
    for load, top, bottom in zip(loads, above, below, strict=True):
        ways = MANY_MODELS if load == "production" else ONE_MODEL
        for way in ways:
            late, cost = 100 * _mean(rows, load, way, "late_share"), _mean(rows, load, way, "cost")
            top.scatter([cost], [late], color=COLOURS[way], label=way, s=22)
        top.set_title(load, fontsize=8)
        top.set_yscale("symlog", linthresh=1)
        top.set_ylim(-0.2, 150)
        top.margins(x=0.1)
        top.set_xlim(left=0)
        top.set_xlabel(
            "cost: " + ("dollars of machines" if load == "production" else "instances by the GB"), fontsize=6
        )
        top.tick_params(labelsize=6)
        history = found[load, "autoscale"].history
        bottom.plot([each[0] for each in history], color="#888", linewidth=0.8, label="asked")
        bottom.plot([each[1] for each in history], color="#2a7", linewidth=0.8, label="in time")
        bottom.set_xlabel("seconds, autoscale", fontsize=6)
        bottom.tick_params(labelsize=6)
    above[0].set_ylabel("late, %", fontsize=7)
    below[0].set_ylabel("requests a second", fontsize=7)
    above[0].legend(fontsize=5, loc="upper right")
    above[3].legend(fontsize=5, loc="upper left")
    below[0].legend(fontsize=5)


if __name__ == "__main__":
    harness.run("autoscale", measure, __doc__ or "")
