"""A recogniser whose work follows the content: known tracks are not looked at, usual classes not by the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import msgspec

from operators.base import Call
from operators.frame import Frame, Region
from operators.recognise.auditor import Auditor, Seen
from operators.recognise.cascade import Cascade, InUse
from operators.recognise.recogniser import Recogniser
from operators.recognise.remembered import from_json
from operators.recognise.specialised_stream import SpecialisedStream
from operators.recognise.specialization_report import specialization
from operators.recognise.track_memory import TrackMemory
from operators.recognise.workshop import Workshop
from operators.schema import Model, NodePlan
from specialization.head import OTHER
from specialization.timeline import Timeline

REMEMBERED_STREAMS = 1000
"""Streams that are gone and kept for the report."""


class Answers(NamedTuple):
    """Who answered for the regions of a frame."""

    used: InUse | None
    """The head that was asked; then the oracle's answers are those on "other"."""
    reused: Sequence[Region]
    by_head: Sequence[Region]
    by_oracle: Sequence[Region]


class Specialised:
    """The operator of a node that reuses answers, or specialises to what a stream shows (Shen, 2019, ch. 5), or both.

    Every object gets one answer: that of its track, where it was looked at lately; else that of the head for the
    stream's dominant classes; else, and where the head says "other", the oracle's.
    """

    def __init__(self, recogniser: Recogniser, auditor: Auditor, workshop: Workshop | None, reuse_s: float) -> None:
        """``workshop``: None where the node does not specialise. ``reuse_s``: 0 where it does not reuse."""
        self.auditor, self.workshop = auditor, workshop
        self._recogniser, self._reuse_s = recogniser, reuse_s
        self._streams: dict[str, SpecialisedStream] = {}
        self._gone: dict[str, SpecialisedStream] = {}

    async def prepare(self) -> None:
        """Make the oracle and all feature networks ready."""
        await self._recogniser.prepare()
        if self.workshop is not None:
            await self.workshop.prepare()

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region]:
        """Append one attribute to every region; makes none."""
        self.auditor.discard(frame.stream)
        if not regions:
            return []
        stream = self._stream(frame.stream)
        stream.begin(frame.run, frame.media_time_s)
        reused, fresh = self._recall(frame, regions, stream)
        used = self._head(frame.stream, stream)
        by_head, rest = await self._ask_head(used, frame, fresh, call) if used and fresh else ([], fresh)
        await self._recogniser.process(frame, rest, replace(call, model=self.auditor.oracle))
        answers = Answers(used, reused, by_head, rest)
        self._learn(frame, stream, answers)
        self._account(frame, stream, answers)
        return []

    def left(self, stream: str) -> None:
        """The result of the stream's latest frame is complete: audits and samples delay nothing of it any more."""
        self.auditor.left(stream)
        if self.workshop is not None:
            self.workshop.left(stream)

    def forget(self, stream: str) -> None:
        """Drop a stream; what became of it stays in the report."""
        self.auditor.forget(stream)
        if (known := self._streams.pop(stream, None)) is None:
            return
        if known.cascade:
            known.cascade.close()
        self._gone[stream] = known
        while len(self._gone) > REMEMBERED_STREAMS:
            del self._gone[next(iter(self._gone))]

    async def close(self, within_s: float) -> None:
        """Finish what waits in the background, within the time, and give up the rest."""
        await self.auditor.close(within_s)
        for stream in self._streams.values():
            if stream.cascade:
                stream.cascade.close()
        if self.workshop is not None:
            await self.workshop.close()

    def timelines(self) -> dict[str, Timeline]:
        """By stream, those that are gone included."""
        return {name: stream.timeline for name, stream in {**self._gone, **self._streams}.items()}

    def plans(self, gone: bool = False) -> dict[str, list[NodePlan]]:
        """Of each stream what is done at present; with ``gone`` also of those that ended or moved away."""
        known = {**self._gone, **self._streams}
        return {
            name: [self._with_specialization(plan, known.get(name)) for plan in plans]
            for name, plans in self.auditor.plans(gone).items()
        }

    def snapshot(self, stream: str) -> bytes | None:
        """What has to survive a restart, as JSON; None of a stream that is not here."""
        known = self._streams.get(stream)
        return None if known is None else known.remembered(self.auditor.states(stream)).to_json()

    def restore(self, stream: str, data: bytes) -> None:
        """Go on with what another worker knew of a stream; what cannot be read is told of and ignored."""
        known = from_json(data, f"stream {stream}, node {self.auditor.node}")
        if known is not None:
            self.auditor.restore(stream, known.audits)
            self._stream(stream).recall(known)

    def _with_specialization(self, plan: NodePlan, stream: SpecialisedStream | None) -> NodePlan:
        if plan.kind != "specialised" or stream is None or (cascade := stream.cascade) is None:
            return plan
        workshop = cascade.workshop
        done = specialization(stream.timeline, cascade.weg.state, workshop.labels, workshop.typical_cost)
        return msgspec.structs.replace(plan, specialization=done)

    def _stream(self, name: str) -> SpecialisedStream:
        if name not in self._streams:
            self._gone.pop(name, None)
            where = f"stream {name}, node {self.auditor.node}"
            changed = partial(self.auditor.changed, name)
            cascade = Cascade(where, self.workshop, changed) if self.workshop else None
            sure = self._recogniser.sure(self.auditor.oracle)
            self._streams[name] = SpecialisedStream(partial(TrackMemory, self._reuse_s, sure), cascade)
        return self._streams[name]

    def _recall(
        self, frame: Frame, regions: Sequence[Region], stream: SpecialisedStream
    ) -> tuple[list[Region], list[Region]]:
        """Answer for the tracks that are known; returns these regions and the others."""
        if not self._reuse_s or not self.auditor.allows(frame.stream, "reused"):
            return [], list(regions)
        reused, fresh = [], []
        for region in regions:
            track, area = region.track_id, region.box.area
            said = None if track is None else stream.tracks.recall(track, frame.media_time_s, area, stream.epoch)
            if said is None:
                fresh.append(region)
            else:
                region.attributes.append(msgspec.structs.replace(said, provenance="reused"))
                reused.append(region)
        return reused, fresh

    def _head(self, name: str, stream: SpecialisedStream) -> InUse | None:
        if stream.cascade is None or not self.auditor.allows(name, "specialised"):
            return None
        return stream.cascade.in_use

    async def _ask_head(
        self, used: InUse, frame: Frame, regions: Sequence[Region], call: Call
    ) -> tuple[list[Region], list[Region]]:
        """Answer where the head does not say "other"; returns these regions and the others."""
        number, template, head, workshop = used
        features = await workshop.features(template, frame, regions, call.urgency)
        model = Model(name=template, version=str(number), tier="specialised")
        answered, others = [], []
        for region, label, confidence in zip(regions, *head.decide(features), strict=True):
            if label == OTHER:
                others.append(region)
                continue
            word = workshop.labels[label]
            region.attributes.append(self._recogniser.answer(word, float(confidence), "specialised", model))
            answered.append(region)
        return answered, others

    def _learn(self, frame: Frame, stream: SpecialisedStream, answers: Answers) -> None:
        """Keep the answers of tracks, take samples, and tell WEG what was seen."""
        named, asked = (
            [region for region in regions if self._is_news(frame, stream, region)]
            for regions in (answers.by_head, answers.by_oracle)
        )
        if (cascade := stream.cascade) is None:
            return
        cascade.workshop.collect(frame, asked)
        if self.auditor.allows(frame.stream, "specialised"):
            for region in named:
                cascade.answered(answers.used, region.attributes[-1].label, by_head=True)
            for region in asked:
                cascade.answered(answers.used, region.attributes[-1].label, by_head=False)

    def _is_news(self, frame: Frame, stream: SpecialisedStream, region: Region) -> bool:
        """Whether a look is an observation of the stream, and not one more of the same object; remembers it."""
        track, area, said = region.track_id, region.box.area, region.attributes[-1]
        return track is None or stream.tracks.looked(track, frame.media_time_s, area, stream.epoch, said)

    def _account(self, frame: Frame, stream: SpecialisedStream, answers: Answers) -> None:
        """Draw audits, and count."""
        used, asked = answers.used, len(answers.by_oracle)
        if self._reuse_s:
            told = partial(self._audited, frame.stream, stream, None)
            self.auditor.by_shortcut(frame, "reused", answers.reused, told)
            self.auditor.by_oracle(frame.stream, "reused", len(answers.by_head) + asked)
        if used:
            told = partial(self._audited, frame.stream, stream, used.number)
            self.auditor.by_shortcut(frame, "specialised", answers.by_head, told)
        if stream.cascade:
            self.auditor.by_oracle(frame.stream, "specialised", asked)
        counts = {"fallback" if used else "oracle": asked}
        stream.timeline.counted(stream.at_s, head=len(answers.by_head), reused=len(answers.reused), **counts)
        self._note(stream)

    def _audited(self, name: str, stream: SpecialisedStream, number: int | None, seen: Seen) -> None:
        stream.timeline.counted(stream.at_s, audits=1)
        if number is None or (cascade := stream.cascade) is None or self._streams.get(name) is not stream:
            return
        cascade.workshop.collect_audited(name, seen.crop, seen.label)
        if self.auditor.allows(name, "specialised"):
            cascade.audited(number, seen.agrees)
        else:
            cascade.distrust()
        found = self.auditor.interval(name, "specialised")
        stream.timeline.agreed(stream.at_s, found.low, found.high)
        self._note(stream)

    def _note(self, stream: SpecialisedStream) -> None:
        """The phase as it is now."""
        if (cascade := stream.cascade) is None:
            return
        state = cascade.weg.state
        classes = cascade.workshop.words(state.head.target.classes) if state.head else ()
        stream.timeline.entered(stream.at_s, state.phase, classes, len(state.previous))
