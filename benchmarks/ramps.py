"""Exits that follow a stream against exits that stay (Dai et al., 2024 [Apparate], §5.3 and §5.4).

ResNet-18 on streams of CIFAR-10 images whose classes and light change three times; seven exits as ``sluice learn``
makes them, learnt from 1,000 clear images. What network and exits say is recorded, what they take was measured on one
thread; then each way is replayed, one request at a time. Answers leave at exits, inputs run to the end. Wanted is an
agreement of 99 % of all inputs. Ways:

- ``BranchyNet``: all exits, one threshold, tuned once on a tenth of the stream; ``+``: a threshold for each; ``opt``:
  tuned on the very stream that it is judged on
- ``followed``: thresholds tuned again and again, exits adjusted every 128 inputs, within a budget of the worst case
- ``not adjusted``: the same with the exits that the budget allows at equal distances
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.caches_parts.certified import leaves_at
from benchmarks.harness import Outcome, Row, run
from benchmarks.ramps_parts.fixed import branchynet
from benchmarks.ramps_parts.followed import Followed, follow
from benchmarks.ramps_parts.recorded import Ramps, ramps, recorded
from cache_adapt.exits.record import Record

AGREEMENT = 0.99
BUDGETS = (0.02, 0.05, 0.1, 1.0)
"""Shares of the worst case that exits may add; at last all seven."""
WINDOW, QUICK_WINDOW = 500, 40
"""Inputs of a twelfth of a stream."""


def measure(quick: bool) -> Outcome:
    """A row for each stream and way."""
    with tempfile.TemporaryDirectory() as folder:
        _say("exits")
        made = ramps(Path(folder))
        rows = [
            row
            for name, stream in recorded(made, QUICK_WINDOW if quick else WINDOW)
            for row in _rows(name, stream, made)
        ]
    return Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[Row]) -> dict[str, Any]:
    """By way: agreement at least, and what is saved of the median and of the 95th percentile, over streams."""
    found: dict[str, Any] = {}
    for row in rows:
        found.setdefault(f"{row['way']} {row['budget']}".strip(), []).append(row)
    return {
        way: {
            "agreement": min(row["agreement"] for row in mine),
            "median": round(fmean(row["median_saved"] for row in mine), 3),
            "p95": round(fmean(row["p95_saved"] for row in mine), 3),
        }
        for way, mine in found.items()
    }


def _rows(name: str, stream: Record, made: Ramps) -> Iterator[Row]:
    _say(name)
    for way, thresholds in branchynet(stream, AGREEMENT).items():
        place = leaves_at(stream, thresholds)
        right = np.append(stream.right, np.ones((1, stream.inputs), bool), axis=0)[place, np.arange(stream.inputs)]
        yield _row(name, way, "", made, Followed(stream.latency[place], right, [stream.exits]))
    for budget, adjusting in product(BUDGETS, (True, False)):
        found = follow(stream, made.places, AGREEMENT, budget, adjusting)
        yield _row(name, "followed" if adjusting else "not adjusted", budget, made, found)


def _row(stream: str, way: str, budget: float | str, made: Ramps, found: Followed) -> Row:
    whole = made.places.whole
    return {
        "stream": stream,
        "way": way,
        "budget": budget,
        "agreement": round(float(found.right.mean()), 4),
        "median_saved": _saved(found.latency, 50, whole),
        "p25_saved": _saved(found.latency, 25, whole),
        "p95_saved": _saved(found.latency, 95, whole),
        "mean_saved": round(1 - float(found.latency.mean()) / whole, 4),
        "exits": round(fmean(found.active), 2) if found.active else "",
        "whole_ms": round(1e3 * whole, 3),
        "overhead_ms": round(1e3 * fmean(made.places.overhead), 4),
        "exit_kb": round(fmean(sum(part.nbytes for part in each.layer) for each in made.exits) / 1e3, 1),
        "adjust_ms": _ms(found.adjust_s),
        "tune_ms": _ms(found.tune_s),
        "tunings": len(found.tune_s),
    }


def _saved(latency: NDArray[np.float64], percentile: int, whole: float) -> float:
    return round(1 - float(np.percentile(latency, percentile)) / whole, 4)


def _ms(seconds: Sequence[float]) -> float | str:
    return round(1e3 * median(seconds), 4) if seconds else ""


def _draw(rows: Sequence[Row], figure: Any) -> None:
    axes = figure.subplots()
    for way in dict.fromkeys(row["way"] for row in rows):
        mine = [row for row in rows if row["way"] == way and row["budget"] in ("", BUDGETS[0], BUDGETS[-1])]
        axes.plot([row["agreement"] for row in mine], [row["mean_saved"] for row in mine], "o", label=way)
    axes.axvline(AGREEMENT, color="grey", linewidth=0.8)
    axes.set(xlabel="agreement", ylabel="mean latency saved", title="streams whose classes and light change")
    axes.legend()


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    run("ramps", measure, __doc__ or "")
