"""The picture of ``benchmarks.weg_images``: speed-up and accuracy difference by stream, a colour per set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Rows = Sequence[Mapping[str, Any]]


def draw(rows: Rows, figure: Any) -> None:
    """On an empty figure."""
    streams = list(dict.fromkeys(row["stream"] for row in rows))
    sets = list(dict.fromkeys(row["set"] for row in rows))
    upper, lower = figure.subplots(2, 1, sharex=True)
    for number, name in enumerate(sets):
        mine = [row for row in rows if row["set"] == name]
        places = [streams.index(row["stream"]) + (number - (len(sets) - 1) / 2) * 0.25 for row in mine]
        label = f"{name} ({mine[0]['classes']} classes)"
        upper.bar(places, [row["speedup"] for row in mine], 0.25, label=label)
        lower.bar(places, [row["accuracy_diff"] * 100 for row in mine], 0.25, label=label)
    upper.axhline(1, color="grey", linewidth=0.8)
    lower.axhline(0, color="grey", linewidth=0.8)
    upper.set(ylabel="speed-up over the oracle alone", title="Oracle with specialised heads against the oracle alone")
    lower.set(ylabel="accuracy difference (points)")
    lower.set_xticks(np.arange(len(streams)), [name.replace("_", " classes, ") for name in streams])
    upper.legend(fontsize=8)
