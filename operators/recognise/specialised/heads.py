"""The shortcut that follows the content: where a stream shows few classes, a small head answers for them."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import partial

import msgspec

from operators.base import Call
from operators.frames.frame import Frame, Region
from operators.recognise.objects.answer import ObjectAnswer
from operators.recognise.recogniser import Recogniser
from operators.recognise.shortcuts.shortcut import Outcome, Shortcut, Standing, Turn
from operators.recognise.specialised.cascade import Cascade, InUse
from operators.recognise.specialised.cascade_state import CascadeState
from operators.recognise.specialised.head_supply import HeadSupply
from operators.recognise.specialised.own_samples import NOTHING, Computed
from operators.recognise.specialised.report import specialization
from operators.recognise.terms import Listeners
from operators.wire.schema import Model, NodePlan, ShortcutKind
from serving.common.untrusted import decode
from specialization.heads.head import OTHER
from specialization.timeline import Timeline

REMEMBERED = 4096
"""Tracks without a conclusion that are kept: those that were looked at last."""
RESTS = 8
"""Frames that are not followed after one from which nothing could come."""
EXPLAINED_EVERY = 50
"""Most frames after which it is found out anew why no head answers."""


class HeadStream:
    """The state of one stream."""

    def __init__(self, cascade: Cascade) -> None:
        self.cascade = cascade
        self._frames, self._due = 0, 1
        self._rests = self._unheard = 0
        self.computed = NOTHING
        """What the head has read of the latest frame."""
        self.allowed = True
        """Whether heads may answer at present."""
        self._asked: OrderedDict[int, tuple[InUse, bool]] = OrderedDict()

    def rests(self, looks: int) -> bool:
        """Whether a frame with so many looks is not followed; called once for each frame."""
        self._frames += 1
        self._unheard += looks
        self._rests -= 1
        return self._rests >= 0

    def rest(self) -> None:
        """Do not follow the next frames."""
        self._rests = RESTS

    def heard(self) -> int:
        """The number of looks since this was asked last."""
        looks, self._unheard = self._unheard, 0
        return looks

    def is_due(self) -> bool:
        """Whether it is time to find out anew why no head answers."""
        due = self._frames >= self._due
        if due:
            self._due = min(2 * self._frames, self._frames + EXPLAINED_EVERY)
        return due

    def asked(self, tracks: Iterable[int], used: InUse, unseen: bool) -> None:
        """Note that a head was asked for these tracks; ``unseen``: would have been, were it not in the shadow."""
        for track in tracks:
            self._asked[track] = used, unseen
            self._asked.move_to_end(track)
        while len(self._asked) > REMEMBERED:
            self._asked.popitem(last=False)

    def asked_for(self, track: int) -> tuple[InUse | None, bool]:
        """The head that was asked last for a track that is over, and whether unseen; None: the oracle alone."""
        return self._asked.pop(track, (None, False))


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

    async def answer(self, frame: Frame, regions: Sequence[Region], call: Call) -> Turn:
        """See ``Shortcut``."""
        used = self.cascade(frame.stream).in_use
        if used is None:
            return Turn((), regions)
        features = await self._supply.features.of_regions(used.template, frame, regions, call.urgency)
        if features.shape[1] != len(used.head.weights):
            self.cascade(frame.stream).misfits(used)
            return Turn((), regions)
        if frame.stream in self._streams:  # it may have gone meanwhile
            self._streams[frame.stream].computed = Computed(used.template, regions, features)
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

    def cost_s(self, turn: Turn) -> float:
        """See ``Shortcut``."""
        used = turn.token
        if not isinstance(used, InUse):
            return 0.0
        return self._supply.features.look_s(used.template) * (len(turn.answered) + len(turn.rest))

    def learned(self, frame: Frame, turn: Turn) -> None:
        """Take samples, and feed WEG with the answers; what that takes is paid for like everything else."""
        self.cascade(frame.stream)
        if self._streams[frame.stream].rests(len(turn.answered) + len(turn.rest)) and turn.token is None:
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

    def audited(self, outcome: Outcome) -> None:
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

    def result_sent(self, stream: str) -> None:
        """Take the samples of the frame."""
        self._supply.samples.result_sent(stream)

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
        state = decode(data, CascadeState)
        self._supply.books.restore(stream, state.seconds)
        self.cascade(stream).restore(state)

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
