"""How long the rest of a query takes at least, learnt from the frames that went before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

FORGETTING = 1.05
"""A slower frame raises the least time by no more than this factor: one fast frame is forgotten in some dozens."""


class Downstream:
    """The least time that the nodes after a node need, by what they took; 0 until they have run."""

    def __init__(self, groups: Sequence[Sequence[str]]) -> None:
        """``groups``: in the order in which they run, the nodes that run at the same time."""
        self._groups = groups
        self._least_s: dict[str, float] = {}
        self._after_s = {name: 0.0 for group in groups for name in group}

    def observe(self, stages_ms: Mapping[str, float]) -> None:
        """Take in how long the nodes of one analysed frame took; other stages are passed over."""
        after_s, least_s = 0.0, self._least_s
        for group in reversed(self._groups):
            longest_s = 0.0
            for name in group:
                self._after_s[name] = after_s
                if (took_ms := stages_ms.get(name)) is not None:
                    took_s = took_ms / 1000
                    least_s[name] = min(took_s, least_s.get(name, took_s) * FORGETTING)
                longest_s = max(longest_s, least_s.get(name, 0.0))
            after_s += longest_s

    def after(self, node: str) -> float:
        """Seconds between a node's end and the last node's, at least."""
        return self._after_s[node]
