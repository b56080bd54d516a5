"""The shortcut that follows the content: where a stream shows few classes, a small head answers for them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from operators.base import Call
from operators.frames.frame import Frame, Region
from operators.frames.halfway import Halfway
from operators.recognise.objects.answer import ObjectAnswer
from operators.recognise.recogniser import Recogniser
from operators.recognise.shortcuts.shortcut import AuditOutcome, Overheard, Shortcut, Standing, Turn
from operators.recognise.shortcuts.specialization_report import specialization
from operators.recognise.specialised.cascade import Cascade, InUse
from operators.recognise.specialised.cascade_state import CascadeState
from operators.recognise.specialised.head_stream import HeadStream
from operators.recognise.specialised.head_supply import HeadSupply
from operators.recognise.specialised.own_samples import NOTHING, Computed
from operators.recognise.terms import Listeners
from operators.wire.schema import Attribute, FrameId, Model, NodePlan, ShortcutKind
from serving.common.untrusted import decode
from specialization.heads.head import OTHER
from specialization.timeline import Timeline


class _Read(NamedTuple):
    """A head's answers for some regions."""

    said: Sequence[Attribute | None]
    """The head's answer for each; None: "other"."""
    halfway: Halfway | None
    fits: bool = True
    """Whether it is for the network whose features these are."""


class Heads(Shortcut):
    """Answers with the head of the stream, if there is one, and passes on what the head calls "other"."""

    kind: ShortcutKind = "specialised"

    def __init__(
        self,
        node: str,
        recogniser: Recogniser,
        supply: HeadSupply,
        listeners: Listeners,
        per_track: bool = False,
    ) -> None:
        """``listeners.changed`` is called with a stream whose head began or ceased to answer.

        ``per_track``: WEG hears of a tracked object once, when the looks at it are ``concluded``, else of every look.
        """
        self.models = supply.features.networks
        self._node, self._recogniser, self._supply = node, recogniser, supply
        self._listeners, self._per_track = listeners, per_track
        self._streams: dict[str, HeadStream] = {}

    @property
    def listens(self) -> bool:
        """Whether the oracle computes on its way what any head of the node reads."""
        return all(map(self._supply.features.resumes, self.models))

    async def answer(self, frame: Frame, regions: Sequence[Region], call: Call) -> Turn:
        used = self.cascade(frame.stream).in_use
        if used is None:
            return Turn((), regions)
        read = await self._read(used, frame, regions, call)
        answered: list[Region] = []
        others: list[Region] = []
        for region, said in zip(regions, read.said, strict=True):
            if said is None:
                others.append(region)
            else:
                region.attributes.append(said)
                answered.append(region)
        return Turn(answered, others, used if read.fits else None, halfway=read.halfway)

    async def listen(self, frame: Frame, regions: Sequence[Region], call: Call) -> Turn | None:
        """See ``Shortcut``: the head reads what the oracle computes anyway, and the oracle goes on from there."""
        used, supply = self.cascade(frame.stream).in_use, self._supply
        if used is None or self._per_track or not self.listens:
            return await self._gather(frame, regions, call)
        if not self._asks_oracle(call) or not supply.may_listen(used.template, len(regions)):
            return None
        read = await self._read(used, frame, regions, call)
        supply.listened(frame.stream, used.template, len(regions), "shadow")
        heard = [Overheard(region, said, used) for region, said in zip(regions, read.said, strict=True)]
        return Turn((), regions, overheard=heard if read.fits else (), halfway=read.halfway)

    def gathers(self, stream: str, looks: int, call: Call) -> bool:
        """Whether looks are wanted as samples, and the oracle gives their features on its way."""
        wanted = self._asks_oracle(call) and self._supply.gathered(looks) is not None
        return wanted and self._matters(self.cascade(stream))

    async def _gather(self, frame: Frame, regions: Sequence[Region], call: Call) -> Turn | None:
        """Read the features of samples, which the oracle will name."""
        template = self._supply.gathered(len(regions))
        if template is None:
            return None
        features, halfway = await self._supply.features.of_regions(template, frame, regions, call.urgency)
        self._supply.listened(frame.stream, template, len(regions), "samples")
        if frame.stream in self._streams:
            self._streams[frame.stream].computed = Computed(template, regions, features)
        return Turn((), regions, halfway=halfway)

    def _asks_oracle(self, call: Call) -> bool:
        return call.model in (None, self._recogniser.roles.oracle)

    async def _read(self, used: InUse, frame: Frame, regions: Sequence[Region], call: Call) -> _Read:
        """The answers of the head that is in use; it is dropped where it is for another network."""
        features, halfway = await self._supply.features.of_regions(used.template, frame, regions, call.urgency)
        if features.shape[1] != len(used.head.weights):
            self.cascade(frame.stream).misfits(used)
            return _Read([None] * len(regions), halfway, fits=False)
        if frame.stream in self._streams:  # it may have gone meanwhile
            self._streams[frame.stream].computed = Computed(used.template, regions, features)
        model = Model(name=used.template, version=str(used.number), tier=self.kind)
        words = self._supply.labels.words
        said = [
            None if label == OTHER else self._recogniser.answer(words[label], float(confidence), self.kind, model)
            for label, confidence in zip(*used.head.decide(features), strict=True)
        ]
        return _Read(said, halfway)

    def cost_s(self, turn: Turn) -> float:
        used = turn.token
        if not isinstance(used, InUse):
            return 0.0
        looks_s = self._supply.features.look_s(used.template) * (len(turn.answered) + len(turn.rest))
        return looks_s - (turn.halfway.saved_s if turn.halfway else 0.0)

    def learned(self, frame: Frame, turn: Turn) -> None:
        """Take samples, and feed WEG with the answers; what that takes is paid for like everything else."""
        self.cascade(frame.stream)
        rests = self._streams[frame.stream].rests(len(turn.answered) + len(turn.rest))
        if rests and turn.token is None and turn.halfway is None:
            return
        started_s = time.thread_time()
        self._learn(frame, turn)
        self._supply.books.of(frame.stream).spend("algorithm", time.thread_time() - started_s)

    def _learn(self, frame: Frame, turn: Turn) -> None:
        cascade, stream = self.cascade(frame.stream), self._streams[frame.stream]
        cascade.renew()
        cascade.demand.looked(frame.media_time_s, stream.heard())
        if stream.is_due():
            cascade.explain()
            cascade.report()
            cascade.cut_where_due()
        stream.allowed = turn.allowed
        used = turn.token if isinstance(turn.token, InUse) else None
        if used is None and not self._matters(cascade):
            stream.rest()
            return
        self._prepare(frame, cascade, [each for each in turn.rest if each.attributes[-1].provenance == "oracle"])
        if not turn.allowed:
            return
        if used is not None:
            avoided_s = len(turn.answered) * self._supply.features.oracle_s
            cascade.asked(used, len(turn.answered) + len(turn.rest), len(turn.answered))
            cascade.looked(used, avoided_s, self.cost_s(turn))
        head = used or cascade.in_use
        if head is not None and self._per_track:
            tracks = (each.track_id for each in (*turn.answered, *turn.rest) if each.track_id is not None)
            stream.asked(tracks, head, unseen=used is None)
        for regions, by_head in ((turn.answered, True), (turn.rest, False)):
            for region in regions:
                if not (self._per_track and region.track_id is not None):
                    cascade.answered(head, region.attributes[-1].label, by_head, unseen=used is None)

    def _matters(self, cascade: Cascade) -> bool:
        """Whether anything may come of what a stream shows while the oracle answers: if not, it is not followed."""
        known = cascade.weg.state.known
        return (cascade.hopeful or bool(known)) and self._supply.can_go_on(known)

    def concluded(self, stream: str, answer: ObjectAnswer) -> None:
        """Feed WEG with what all looks at an object say together: objects are independent, looks at one are not.

        In the shadow a head is thought to answer for the classes that it knows.
        """
        known = self._streams.get(stream)
        if known is None or not known.allowed:
            return
        started_s = time.thread_time()
        head, unseen = known.asked_for(answer.track_id)
        if (head is None or unseen) and not self._matters(known.cascade):
            return
        by_head = 2 * answer.looked.get(self.kind, 0) > answer.looks
        known.cascade.answered(head, answer.label, by_head, unseen)
        self._supply.books.of(stream).spend("algorithm", time.thread_time() - started_s)

    def _prepare(self, frame: Frame, cascade: Cascade, named: Sequence[Region]) -> None:
        """Take samples of what the oracle has named, and get everything ready for heads, where that may pay."""
        supply, ledger = self._supply, self._supply.books.of(frame.stream)
        stream = self._streams[frame.stream]
        computed, stream.computed = stream.computed, NOTHING
        if cascade.hopeful:
            supply.prepare_where_due(ledger)
            supply.samples.collect(frame, named, supply.sampled(), ledger, computed)

    def audited(self, outcome: AuditOutcome) -> None:
        """Take the oracle's answer as a sample; WEG gets it if a head had answered."""
        supply, ledger = self._supply, self._supply.books.of(outcome.stream)
        if outcome.crop is not None:
            supply.samples.collect_audited(outcome.stream, outcome.crop, outcome.label, supply.sampled(), ledger)
        if outcome.kind == self.kind and isinstance(outcome.token, InUse):
            self.cascade(outcome.stream).audited(outcome.token.number, outcome.agrees)

    def barred(self, stream: str) -> None:
        """Drop all heads, and demand more of later ones."""
        self.cascade(stream).distrust()

    def edition(self, stream: str) -> int | None:
        """Return the number of the head in use: each has to prove itself."""
        used = self.cascade(stream).in_use
        return used.number if used else None

    def published(self, frame: FrameId) -> None:
        """Take the samples of the frame."""
        self._supply.samples.published(frame)

    def cascade(self, stream: str) -> Cascade:
        """Return the cascade of a stream; a new one for a new stream."""
        if stream not in self._streams:
            where = f"stream {stream}, node {self._node}"
            trained = partial(self._listeners.observer.head_trained, stream, self._node)
            cascade = Cascade(where, stream, self._supply, lambda: self._listeners.changed(stream), trained)
            self._streams[stream] = HeadStream(cascade)
        return self._streams[stream].cascade

    def epoch(self, stream: str) -> int:
        """Return the epoch, since answers of another epoch say nothing about the present content."""
        return self.cascade(stream).epoch

    def standing(self, stream: str) -> Standing | None:
        return self.cascade(stream).standing()

    def describe(self, plan: NodePlan, timeline: Timeline, standing: Standing) -> NodePlan:
        """Return the plan with the figures of the stream's specialization."""
        return msgspec.structs.replace(plan, specialization=specialization(timeline, standing))

    def snapshot(self, stream: str) -> bytes | None:
        """Return WEG's state and the heads."""
        known = self._streams.get(stream)
        return msgspec.json.encode(known.cascade.state()) if known else None

    def restore(self, stream: str, data: bytes) -> None:
        state = decode(data, CascadeState)
        self._supply.books.restore(stream, state.seconds)
        self.cascade(stream).restore(state)

    def forget(self, stream: str) -> None:
        """Drop the heads; a head that is being trained is ignored."""
        self._supply.samples.forget(stream)
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
