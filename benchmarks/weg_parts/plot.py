"""The picture of ``benchmarks.weg_synthetic``: the rows of the table, and how far from all-knowing elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Rows = Sequence[Mapping[str, Any]]
COLOURS = {"printed": "tab:orange", "ours": "tab:blue"}
LABELS = {"printed": "printed rules, simulated", "ours": "our rules, simulated"}


def draw(rows: Rows, figure: Any) -> None:
    """On an empty figure."""
    figure.set_size_inches(11, 7)
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    _speedups([row for row in rows if row["paper_speedup"]], left)
    _regret([row for row in rows if row["group"] == "drawn"], right)


def _speedups(rows: Rows, axes: Any) -> None:
    names = list(dict.fromkeys(row["setting"] for row in rows))
    places = np.arange(len(names))
    for shift, (rules, colour) in zip((0.2, -0.2), COLOURS.items(), strict=True):
        speedups = [row["speedup"] for row in rows if row["rules"] == rules]
        axes.barh(places - shift, speedups, 0.4, color=colour, label=LABELS[rules])
    one = [row for row in rows if row["rules"] == "ours"]
    axes.plot([row["paper_speedup"] for row in one], places, "kD", markersize=4, label="the paper measured")
    axes.plot([row["all_knowing_speedup"] for row in one], places, "k|", markersize=11, label="all-knowing, simulated")
    axes.axvline(1.0, color="grey", linewidth=0.8)
    axes.set_yticks(places, [name.replace("_", ", ") for name in names], fontsize=8)
    axes.invert_yaxis()
    axes.set(xlabel="speed-up over the oracle alone", title="Table 5.2 and changes every so many seconds")
    axes.legend(fontsize=8, loc="upper right")


def _regret(rows: Rows, axes: Any) -> None:
    for rules, colour in COLOURS.items():
        mine = [row for row in rows if row["rules"] == rules]
        x, y = [row["all_knowing_speedup"] for row in mine], [row["speedup"] for row in mine]
        axes.plot(x, y, "o", color=colour, label=LABELS[rules])
    most = max((row["all_knowing_speedup"] for row in rows), default=1.0)
    axes.plot([1, most], [1, most], color="grey", linewidth=0.8)
    axes.set(xlabel="speed-up of the all-knowing specializer", ylabel="speed-up", title="Settings drawn at random")
    axes.legend(fontsize=8)
