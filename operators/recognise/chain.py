"""The operator of a recognise node that answers for tracks, lists several networks, or has exits: what is due is looked
at, the looks are pooled, and every answer that is not the oracle's is audited."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from cache_adapt.audit.audit import Audit
from operators.audits.audit_report import Audited, node_plan
from operators.audits.snapshot import NodeSnapshot, from_json
from operators.audits.streams import StreamAudits, Streams
from operators.base import Call, NodeAnswer
from operators.frames.frame import Frame, Region, make_image
from operators.recognise.audits.auditor import Auditor
from operators.recognise.audits.comparing import AuditOutcome
from operators.recognise.audits.node_stream import NodeStream
from operators.recognise.audits.second_looks import CropLooks
from operators.recognise.exits.kinds import SharedExits, SpecialisedExits
from operators.recognise.exits.node_exits import NodeExits
from operators.recognise.looks import ChainNetworks, ChainTerms, Looks, Shortcut, without
from operators.recognise.objects.objects import Objects
from operators.recognise.objects.pool import ObjectAnswer
from operators.wire.result import UNKNOWN
from operators.wire.schema import Attribute, FrameId, NodePlan, ShortcutKind
from serving.errors import Malformed
from specialization.tally import SpecializationTally

log = logging.getLogger(__name__)

EXITS_AUDITED = 0.05
"""ε of exits: a look that runs on costs no run of its own, so it is audited more often than a variant's."""
KINDS: Sequence[ShortcutKind] = ("variant", "cached", "specialised")


class Chain:
    """One node."""

    def __init__(self, node: str, networks: ChainNetworks, terms: ChainTerms, objects: Objects | None = None) -> None:
        """``objects``: the node answers for tracks; None: every look is an answer."""
        self.node, self._networks, self._recogniser, self._objects = node, networks, networks.recogniser, objects
        self._rule, self._changed, self._observer = terms.rule, terms.changed, terms.observer
        self._kinds = {each.key: each for each in networks.kinds}
        self._shortcuts: dict[str, Shortcut] = {**self._kinds, **{each.key: each for each in networks.variants}}
        self._second = CropLooks(networks.recogniser, networks.costs, terms.budget, networks.crossings)
        self._auditor = Auditor(
            node, networks.recogniser, self._second, list(self._shortcuts), self._on_outcome, objects
        )
        self._exits = None
        if networks.cut is not None:
            self._exits = NodeExits(networks.kinds, networks.cut, networks.recogniser, self._auditor)
        self._looks = Looks(networks, self._exits, self._auditor, objects)
        self._streams = Streams(self._fresh)

    async def prepare(self) -> None:
        """Make the node's networks ready."""
        await self._recogniser.prepare()

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> NodeAnswer:
        """Append one attribute to every region; makes no regions."""
        stream = self._streams.enter(frame.stream)
        stream.at_s = frame.media_time_s
        if self._objects is None:
            shadow = not self._may_answer(stream, call)
            answer, _ = await self._look(stream, frame, regions, call)
            self._recogniser.accept(regions)
            self._tell_exits(stream, regions, shadow)
        else:
            due, gone = self._objects.due(frame, regions)
            urgent, decision = self._looks.urgent(stream, due, call.decision)
            self._conclude(stream, gone)
            self._auditor.begin(stream, frame)
            answer, looked = await self._look(stream, frame, urgent, replace(call, decision=decision))
            if self._shortcuts and len(looked) < len(regions):
                stream.count(reused=len(regions) - len(looked))
            self._conclude(stream, self._objects.answer(frame, regions, looked))
        self._after(stream)
        return answer

    async def _look(
        self, stream: NodeStream, frame: Frame, regions: Sequence[Region], call: Call
    ) -> tuple[NodeAnswer, Sequence[Region]]:
        """Append a look to every region; returns also those that have one, which are all unless the oracle is late."""
        if not regions:
            return NodeAnswer((), call.decision, self._looks.declined(stream, call.decision)), ()
        await make_image(frame)
        specialised = self._networks.specialised
        asked = specialised is not None and specialised.of(stream.name).in_use and self._may_answer(stream, call)
        looked = await self._looks.at(stream, frame, regions, call)
        regions = without(regions, looked.missing)
        if self._networks.crossings is not None:
            self._networks.crossings.looked(len(regions))
        given = Counter(region.attributes[-1].provenance for region in regions)
        for kind in KINDS:
            if given[kind]:
                self._observer.shortcut_answered(stream.name, self.node, kind, given[kind])
        stream.count(**{"fallback" if asked else "oracle": given["oracle"]}, head=given["specialised"])
        return NodeAnswer((), looked.decision, looked.declined), regions

    def published(self, frame: FrameId) -> None:
        """Begin background work for a frame whose result has been published."""
        self._second.published(frame)

    def dropped(self, frame: FrameId) -> None:
        """Do nothing more for a frame that was dropped or failed."""
        self._second.dropped(frame)

    def forget(self, stream: str) -> None:
        """Drop a stream; its history stays in the report."""
        self._second.forget(stream)
        if (known := self._streams.here(stream)) is not None:
            self._end(known)
            specialised = self._networks.specialised
            known.told = None if specialised is None else specialised.told(known)
            known.gone = True
        self._streams.leave(stream)
        if self._exits is not None:
            self._exits.forget(stream)
        if self._networks.late is not None:
            self._networks.late.forget(stream)

    async def close(self, within_s: float) -> None:
        """Finish the audits that wait, within the time, and give up the rest and all other background work."""
        for stream in self._streams.known(gone=False).values():
            self._end(stream)
        await self._second.close(within_s)
        if self._networks.late is not None:
            await self._networks.late.close()
        for kind in self._networks.kinds:
            kind.close()
        if self._networks.cut is not None:
            await self._networks.cut.close()

    def plans(self, gone: bool = False) -> dict[str, list[NodePlan]]:
        """How each stream stands with the shortcuts; with ``gone`` also those that ended or moved away."""
        found = {name: self._plans(stream) for name, stream in self._streams.known(gone).items()}
        return {name: plans for name, plans in found.items() if plans}

    def snapshot(self, stream: str) -> bytes | None:
        """Return the state that must survive a restart, as JSON; None for an unknown stream."""
        if not self._shortcuts or (known := self._streams.here(stream)) is None:
            return None
        specialised = self._networks.specialised
        own = None if specialised is None else specialised.snapshot(stream)
        exits: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET if own is None else msgspec.Raw(own)
        oracle = self._recogniser.roles.identity
        return NodeSnapshot(oracle=oracle, audits=known.audits.states(), exits=exits, tally=known.tally).to_json()

    def restore(self, stream: str, data: bytes) -> None:
        """Restore the state that another worker saved; an unusable snapshot is logged and ignored."""
        found = from_json(data, self._where(stream), self._recogniser.roles.identity)
        if found is None:
            return
        if (before := self._streams.here(stream)) is not None:
            before.gone = True
        known, states = self._streams.renew(stream), found.audits
        if known.tally is not None and found.tally is not None:
            known.tally = found.tally
        if self._networks.specialised is not None and not self._restore_exits(stream, found):
            states.pop(self._networks.specialised.key, None)
        known.audits.restore({key: state for key, state in states.items() if key in self._shortcuts})

    def _restore_exits(self, stream: str, found: NodeSnapshot) -> bool:
        """Restore a stream's own exits; whether they are those that their audit was of."""
        if self._networks.specialised is None or not isinstance(found.exits, msgspec.Raw):
            return False
        try:
            self._networks.specialised.restore(stream, bytes(found.exits))
        except Malformed as error:
            log.warning("%s: its exits begin anew, their snapshot cannot be used: %s", self._where(stream), error)
            return False
        return True

    def _conclude(self, stream: NodeStream, answers: Sequence[ObjectAnswer]) -> None:
        """Tell the audits and WEG what was found out of objects."""
        specialised, objects = self._networks.specialised, self._objects
        for answer in answers:
            self._auditor.concluded(stream, answer)
            if specialised is not None and objects is not None:
                shadow = stream.trials.asked_in_shadow(answer.track_id, specialised.key)
                by_exits = 2 * answer.looked.get("specialised", 0) > answer.looks
                specialised.answered(stream, self._word(objects.answer_of(answer.belief)), by_exits, shadow)

    def _may_answer(self, stream: NodeStream, call: Call) -> bool:
        """Whether exits of the stream may answer."""
        kind = self._networks.specialised
        return kind is not None and call.decision.allows(kind.kind) and stream.audits.of(kind.key).uses_shortcut

    def _tell_exits(self, stream: NodeStream, regions: Sequence[Region], shadow: bool) -> None:
        """Tell WEG of looks that are answers by themselves; ``shadow``: no exits of the stream could answer."""
        if self._networks.specialised is not None:
            for answer in (region.attributes[-1] for region in regions):
                by, asked = answer.provenance, None if answer.provenance == "variant" else shadow
                self._networks.specialised.answered(stream, self._word(answer), by == "specialised", asked)

    def _word(self, answer: Attribute) -> str:
        """The word of an answer: those that name nothing are one."""
        return UNKNOWN if answer.label in self._recogniser.nameless else answer.label

    def _after(self, stream: NodeStream) -> None:
        """Do what is due once a frame's looks are made."""
        if self._exits is not None and self._exits.go_on(stream.name):
            self._changed(stream.name)
        if self._networks.specialised is not None:
            self._networks.specialised.note(stream)
        self._announce(stream)

    def _end(self, stream: NodeStream) -> None:
        """Conclude about the objects of a stream that ends."""
        if self._objects is not None:
            self._conclude(stream, self._objects.forget(stream.name))
        self._auditor.end(stream)

    def _on_outcome(self, stream: NodeStream, outcome: AuditOutcome) -> None:
        """Tell observers of an outcome, and WEG."""
        shortcut = self._shortcuts[outcome.key]
        self._observer.audit_done(stream.name, self.node, shortcut.kind, outcome.agrees)
        if not outcome.agrees:
            found = outcome.disagreement(stream.name, self._audited(shortcut), stream.at_s)
            self._observer.audit_disagreed(found, outcome.picture)
        if self._streams.is_here(stream.name, stream):
            self._tell_weg(stream, outcome)
        self._announce(stream)

    def _tell_weg(self, stream: NodeStream, outcome: AuditOutcome) -> None:
        """Tell WEG of an audit of the stream's own exits."""
        specialised = self._networks.specialised
        if specialised is not None and outcome.key == specialised.key:
            specialised.of(stream.name).audited(outcome.number, outcome.agrees)

    def _announce(self, stream: NodeStream) -> None:
        """Tell of each audit that has changed its phase, once."""
        for key, audit in stream.audits.changes(self._where(stream.name)):
            if audit.phase == "off" and key in self._kinds and self._streams.is_here(stream.name, stream):
                self._kinds[key].of(stream.name).barred()
            self._changed(stream.name)

    def _plans(self, stream: NodeStream) -> list[NodePlan]:
        opened = stream.audits.opened
        plans = (self._plan(each, stream, opened[key]) for key, each in self._shortcuts.items() if key in opened)
        return [plan for plan in plans if plan is not None]

    def _plan(self, shortcut: Shortcut, stream: NodeStream, audit: Audit) -> NodePlan | None:
        """How a stream stands with a shortcut; None where there is nothing to tell."""
        plan = node_plan(self._audited(shortcut), audit)
        if isinstance(shortcut, SpecialisedExits):
            found = stream.told if stream.gone else shortcut.told(stream)
            return None if found is None else msgspec.structs.replace(plan, specialization=found)
        silent = None
        if isinstance(shortcut, SharedExits):
            silent = self._looks.why_silent(stream) or shortcut.why_silent(stream.name)
        has_begun = silent is not None or audit.state.has_begun
        return msgspec.structs.replace(plan, reason=silent) if has_begun else None

    def _audited(self, shortcut: Shortcut) -> Audited:
        return Audited(self.node, shortcut.kind, self._recogniser.roles.oracle, shortcut.models)

    def _fresh(self, stream: str) -> NodeStream:
        tally = None if self._networks.specialised is None else SpecializationTally()
        often = msgspec.structs.replace(self._rule, rate=EXITS_AUDITED)
        return NodeStream(stream, StreamAudits(self._rule, {each.key: often for each in self._networks.kinds}), tally)

    def _where(self, stream: str) -> str:
        return f"stream {stream}, node {self.node}"
