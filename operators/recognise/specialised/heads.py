"""The shortcut that follows the content: where a stream shows few classes, a small head answers for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from operators.base import Call
from operators.frames.frame import Frame, Region
from operators.observer import UNOBSERVED, Observer
from operators.recognise.recogniser import Recogniser
from operators.recognise.shortcuts.shortcut import Outcome, Shortcut, Standing, Turn
from operators.recognise.specialised.cascade import Cascade, CascadeState, InUse
from operators.recognise.specialised.head_supply import HeadSupply
from operators.recognise.specialised.report import specialization
from operators.recognise.specialised.sightings import Sightings
from operators.wire.schema import Model, NodePlan, ShortcutKind
from serving.common.untrusted import decode
from specialization.heads.head import OTHER
from specialization.timeline import Timeline


class HeadStream:
    """The state of one stream."""

    def __init__(self, cascade: Cascade) -> None:
        self.cascade = cascade
        self._run: str | None = None
        self._sightings = Sightings()

    def news(self, frame: Frame, regions: Sequence[Region]) -> list[Region]:
        """The sightings that count as observations; a new run of the source has other tracks."""
        if frame.run != self._run:
            self._run, self._sightings = frame.run, Sightings()
        return [region for region in regions if self._sightings.is_news(region.track_id, frame.media_time_s)]


class Heads(Shortcut):
    """Answers with the head of the stream, if there is one, and passes on what the head calls "other"."""

    kind: ShortcutKind = "specialised"

    def __init__(
        self,
        node: str,
        recogniser: Recogniser,
        supply: HeadSupply,
        changed: Callable[[str], None],
        observer: Observer = UNOBSERVED,
    ) -> None:
        """``changed`` is called with a stream whose head began or ceased to answer."""
        self.models = supply.features.networks
        self._node, self._recogniser, self._supply, self._changed = node, recogniser, supply, changed
        self._observer = observer
        self._streams: dict[str, HeadStream] = {}

    async def prepare(self) -> None:
        """Make all feature networks ready."""
        await self._supply.features.prepare()

    async def answer(self, frame: Frame, regions: Sequence[Region], call: Call) -> Turn:
        """See ``Shortcut``."""
        used = self.cascade(frame.stream).in_use
        if used is None:
            return Turn((), regions)
        features = await self._supply.features.of_regions(used.template, frame, regions, call.urgency)
        model = Model(name=used.template, version=str(used.number), tier=self.kind)
        answered: list[Region] = []
        others: list[Region] = []
        for region, label, confidence in zip(regions, *used.head.decide(features), strict=True):
            if label == OTHER:
                others.append(region)
                continue
            word = self._supply.labels.words[label]
            region.attributes.append(self._recogniser.answer(word, float(confidence), self.kind, model))
            answered.append(region)
        return Turn(answered, others, used)

    def learned(self, frame: Frame, turn: Turn) -> None:
        """Take samples, and feed WEG with the answers."""
        cascade, news = self.cascade(frame.stream), self._streams[frame.stream].news
        by_head, by_others = news(frame, turn.answered), news(frame, turn.rest)
        self._supply.samples.collect(frame, [each for each in by_others if each.attributes[-1].provenance == "oracle"])
        self._supply.profile_where_due()
        if not turn.allowed:
            return
        used = turn.token if isinstance(turn.token, InUse) else None
        for region in by_head:
            cascade.answered(used, region.attributes[-1].label, by_head=True)
        for region in by_others:
            cascade.answered(used, region.attributes[-1].label, by_head=False)

    def audited(self, outcome: Outcome) -> None:
        """Take the oracle's answer as a sample; WEG gets it if a head had answered."""
        self._supply.samples.collect_audited(outcome.stream, outcome.crop, outcome.label)
        if outcome.kind != self.kind:
            return
        cascade = self.cascade(outcome.stream)
        if not outcome.allowed:
            cascade.distrust()
        elif isinstance(outcome.token, InUse):
            cascade.audited(outcome.token.number, outcome.agrees)

    def result_sent(self, stream: str) -> None:
        """Take the samples of the frame."""
        self._supply.samples.result_sent(stream)

    def cascade(self, stream: str) -> Cascade:
        """Return the cascade of a stream; a new one for a new stream."""
        if stream not in self._streams:
            where = f"stream {stream}, node {self._node}"
            trained = partial(self._observer.head_trained, stream, self._node)
            self._streams[stream] = HeadStream(Cascade(where, self._supply, lambda: self._changed(stream), trained))
        return self._streams[stream].cascade

    def epoch(self, stream: str) -> int:
        """Return the epoch, since answers of another epoch say nothing about the present content."""
        return self.cascade(stream).epoch

    def standing(self, stream: str) -> Standing | None:
        """See ``Shortcut``."""
        return self.cascade(stream).standing()

    def describe(self, plan: NodePlan, timeline: Timeline, standing: Standing) -> NodePlan:
        """Return the plan with the figures of the stream's specialization."""
        return msgspec.structs.replace(plan, specialization=specialization(timeline, standing))

    def snapshot(self, stream: str) -> bytes | None:
        """Return WEG's state and the heads."""
        known = self._streams.get(stream)
        return msgspec.json.encode(known.cascade.state()) if known else None

    def restore(self, stream: str, data: bytes) -> None:
        """See ``Shortcut``."""
        self.cascade(stream).restore(decode(data, CascadeState))

    def forget(self, stream: str) -> None:
        """Drop the heads; a head that is being trained is ignored."""
        known = self._streams.pop(stream, None)
        if known is not None:
            known.cascade.close()

    async def settled(self) -> None:
        """Return when nothing is being trained or measured."""
        for known in list(self._streams.values()):
            await known.cascade.settled()
        await self._supply.settled()

    async def close(self) -> None:
        """Stop training and taking samples."""
        for known in self._streams.values():
            known.cascade.close()
        await self._supply.close()
