"""The plot of ``benchmarks.caches_locality``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.caches_locality_parts.streams import PHASES, WINDOWS
from benchmarks.caches_locality_parts.ways import ACCURACY, WAYS
from benchmarks.harness import Row


def draw(rows: Sequence[Row], figure: Any) -> None:
    """Speed, agreement and the share that exits answer, of each stream by window."""
    names = list(dict.fromkeys(row["stream"] for row in rows))
    figure.set_size_inches(13, 2.8 * len(names))
    grid = figure.subplots(len(names), 3, squeeze=False)
    for name, axes in zip(names, grid, strict=True):
        for way in WAYS:
            some = [row for row in rows if (row["stream"], row["way"]) == (name, way.name)]
            at = [row["window"] for row in some]
            axes[0].plot(at, [row["speedup"] for row in some], marker=".", label=way.name)
            axes[1].plot(at, [row["answered"] / row["looks"] for row in some], marker=".")
            axes[2].plot(at, [row["agreement"] for row in some], marker=".")
        axes[2].axhline(ACCURACY, color="grey", linewidth=0.8)
        for each, what in zip(axes, ("times as fast as the whole", "answered by exits", "agreement"), strict=True):
            each.set(title=name, ylabel=what)
            each.grid(alpha=0.3)
            for phase in range(1, PHASES):
                each.axvline(phase * WINDOWS - 0.5, color="grey", linewidth=0.8)
    grid[0][0].legend(fontsize=7)
    for each in grid[-1]:
        each.set(xlabel="window of five minutes")
