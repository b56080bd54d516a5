"""The plot of ``benchmarks.caches_images``: agreement against processor time, a colour for each way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.harness import Row

COLOURS = {
    "whole": "black",
    "int8": "tab:red",
    "learnt": "tab:cyan",
    "caches": "tab:blue",
    "int8 with caches": "tab:purple",
    "small first": "tab:green",
    "small first, caches": "tab:olive",
}
MARKS = {1.0: "s", 0.99: "o", 0.97: "^"}


def draw(rows: Sequence[Row], figure: Any) -> None:
    """One panel for each network; the targets are lines."""
    names = list(dict.fromkeys(row["network"] for row in rows))
    figure.set_size_inches(11, 6)
    for axes, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        for row in (row for row in rows if row["network"] == name):
            target = "" if row["target"] == 1 else f", target {row['target']:g}"
            colour = COLOURS[row["way"]]
            axes.plot([row["p50_ms"], row["p95_ms"]], [row["agreement"]] * 2, linewidth=0.8, color=colour)
            axes.scatter(
                [row["processor_ms"]],
                [row["agreement"]],
                color=colour,
                marker=MARKS[row["target"]],
                label=f"{row['way']}{target}: {row['speedup']:.2f}×",
            )
        for line in (mark for mark in MARKS if mark < 1):
            axes.axhline(line, color="grey", linewidth=0.6, linestyle=":")
        axes.set(title=name, xlabel="processor time of one image, ms (mean; line: median to p95)")
        axes.set(ylabel="agreement with fp32", xlim=(0, None))
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2)
