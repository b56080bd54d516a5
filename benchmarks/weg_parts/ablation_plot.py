"""The picture of ``benchmarks.weg_ablations``, in the form of figure 5.5: what changes without one part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Rows = Sequence[Mapping[str, Any]]
LABELS = {"printed": "printed rules", "ours": "our rules"}
PANELS = (("accuracy_change", "accuracy (points)"), ("speedup_change", "speed-up (%)"))


def draw(rows: Rows, figure: Any) -> None:
    """On an empty figure."""
    families = list(dict.fromkeys(row["rules"] for row in rows))
    variants = [name for name in dict.fromkeys(row["variant"] for row in rows) if name != "whole"]
    panels = figure.subplots(1, len(PANELS))
    for panel, (key, label) in zip(panels, PANELS, strict=True):
        for number, family in enumerate(families):
            changes = [
                next(row[key] for row in rows if (row["rules"], row["variant"]) == (family, variant)) * 100
                for variant in variants
            ]
            panel.bar(np.arange(len(variants)) + (number - 0.5) * 0.4, changes, 0.4, label=LABELS[family])
        panel.axhline(0, color="grey", linewidth=0.8)
        panel.set_xticks(np.arange(len(variants)), variants, rotation=20)
        panel.set(title=f"change in {label}")
    panels[0].legend(fontsize=8)
