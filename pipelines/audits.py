"""The shortcuts of a query: all nodes that are audited, for as long as a run or a worker lasts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime

from cache_adapt.audit_state import Rule
from operators.frame import Frame
from operators.inference import Inference
from operators.recognise.audited import Audited
from operators.recognise.auditor import Auditor
from operators.recognise.oracle import shortcuts
from operators.recognise.recogniser import Recogniser
from operators.recognise.specialised import Specialised
from operators.schema import NodePlan, Result, ShortcutKind, StreamPlan
from pipelines.nodes import RecogniseNode
from pipelines.specializing import Specializing
from specialization.timeline import Timeline

CLOSE_S = 5.0
"""How long audits that wait may take once there are no more frames, for the sake of a run's report."""


class Audits:
    """Makes the operators that are audited and speaks of all of them together."""

    def __init__(self, query: str, rule: Rule, specializing: Specializing | None = None) -> None:
        """``specializing``: needed where a node specialises."""
        self._query, self._rule, self._specializing = query, rule, specializing
        self.nodes: list[Auditor | Specialised] = []
        self.learning: dict[str, Audited | Specialised] = {}
        """By node: operators that know of streams what should survive the worker."""
        self._listeners: list[asyncio.Event] = []

    def over(self, node: str, recogniser: Recogniser, models: Sequence[str], oracle: str) -> Audited:
        """The recogniser of a node as an operator whose variants are audited."""
        auditor = self._auditor(node, recogniser, oracle, {"variant": sorted(shortcuts(models, oracle))})
        self.nodes.append(auditor)
        operator = Audited(recogniser, auditor)
        self.learning[node] = operator
        return operator

    def saving(self, spec: RecogniseNode, engine: Inference, recogniser: Recogniser, oracle: str) -> Specialised:
        """The recogniser of a node as an operator that specialises, or reuses answers, or both."""
        workshop = None
        if spec.specialize:
            assert self._specializing is not None
            workshop = self._specializing.workshop(spec, engine, recogniser, oracle, self._rule)
        kinds: dict[ShortcutKind, Sequence[str]] = {"reused": ["tracks"]} if spec.reuse_s else {}
        if workshop is not None:
            kinds["specialised"] = workshop.templates
        auditor = self._auditor(spec.name, recogniser, oracle, kinds)
        operator = Specialised(recogniser, auditor, workshop, spec.reuse_s)
        self.nodes.append(operator)
        self.learning[spec.name] = operator
        return operator

    def news(self) -> asyncio.Event:
        """Set whenever a phase has changed; of the caller alone, who clears it."""
        self._listeners.append(asyncio.Event())
        return self._listeners[-1]

    def tell(self) -> None:
        """A phase has changed."""
        for listener in self._listeners:
            listener.set()

    async def observe(self, frame: Frame, result: Result) -> None:
        """An observer of the executor: the frame's result is complete."""
        for node in self.nodes:
            node.left(frame.stream)

    async def close(self, within_s: float = CLOSE_S) -> None:
        """Finish the audits that wait, within the time; the engine must still run."""
        await asyncio.gather(*(node.close(within_s) for node in self.nodes))
        if self._specializing is not None:
            await self._specializing.close()

    def timelines(self) -> list[tuple[str, str, Timeline]]:
        """Stream, node, and what became of it over time, where a node specialises or reuses answers."""
        return [
            (stream, node.auditor.node, timeline)
            for node in self.nodes
            if isinstance(node, Specialised)
            for stream, timeline in node.timelines().items()
        ]

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
        return Auditor(node, recogniser, oracle, shortcuts, self._rule, lambda stream: self.tell())
