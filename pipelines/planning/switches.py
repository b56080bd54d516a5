"""When a stream has switched from one model of a node to another. Pure but for its state; bounded.

Which model runs may differ from frame to frame, as the number of objects does. A *switch* is that another one has
come to run for most frames of late: its share of them must exceed that of the model before by ``MARGIN``, and
switches of one node are ``APART_S`` apart. So a load that does not change makes none, however the plans of single
frames alternate.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from operators.wire.schema import Result, VariantSwitch

NEWEST = 0.03
"""Share of the newest frame in the shares of the models."""
MARGIN = 0.5
APART_S = 5.0
"""Seconds between the captures of the frames of two switches of one node."""
KEPT = 10
"""Switches of a node that are kept, the latest."""
LEAST_SHARE = 1e-3
"""A model with a smaller share is forgotten."""
MOST_STREAMS = 1000


@dataclass(slots=True)
class _Node:
    leading: str
    """The model that runs for most frames."""
    shares: dict[str, float] = field(default_factory=dict)
    """Decayed share of the frames, by model."""
    at: datetime | None = None
    """When the latest switch was."""
    kept: deque[VariantSwitch] = field(default_factory=lambda: deque(maxlen=KEPT))

    def ran(self, variant: str, at: datetime) -> str | None:
        """Take the next frame; returns the model before, where this is a switch."""
        shares = {model: share * (1 - NEWEST) for model, share in self.shares.items() if share > LEAST_SHARE}
        shares[variant] = shares.get(variant, 0.0) + NEWEST
        self.shares, before = shares, self.leading
        if variant == before or shares[variant] <= shares.get(before, 0.0) + MARGIN:
            return None
        if self.at is not None and abs((at - self.at).total_seconds()) < APART_S:
            return None
        self.leading, self.at = variant, at
        return before


class Switches:
    """The switches of all streams; those that were heard of last are kept."""

    def __init__(self) -> None:
        self._streams: OrderedDict[str, dict[str, _Node]] = OrderedDict()

    def see(self, result: Result) -> bool:
        """Take the next result of a stream; returns whether a node has switched."""
        chosen = {name: each for name, each in result.plan.nodes.items() if each.objects is not None}
        if not chosen:
            return False
        nodes, switched, at = self._of(result.stream), False, result.frame.captured_at
        for name, decision in chosen.items():
            node = nodes.setdefault(name, _Node(decision.variant, {decision.variant: 1.0}))
            before = node.ran(decision.variant, at)
            if before is not None:
                switch = VariantSwitch(node=name, at=at, variant=decision.variant, before=before, why=decision.why)
                node.kept.append(switch)
                switched = True
        return switched

    def of(self, stream: str) -> Sequence[VariantSwitch]:
        """Return the latest switches of a stream, the oldest first."""
        found = [switch for node in self._streams.get(stream, {}).values() for switch in node.kept]
        return sorted(found, key=lambda switch: switch.at)

    def _of(self, stream: str) -> dict[str, _Node]:
        known = self._streams.setdefault(stream, {})
        self._streams.move_to_end(stream)
        if len(self._streams) > MOST_STREAMS:
            self._streams.popitem(last=False)
        return known
