"""How long the rest of a query takes at least, learnt from the frames that went before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

FORGETTING = 1.05
"""A slower frame raises the least time by no more than this factor: one fast frame is forgotten in some dozens."""


class Downstream:
    """The least time that the nodes after a node need, by what they took; 0 until they have run."""

    def __init__(self, nodes: Sequence[str]) -> None:
        self._after = {name: nodes[place + 1 :] for place, name in enumerate(nodes)}
        self._least_s: dict[str, float] = {}

    def observe(self, stages_ms: Mapping[str, float]) -> None:
        """Take in how long the nodes of one analysed frame took; other stages are passed over."""
        for name in self._after.keys() & stages_ms.keys():
            took_s = stages_ms[name] / 1000
            self._least_s[name] = min(took_s, self._least_s.get(name, took_s) * FORGETTING)

    def after(self, node: str) -> float:
        """Seconds between a node's end and the last node's, at least."""
        return sum(self._least_s.get(name, 0.0) for name in self._after[node])
