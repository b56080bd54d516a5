"""The operator of a recognise node that answers for tracks or has shortcuts: of the objects that are to be looked at
each link answers for those it can, the oracle for the rest."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec

from cache_adapt.audit.audit import Audit
from cache_adapt.audit.self_agreement import SelfAudit
from operators.audits.audit_report import Audited, node_plan
from operators.audits.snapshot import NodeSnapshot, from_json
from operators.audits.stream_audits import DECLINED, StreamAudits
from operators.audits.streams import Streams
from operators.base import Call, NodeAnswer
from operators.frames.frame import Frame, Region, make_image
from operators.recognise.account.books import Books
from operators.recognise.audits.auditor import Auditor
from operators.recognise.audits.bench import is_in_shadow
from operators.recognise.audits.disagreeing import disagreement
from operators.recognise.audits.model_choice import ModelChoice
from operators.recognise.audits.node_stream import NodeStream
from operators.recognise.objects.answer import ObjectAnswer
from operators.recognise.objects.objects import Objects
from operators.recognise.shortcuts.oracle import Oracle
from operators.recognise.shortcuts.shortcut import AuditOutcome, Shortcut, Turn
from operators.recognise.shortcuts.tally import tally
from operators.recognise.terms import ChainTerms
from operators.wire.schema import FrameId, NodePlan
from serving.errors import Malformed
from specialization.timeline import Timeline

log = logging.getLogger(__name__)

UNPAID = "its audits cannot be paid yet"


class Chain:
    """Asks the links in their order, reports the outcome to them, and audits every kind alike."""

    def __init__(
        self,
        node: str,
        links: Sequence[Shortcut],
        oracle: Oracle,
        terms: ChainTerms,
        objects: Objects | None = None,
    ) -> None:
        """``objects``: the node answers for tracks; None: every look is an answer."""
        self.node, self.links = node, links
        self._oracle, self._rule, self._objects = oracle, terms.rule, objects
        self._observer, self._changed = terms.listeners.observer, terms.listeners.changed
        self.books = terms.books or Books(oracle.name)
        self._auditor = Auditor(node, oracle, self._on_outcome, self.books, objects)
        self._streams = Streams(self._fresh)
        self._choice = ModelChoice(links)

    async def prepare(self) -> None:
        """Make the oracle and all shortcuts ready."""
        await self._oracle.prepare()
        for link in self.links:
            await link.prepare()

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> NodeAnswer:
        """Append one attribute to every region; makes no regions."""
        if self._objects is None:
            answer = await self._look(frame, regions, call)
            self._oracle.accept(regions)
            return answer
        due, gone = self._objects.due(frame, regions)
        stream = self._entered(frame)
        looked, decision = self._choice.urgent(stream, due, call.decision, self._objects)
        declined = self._choice.declined(stream, decision)
        self._conclude(stream, gone)
        self._auditor.begin(stream, frame)
        answer = await self._look(frame, looked, replace(call, decision=decision))
        self._auditor.watch(stream, frame, regions, self.links, replace(call, decision=answer.decision or decision))
        if self.links and len(looked) < len(regions):
            self._note(stream, {"reused": len(regions) - len(looked)})
        self._conclude(stream, self._objects.answer(frame, regions, looked))
        return replace(answer, declined={**declined, **answer.declined}) if declined else answer

    async def _look(self, frame: Frame, regions: Sequence[Region], call: Call) -> NodeAnswer:
        """Append a look to every region."""
        if not regions:
            return NodeAnswer((), call.decision)
        await make_image(frame)
        stream, rest, begun = self._entered(frame), regions, call.halfway
        turns, declined = list[Turn](), dict[str, str]()
        for link in self.links:
            decision = self._choice.choose(stream, len(rest), call.decision)
            if decision is not call.decision:
                call = replace(call, decision=decision)
                declined |= self._choice.declined(stream, decision)
            turn = await self._turn(link, stream, frame, rest, replace(call, halfway=begun))
            if turn.declined:
                declined[link.kind] = turn.declined
            turns.append(turn)
            rest, begun = _unfinished(turn), turn.halfway or begun
        declined |= await self._oracle.answer(frame, rest, replace(call, halfway=begun))
        self._book(stream.name, turns, len(rest))
        for link, turn in zip(self.links, turns, strict=True):
            link.learned(frame, turn)
        asked = _by_whom(self.links, turns)
        if asked:
            self._auditor.account(stream, frame, regions, asked, call)
        for link, turn in asked:
            if turn.answered:
                self._observer.shortcut_answered(stream.name, self.node, link.kind, len(turn.answered))
        self._note(stream, tally(regions, {link.kind: turn for link, turn in asked}))
        return NodeAnswer((), call.decision, declined)

    def _entered(self, frame: Frame) -> NodeStream:
        stream = self._streams.enter(frame.stream)
        stream.at_s = frame.media_time_s
        return stream

    def _conclude(self, stream: NodeStream, answers: Sequence[ObjectAnswer]) -> None:
        """Tell the links and the audits what was found out of objects."""
        for answer in answers:
            self._auditor.concluded(stream, answer)
            for link in self.links:
                link.concluded(stream.name, answer)

    def published(self, frame: FrameId) -> None:
        """Begin background work for a frame whose result has been published."""
        self._auditor.published(frame)
        for link in self.links:
            link.published(frame)

    def dropped(self, frame: FrameId) -> None:
        """Do nothing more for a frame that was dropped or failed."""
        self._auditor.dropped(frame)

    def forget(self, stream: str) -> None:
        """Drop a stream; its history stays in the report."""
        self._auditor.forget(stream)
        if (known := self._streams.here(stream)) is not None:
            self._end(known)
            self._note_standings(known)
        self._streams.leave(stream)
        for link in self.links:
            link.forget(stream)

    async def close(self, within_s: float) -> None:
        """Finish the audits that wait, within the time, and give up the rest and all other background work."""
        for stream in self._streams.known(gone=False).values():
            self._end(stream)
        await self._auditor.close(within_s)
        for link in self.links:
            await link.close()

    def plans(self, gone: bool = False) -> dict[str, list[NodePlan]]:
        """How each stream stands with the shortcuts; with ``gone`` also those that ended or moved away."""
        found = {name: self._plans(stream) for name, stream in self._streams.known(gone).items()}
        return {name: plans for name, plans in found.items() if plans}

    def timelines(self) -> dict[str, Timeline]:
        """Return the timeline of each stream, including those that are gone."""
        return {name: stream.timeline for name, stream in self._streams.known().items() if stream.timeline is not None}

    def snapshot(self, stream: str) -> bytes | None:
        """Return the state that must survive a restart, as JSON; None for an unknown stream."""
        if not self.links or (known := self._streams.here(stream)) is None:
            return None
        made = ((link.key, link.snapshot(stream)) for link in self.links)
        raw: dict[str, msgspec.Raw] = {key: msgspec.Raw(data) for key, data in made if data is not None}
        timeline = known.timeline.state if known.timeline else None
        by_itself = known.audits.self_agreement.state
        audits = known.audits.states()
        return NodeSnapshot(audits=audits, self_agreement=by_itself, shortcuts=raw, timeline=timeline).to_json()

    def restore(self, stream: str, data: bytes) -> None:
        """Restore the state that another worker saved; an unusable snapshot is logged and ignored."""
        found = from_json(data, self._where(stream))
        if found is None:
            return
        known = self._streams.renew(stream)
        known.audits.restore({link.key: found.audits[link.key] for link in self.links if link.key in found.audits})
        known.audits.self_agreement = SelfAudit(found.self_agreement)
        if known.timeline is not None and found.timeline is not None:
            known.timeline = Timeline(found.timeline)
        for link in self.links:
            if link.key in found.shortcuts:
                self._restore(link, stream, bytes(found.shortcuts[link.key]))

    async def _turn(
        self, link: Shortcut, stream: NodeStream, frame: Frame, regions: Sequence[Region], call: Call
    ) -> Turn:
        audit, edition = stream.audits.of(link.key), link.edition(stream.name)
        if edition is not None:
            audit.stands_for(edition)
        planned = link.is_planned(call) and stream.trusts(link.within)
        if not (planned and audit.uses_shortcut):
            why = DECLINED.get(audit.phase, "") if planned and edition is not None else ""
            silent = Turn((), regions, allowed=planned and audit.phase != "off", declined=why)
            if not regions or not self._hears(link, stream, regions, call, silent.allowed):
                return silent
            heard = await link.listen(frame, regions, call)
            return silent if heard is None else replace(heard, declined=why)
        audited_free = link.releases and self._objects is None
        if not audited_free and not self.books.purse.may_spend(self.books.oracle_s):
            return Turn((), regions, declined=UNPAID)
        return await link.answer(frame, regions, call) if regions else Turn((), ())

    def _hears(self, link: Shortcut, stream: NodeStream, regions: Sequence[Region], call: Call, allowed: bool) -> bool:
        """Whether a silent link follows the looks of another: it proves itself so, or learns from them."""
        proves = link.listens and (self._objects is None or link.within is not None)
        if proves and is_in_shadow(stream, link, call):
            return True
        return allowed and link.gathers(stream.name, len(regions), call)

    def _book(self, stream: str, turns: Sequence[Turn], by_oracle: int) -> None:
        """Enter what a frame's looks have cost and spared; what is finished counts as the answer of whose it is.

        What is released has cost a run of the oracle; what it has cost beyond that the link enters itself.
        """
        asked = list(zip(self.links, turns, strict=True))
        by_oracle += sum(len(turn.answered) + len(turn.finished) for link, turn in asked if link.releases)
        asked = [(link, turn) for link, turn in asked if not link.releases]
        shortcuts_s = sum(link.cost_s(turn) for link, turn in asked)
        by_shortcuts = sum(len(turn.answered) for _, turn in asked)
        by_shortcuts += sum(len(turn.finished) for link, turn in asked if link.within is not None)
        in_oracle = [turn for link, turn in asked if link.within is None]
        shortcuts_s -= sum(len(turn.finished) for turn in in_oracle if not turn.overheard) * self.books.oracle_s
        by_oracle += sum(len(turn.finished) for turn in in_oracle)
        self.books.of(stream).answered(by_oracle, by_shortcuts, self.books.oracle_s, shortcuts_s)

    def _end(self, stream: NodeStream) -> None:
        """Conclude about the objects of a stream that ends."""
        if self._objects is not None:
            self._conclude(stream, self._objects.forget(stream.name))
        self._auditor.end(stream)

    def _on_outcome(self, stream: NodeStream, outcome: AuditOutcome) -> None:
        """Report the outcome to the link that had answered, and to those before it, which may learn from it too."""
        self._observer.audit_done(stream.name, self.node, outcome.kind, outcome.agrees)
        if (evidence := outcome.evidence) is not None:
            of = next(self._audited(link) for link in self.links if link.key == outcome.audit)
            self._observer.audit_disagreed(disagreement(of, outcome, evidence, stream.at_s), evidence.picture)
        if self._streams.is_here(stream.name, stream):
            keys = [link.key for link in self.links]
            for link in self.links[: keys.index(outcome.audit) + 1]:
                link.audited(outcome)
            self._note_standings(stream, outcome.audit)
        self._announce(stream)

    def _audited(self, link: Shortcut) -> Audited:
        return Audited(self.node, link.kind, self._oracle.name, link.models)

    def _note(self, stream: NodeStream, counts: Mapping[str, int]) -> None:
        """Note the answers of a frame."""
        if stream.timeline is not None:
            stream.timeline.counted(stream.at_s, **counts)
        self._note_standings(stream)
        self._announce(stream)

    def _note_standings(self, stream: NodeStream, audited: str | None = None) -> None:
        """Note the present phases, and the agreement of the shortcut that has just been audited."""
        for link in self.links:
            standing = link.standing(stream.name)
            if standing is None:
                continue
            if link.key == audited and stream.timeline is not None:
                found = stream.audits.of(link.key).estimate().sequential
                stream.timeline.agreed(stream.at_s, found.low, found.high)
            stream.note(link.key, standing)

    def _announce(self, stream: NodeStream) -> None:
        """Log each audit that has changed its phase, once."""
        for key, audit in stream.audits.changes():
            where = self._where(stream.name)
            if audit.phase == "off":
                reason = audit.state.last_switch_offs[-1].reason
                log.warning("%s: the oracle answers: a shortcut (%s) %s", where, key, reason)
                self._bar(stream, key)
            elif audit.phase == "trusted":
                audits, low = audit.estimate().audits, audit.estimate().sequential.low
                log.info("%s: a shortcut (%s) answers: %d audits show at least %.3f", where, key, audits, low)
            self._changed(stream.name)

    def _bar(self, stream: NodeStream, key: str) -> None:
        for link in self.links:
            if link.key == key and self._streams.is_here(stream.name, stream):
                link.barred(stream.name)

    def _plans(self, stream: NodeStream) -> list[NodePlan]:
        return [
            self._plan(link, stream, audit)
            for link in self.links
            if (audit := stream.audits.opened.get(link.key)) is not None
            and (link.follows_content or audit.state.has_begun or link.why_silent() is not None)
        ]

    def _plan(self, link: Shortcut, stream: NodeStream, audit: Audit) -> NodePlan:
        plan = node_plan(self._audited(link), audit, stream.audits.self_agreement)
        here = self._streams.is_here(stream.name, stream)
        standing = link.standing(stream.name) if here else stream.standings.get(link.key)
        if link.releases:
            plan = msgspec.structs.replace(plan, early_s=round(self.books.of(stream.name).seconds.early, 3))
        if not link.follows_content:
            plan = msgspec.structs.replace(plan, reason=link.why_silent())
        return plan if standing is None or stream.timeline is None else link.describe(plan, stream.timeline, standing)

    def _restore(self, link: Shortcut, stream: str, data: bytes) -> None:
        try:
            link.restore(stream, data)
        except Malformed as error:
            log.warning("%s: the snapshot of %r is damaged, it begins anew: %s", self._where(stream), link.key, error)

    def _fresh(self, stream: str) -> NodeStream:
        timeline = Timeline() if any(link.follows_content for link in self.links) else None
        return NodeStream(stream, StreamAudits(self._rule), timeline)

    def _where(self, stream: str) -> str:
        return f"stream {stream}, node {self.node}"


def _by_whom(links: Sequence[Shortcut], turns: Sequence[Turn]) -> list[tuple[Shortcut, Turn]]:
    """The turns; what a link has finished that sits in another's network is among that one's answers."""
    asked = list(zip(links, turns, strict=True))
    finished = {link.within: [region for region, _ in turn.finished] for link, turn in asked if turn.finished}
    return [
        (link, replace(turn, answered=[*finished[link.key], *turn.answered]) if link.key in finished else turn)
        for link, turn in asked
    ]


def _unfinished(turn: Turn) -> Sequence[Region]:
    """Regions for later links; regions that are finished get their answer."""
    for region, look in turn.finished:
        region.attributes.append(look)
    done = {id(region) for region, _ in turn.finished}
    return [region for region in turn.rest if id(region) not in done] if done else turn.rest
