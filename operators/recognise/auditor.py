"""The audits of one node: by stream and kind of shortcut, with one backlog of answers that wait for the oracle."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from cache_adapt.audit import Audit, Ticket
from cache_adapt.audit_state import AuditState, Phase, Rule
from cache_adapt.confidence import Interval
from cache_adapt.sampling import coin
from operators.frame import Frame, Image, Region
from operators.recognise.audit_report import node_plan
from operators.recognise.backlog import Backlog, Errand
from operators.recognise.recogniser import Recogniser
from operators.schema import NodePlan, ShortcutKind
from serving.urgency import BACKGROUND

log = logging.getLogger(__name__)

REMEMBERED_STREAMS = 1000
"""Streams that are gone and kept for the report."""


class Seen(NamedTuple):
    """What came of an audit."""

    agrees: bool
    label: str
    """What the oracle says."""
    crop: Image
    """Of what."""


Told = Callable[[Seen], None]


class Auditor:
    """Decides which answers the oracle looks at again, and whether a kind of shortcut may go on."""

    def __init__(
        self,
        node: str,
        recogniser: Recogniser,
        oracle: str,
        shortcuts: Mapping[ShortcutKind, Sequence[str]],
        rule: Rule,
        changed: Callable[[str], None],
    ) -> None:
        """``shortcuts``: models by kind. ``changed`` hears of a stream whose phase changed."""
        self.node, self.oracle, self.shortcuts = node, oracle, shortcuts
        self._recogniser, self._rule, self.changed = recogniser, rule, changed
        self._backlog: Backlog[str] = Backlog(self._look, "the oracle cannot audit")
        self._audits: dict[str, dict[ShortcutKind, Audit]] = {}
        self._phases: dict[tuple[str, ShortcutKind], Phase] = {}
        """As they were last told of."""
        self._gone: dict[str, None] = {}

    def allows(self, stream: str, kind: ShortcutKind) -> bool:
        """Whether shortcuts of this kind may answer."""
        return self._audit(stream, kind).uses_shortcut

    def interval(self, stream: str, kind: ShortcutKind) -> Interval:
        """Of the agreement, by the audits of late; valid at every look."""
        return self._audit(stream, kind).estimate().sequential

    def by_oracle(self, stream: str, kind: ShortcutKind, answers: int) -> None:
        """The oracle gave answers that a shortcut of this kind might have given."""
        audit = self._audit(stream, kind)
        audit.by_oracle(answers)
        self._note(stream, kind, audit)

    def by_shortcut(
        self, frame: Frame, kind: ShortcutKind, regions: Sequence[Region], told: Told | None = None
    ) -> None:
        """A shortcut has just answered for these regions of a frame: some of the answers are drawn for an audit."""
        audit = self._audit(frame.stream, kind)
        room = self._backlog.has_room
        drawn = [
            (region, ticket)
            for region in regions
            if (ticket := audit.by_shortcut(coin(self.node, kind, frame.stream, frame.run, frame.seq, region.id), room))
        ]
        crops = self._recogniser.crops(self.oracle, frame, [region for region, _ in drawn])
        self._backlog.hold(
            frame.stream,
            [
                self._errand(frame.stream, kind, audit, ticket, region, crop, told)
                for (region, ticket), crop in zip(drawn, crops, strict=True)
            ],
        )

    def discard(self, stream: str) -> None:
        """The stream's latest frame came to nothing: its answers are not audited."""
        self._backlog.discard(stream)

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

    def plans(self, gone: bool = False) -> dict[str, list[NodePlan]]:
        """Of each stream that met a shortcut, or may, what is known; with ``gone`` also of those that are gone."""
        plans = {
            stream: [
                node_plan(self.node, kind, self.oracle, sorted(self.shortcuts[kind]), audit)
                for kind, audit in audits.items()
                if kind != "variant" or audit.state.by_shortcut or audit.state.switched_off
            ]
            for stream, audits in self._audits.items()
            if gone or stream not in self._gone
        }
        return {stream: found for stream, found in plans.items() if found}

    def states(self, stream: str) -> dict[ShortcutKind, AuditState]:
        """All that is known of a stream; empty where it never came."""
        if stream in self._gone:
            return {}
        return {kind: audit.state for kind, audit in self._audits.get(stream, {}).items()}

    def restore(self, stream: str, states: Mapping[ShortcutKind, AuditState]) -> None:
        """Go on with what another worker knew of a stream."""
        self._drop(stream)
        for kind, state in states.items():
            if kind in self.shortcuts:
                self._open(stream, kind, state)

    def _audit(self, stream: str, kind: ShortcutKind) -> Audit:
        if stream in self._gone:
            self._drop(stream)
        return self._audits.get(stream, {}).get(kind) or self._open(stream, kind, None)

    def _open(self, stream: str, kind: ShortcutKind, state: AuditState | None) -> Audit:
        audit = self._audits.setdefault(stream, {})[kind] = Audit(self._rule, state)
        self._phases[stream, kind] = audit.phase
        return audit

    def _drop(self, stream: str) -> None:
        self._gone.pop(stream, None)
        for kind in self._audits.pop(stream, {}):
            del self._phases[stream, kind]

    async def _look(self, crop: Image) -> str:
        (answer,) = await self._recogniser.name(self.oracle, [crop], BACKGROUND)
        return answer.label

    def _errand(
        self,
        stream: str,
        kind: ShortcutKind,
        audit: Audit,
        ticket: Ticket,
        region: Region,
        crop: Image,
        told: Told | None,
    ) -> Errand[str]:
        said, kept = region.attributes[-1].label, crop.copy()

        def tell(label: str) -> None:
            audit.tell(ticket, label == said)
            if self._audits.get(stream, {}).get(kind) is not audit:
                return
            if told is not None:
                told(Seen(label == said, label, kept))
            self._note(stream, kind, audit)

        return Errand(kept, tell, partial(audit.give_up, 1))

    def _note(self, stream: str, kind: ShortcutKind, audit: Audit) -> None:
        """Tell of a change of phase, once."""
        if self._phases[stream, kind] == audit.phase:
            return
        self._phases[stream, kind] = audit.phase
        if audit.phase == "off":
            reason = audit.state.last_switch_offs[-1].reason
            log.warning("stream %s, node %s: the oracle answers: a shortcut (%s) %s", stream, self.node, kind, reason)
        self.changed(stream)
