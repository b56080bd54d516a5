"""The traffic analysis application of GATI (§5, Figure 2a and Table 5)."""

from __future__ import annotations

from pipelines.planning.budgets import Split, paths
from pipelines.planning.options import Option, Table
from pipelines.planning.plan import Terms

GRAPH = {"objects": ("faces", "vehicles"), "faces": (), "vehicles": ()}
TABLE_5 = {
    "objects": (("ResNet-18", 27.36, 0.911), ("ResNet-34", 41.05, 0.929), ("ResNet-50", 54.5, 0.941)),
    "faces": (
        ("SE-LResNet9E-IR", 17.38, 0.955),
        ("SE-LResNet18E-IR", 36.75, 0.976),
        ("SE-LResNet50E-IR", 58.34, 0.981),
        ("SE-LResNet101E-IR", 110.32, 0.991),
    ),
    "vehicles": (
        ("ResNet-9", 16.14, 0.902),
        ("ResNet-18", 23.68, 0.918),
        ("ResNet-50", 54.12, 0.926),
        ("ResNet-101", 111.42, 0.934),
    ),
}
"""By node: network, latency in milliseconds, accuracy."""


def terms(split: Split) -> Terms:
    tables = {
        node: Table(tuple(Option.fixed(name, accuracy, ms / 1000) for name, ms, accuracy in reversed(rows)))
        for node, rows in TABLE_5.items()
    }
    return Terms(tuple(paths(GRAPH)), tables, split)
