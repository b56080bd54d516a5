"""The plot of ``benchmarks.exits_video``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.exits_video_parts.rows import SECOND, WHOLE
from benchmarks.harness import Row

PANELS = (
    ("answered", "looks that exits answered", None),
    ("cpu_ratio", "process, over the oracle alone", 1.0),
    ("node_ratio", "node, over the oracle alone", 1.0),
    ("agreement", "agreement of published words", None),
    ("names_lost", "names lost", 0.1),
)
INTERVALS = ("agreement", "names_lost")


def told_by(rows: Sequence[Row]) -> list[Row]:
    """The second half of each setting; where there is none, the whole."""
    halved = {_setting(row) for row in rows if row["part"] == SECOND}
    return [row for row in rows if row["part"] == (SECOND if _setting(row) in halved else WHOLE)]


def draw(rows: Sequence[Row], figure: Any) -> None:
    """A line for each setting."""
    shown = told_by(rows)
    names = [f"{', '.join(str(each) for each in _setting(row)[:3])}, {row['accuracy']:g}" for row in shown]
    names = [
        name + (f", after a {row['begins_with']}" if row["begins_with"] == "recording" else "")
        for name, row in zip(names, shown, strict=True)
    ]
    figure.set_size_inches(17, 1.5 + 0.28 * len(shown))
    axes = figure.subplots(1, len(PANELS), sharey=True)
    for ax, (key, title, line) in zip(axes, PANELS, strict=True):
        for place, row in enumerate(shown):
            if row[key] == "":
                continue
            if key in INTERVALS:
                ax.plot([row[f"{key}_low"], row[f"{key}_high"]], [place, place], color="tab:gray", linewidth=1)
            ax.plot([row[key]], [place], "o", color="tab:blue", markersize=4)
        if line is not None:
            ax.axvline(line, color="grey", linewidth=0.8)
        ax.set_title(title, fontsize=8)
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="y", alpha=0.2)
    axes[0].set_yticks(range(len(names)), names, fontsize=7)
    axes[0].invert_yaxis()


def _setting(row: Row) -> tuple[Any, ...]:
    return tuple(row[key] for key in ("case", "recogniser", "answer", "accuracy", "begins_with"))
