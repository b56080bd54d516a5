"""The plot of ``benchmarks.caches_locality``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.caches_locality_parts.streams import SWEPT, WINDOWS
from benchmarks.caches_locality_parts.ways import ADAPTED, INTERVALS, RATES, WAYS
from benchmarks.harness import Row


def draw(rows: Sequence[Row], figure: Any) -> None:
    """Speed and agreement of each stream by window; below them, how interval and rate change the share answered."""
    names = list(dict.fromkeys(row["stream"] for row in rows))
    figure.set_size_inches(11, 2.6 * (len(names) + 1))
    grid = figure.subplots(len(names) + 1, 2, squeeze=False)
    for name, pair in zip(names, grid[:-1], strict=True):
        for way in WAYS:
            some = [row for row in rows if row["stream"] == name and _is_of(row, way.name)]
            for axes, key in zip(pair, ("speedup", "agreement"), strict=True):
                axes.plot([row["window"] for row in some], [row[key] for row in some], marker=".", label=way.name)
        for axes, key in zip(pair, ("times as fast as the whole", "agreement, all looks"), strict=True):
            axes.set(title=name, ylabel=key)
    swept = [row for row in rows if row["stream"] == SWEPT and row["way"] == ADAPTED.name]
    for minutes in INTERVALS:
        some = [row for row in swept if row["interval_min"] == minutes and row["samples_per_s"] == ADAPTED.per_s]
        _answered(grid[-1][0], some, f"trained every {minutes} min")
    for per_s in RATES:
        some = [row for row in swept if row["samples_per_s"] == per_s and _is_base(row, "interval_min")]
        _answered(grid[-1][1], some, f"{per_s:g} samples/s")
    for axes in grid.flat:
        axes.axvline(2 * WINDOWS - 0.5, color="grey", linewidth=0.8)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7)
    for axes in grid[-1]:
        axes.set(title=SWEPT, ylabel="answered by caches", xlabel="window of five minutes")


def _answered(axes: Any, rows: Sequence[Row], label: str) -> None:
    shares = [row["answered"] / row["looks"] for row in rows]
    axes.plot([row["window"] for row in rows], shares, marker=".", label=label)


def _is_of(row: Row, way: str) -> bool:
    return row["way"] == way and _is_base(row, "interval_min") and row["samples_per_s"] == ADAPTED.per_s


def _is_base(row: Row, key: str) -> bool:
    base = next(minutes for minutes, way in INTERVALS.items() if way.every == ADAPTED.every)
    return bool(row[key] == base)
