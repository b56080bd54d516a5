"""A recogniser under audit: its shortcuts answer while they agree with the oracle often enough."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from cache_adapt.audit import Audit
from cache_adapt.audit_state import Phase, Rule
from cache_adapt.sampling import coin
from operators.base import Call
from operators.frame import Frame, Image, Region
from operators.recognise.audit_report import node_plan
from operators.recognise.backlog import Backlog, Drawn
from operators.recognise.oracle import shortcuts
from operators.recognise.recogniser import Recogniser
from operators.schema import NodePlan
from serving.urgency import BACKGROUND

log = logging.getLogger(__name__)

REMEMBERED_STREAMS = 1000
"""Streams that are gone and kept for the report."""


class Audited:
    """The operator of a node that lists shortcuts: who answers, and which answers the oracle looks at again."""

    def __init__(
        self,
        node: str,
        recogniser: Recogniser,
        models: Sequence[str],
        oracle: str,
        rule: Rule,
        changed: Callable[[str], None],
    ) -> None:
        """``models``: the recogniser's, its oracle among them. ``changed`` hears of a stream whose phase changed."""
        self.node = node
        self._recogniser, self._oracle, self._rule, self._changed = recogniser, oracle, rule, changed
        self._shortcuts = shortcuts(models, oracle)
        self._backlog = Backlog(self._look, self._told)
        self._audits: dict[str, Audit] = {}
        self._phases: dict[str, Phase] = {}
        """As they were last told of."""
        self._gone: dict[str, None] = {}

    async def prepare(self) -> None:
        """Make all models ready, the oracle among them."""
        await self._recogniser.prepare()

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region]:
        """Have the call's model answer, or the oracle where that is a shortcut which may not; makes no regions."""
        self._backlog.discard(frame.stream)
        if not regions:
            return []
        audit = self._audit(frame.stream)
        model = call.model if call.model not in self._shortcuts or audit.uses_shortcut else self._oracle
        await self._recogniser.process(frame, regions, replace(call, model=model))
        if model in self._shortcuts:
            self._draw(frame, regions, audit)
        else:
            audit.by_oracle(len(regions))
            self._note(frame.stream, audit)
        return []

    def left(self, stream: str) -> None:
        """The result of the stream's latest frame is complete: from now on its audits delay nothing of it."""
        self._backlog.left(stream)

    def forget(self, stream: str) -> None:
        """What comes of the stream later begins anew; what was found stays in the report."""
        self._backlog.discard(stream)
        if stream in self._audits:
            self._gone[stream] = None
        while len(self._gone) > REMEMBERED_STREAMS:
            self._drop(next(iter(self._gone)))

    async def close(self, within_s: float) -> None:
        """Finish the audits that wait, within the time, and give up the rest."""
        await self._backlog.close(within_s)

    def plans(self, gone: bool = False) -> dict[str, NodePlan]:
        """Of each stream that met a shortcut, what is known; with ``gone`` also of those that ended or moved away."""
        return {
            stream: node_plan(self.node, self._oracle, sorted(self._shortcuts), audit)
            for stream, audit in self._audits.items()
            if (gone or stream not in self._gone) and (audit.state.by_shortcut or audit.state.switched_off)
        }

    def _audit(self, stream: str) -> Audit:
        if stream in self._gone:
            self._drop(stream)
        if stream not in self._audits:
            audit = self._audits[stream] = Audit(self._rule)
            self._phases[stream] = audit.phase
        return self._audits[stream]

    def _drop(self, stream: str) -> None:
        del self._gone[stream], self._audits[stream], self._phases[stream]

    def _draw(self, frame: Frame, regions: Sequence[Region], audit: Audit) -> None:
        room = self._backlog.has_room
        drawn = [
            (region, ticket)
            for region in regions
            if (ticket := audit.by_shortcut(coin(self.node, frame.stream, frame.run, frame.seq, region.id), room))
        ]
        crops = self._recogniser.crops(self._oracle, frame, [region for region, _ in drawn])
        self._backlog.hold(
            frame.stream,
            [
                Drawn(frame.stream, audit, ticket, crop.copy(), region.attributes[-1].label)
                for (region, ticket), crop in zip(drawn, crops, strict=True)
            ],
        )

    async def _look(self, crop: Image) -> str:
        (answer,) = await self._recogniser.name(self._oracle, [crop], BACKGROUND)
        return answer.label

    def _told(self, drawn: Drawn) -> None:
        if self._audits.get(drawn.stream) is drawn.audit:
            self._note(drawn.stream, drawn.audit)

    def _note(self, stream: str, audit: Audit) -> None:
        """Tell of a change of phase, once."""
        if self._phases[stream] == audit.phase:
            return
        self._phases[stream] = audit.phase
        if audit.phase == "off":
            reason = audit.state.last_switch_offs[-1].reason
            log.warning("stream %s, node %s: the oracle answers: a shortcut %s", stream, self.node, reason)
        self._changed(stream)
