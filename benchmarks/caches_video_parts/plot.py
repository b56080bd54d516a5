"""By clip and way: speed-ups, agreement, and who answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.harness import Row

BARS = {"node_speedup": "node, speed-up", "cpu_speedup": "whole process, speed-up", "agreement": "agreement"}
WHO = {"oracle": "tab:grey", "specialised": "tab:pink", "cached": "tab:olive", "track": "tab:cyan"}
"""Who answered, and in which colour that is drawn: in none that a way has."""
LEAST_AGREEMENT = 0.8
"""Where the axis of the agreement begins."""


def draw(rows: Sequence[Row], figure: Any) -> None:
    """Draw three panels of bars by way, and one of the shares of answers."""
    axes = figure.subplots(1, 4, sharey=True)
    clips, ways = (list(dict.fromkeys(row[key] for row in rows)) for key in ("clip", "way"))
    height = 0.9 / len(ways)
    at = [clips.index(row["clip"]) + height * ways.index(row["way"]) for row in rows]
    for ax, (key, title) in zip(axes, BARS.items(), strict=False):
        _bars(ax, rows, at, height, key)
        ax.set_title(title, fontsize=9)
    _shares(axes[3], rows, at, height)
    least = min(LEAST_AGREEMENT, *(row["agreement"] for row in rows))
    axes[2].set_xlim(least, 1.0)
    axes[0].set_yticks([place + height * (len(ways) - 1) / 2 for place in range(len(clips))], clips, fontsize=7)
    axes[0].invert_yaxis()
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(axis="x", labelsize=7)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=len(ways), fontsize=6)
    figure.legend(*axes[3].get_legend_handles_labels(), loc="outside upper right", ncols=len(WHO), fontsize=6)


def _bars(ax: Any, rows: Sequence[Row], at: Sequence[float], height: float, key: str) -> None:
    for way in dict.fromkeys(row["way"] for row in rows):
        shown = [(place, row[key]) for place, row in zip(at, rows, strict=True) if row["way"] == way]
        ax.barh([place for place, _ in shown], [value for _, value in shown], height, label=way)
    ax.axvline(1.0, color="grey", linewidth=0.8)


def _shares(ax: Any, rows: Sequence[Row], at: Sequence[float], height: float) -> None:
    left = [0.0] * len(rows)
    for who, colour in WHO.items():
        widths = [row[who] for row in rows]
        ax.barh(at, widths, height, left=left, label=who, color=colour)
        left = [before + width for before, width in zip(left, widths, strict=True)]
    ax.set_title("who answered, share", fontsize=9)
