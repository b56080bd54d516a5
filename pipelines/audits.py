"""The audits of a query: all nodes that list shortcuts, for as long as a run or a worker lasts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime

from cache_adapt.audit_state import Rule
from operators.frame import Frame
from operators.recognise.audited import Audited
from operators.recognise.auditor import Auditor
from operators.recognise.oracle import shortcuts
from operators.recognise.recogniser import Recogniser
from operators.schema import NodePlan, Result, ShortcutKind, StreamPlan

CLOSE_S = 5.0
"""How long audits that wait may take once there are no more frames, for the sake of a run's report."""


class Audits:
    """Makes the operators that are audited and speaks of all of them together."""

    def __init__(self, query: str, rule: Rule) -> None:
        self._query, self._rule = query, rule
        self.nodes: list[Auditor] = []
        self.changed = asyncio.Event()
        """Set when a phase has changed; whoever waits for it clears it."""

    def over(self, node: str, recogniser: Recogniser, models: Sequence[str], oracle: str) -> Audited:
        """The recogniser of a node as an operator whose variants are audited."""
        return Audited(
            recogniser, self._auditor(node, recogniser, oracle, {"variant": sorted(shortcuts(models, oracle))})
        )

    async def observe(self, frame: Frame, result: Result) -> None:
        """An observer of the executor: the frame's result is complete."""
        for node in self.nodes:
            node.left(frame.stream)

    async def close(self, within_s: float = CLOSE_S) -> None:
        """Finish the audits that wait, within the time; the engine must still run."""
        await asyncio.gather(*(node.close(within_s) for node in self.nodes))

    def plans(self, at: datetime, gone: bool = False) -> list[StreamPlan]:
        """Of each stream that has met a shortcut, what is known; with ``gone`` also of those that ended or moved."""
        streams: dict[str, list[NodePlan]] = {}
        for node in self.nodes:
            for stream, plans in node.plans(gone).items():
                streams.setdefault(stream, []).extend(plans)
        return [
            StreamPlan(stream=stream, query=self._query, at=at, nodes=nodes)
            for stream, nodes in sorted(streams.items())
        ]

    def _auditor(
        self, node: str, recogniser: Recogniser, oracle: str, shortcuts: Mapping[ShortcutKind, Sequence[str]]
    ) -> Auditor:
        auditor = Auditor(node, recogniser, oracle, shortcuts, self._rule, lambda stream: self.changed.set())
        self.nodes.append(auditor)
        return auditor
