"""Which models nodes with a choice ran when, as a stream's page shows it: plain data, bounded. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from operators.wire.schema import VariantSwitch
from pipelines.observe.live.stream_figures import Slot
from serving.common.printable import shortened

MOST_NODES = 8
MOST_MODELS = 6
"""So many models of a node are drawn, those that ran for most frames; others are left out."""
MOST_SWITCHES = 5


def variants(slots: Sequence[Slot], number: int) -> list[dict[str, Any]]:
    """For each node its models, and for how many frames each ran in each slot; ``number``: of the present slot."""
    total = Counter[tuple[str, str]]()
    for slot in slots:
        total.update(slot.variants)
    nodes = sorted({node for node, _ in total})[:MOST_NODES]
    return [_node(node, slots, number, [of for of, _ in total.most_common() if of[0] == node]) for node in nodes]


def _node(node: str, slots: Sequence[Slot], number: int, chosen: Sequence[tuple[str, str]]) -> dict[str, Any]:
    drawn = chosen[:MOST_MODELS]
    ran = [(number - slot.number, [slot.variants[each] for each in drawn]) for slot in slots]
    return {
        "node": shortened(node, 60),
        "models": [shortened(model, 120) for _, model in drawn],
        "slots": [{"ago": ago, "frames": frames} for ago, frames in ran if any(frames)],
    }


def switch(of: VariantSwitch) -> dict[str, Any]:
    """One switch of a stream's plan."""
    return {
        "node": shortened(of.node, 60),
        "variant": shortened(of.variant, 120),
        "at": of.at.timestamp(),
        "why": shortened(of.why, 200),
    }
