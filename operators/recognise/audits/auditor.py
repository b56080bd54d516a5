"""The audits of one node: which looks are made twice, both answers of them, and the outcomes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cache_adapt.audit.coin import coin
from operators.frames.frame import Frame, Region, without_picture
from operators.recognise.audits.comparing import AuditOutcome
from operators.recognise.audits.node_stream import NodeStream
from operators.recognise.audits.second_looks import CropLooks, ModelCrop, SeenCrop
from operators.recognise.audits.trial import AuditedLook, OneLook, Trial
from operators.recognise.audits.trials import OpenTrials
from operators.recognise.objects.look_rule import LOOK_RULE
from operators.recognise.objects.objects import Objects, shown
from operators.recognise.objects.pool import Belief, Look, ObjectAnswer
from operators.recognise.objects.sight import cut_off
from operators.recognise.recogniser import Recogniser
from operators.wire.schema import Attribute
from serving.common.tensors import Array, Image

if TYPE_CHECKING:
    from cache_adapt.learned.pooled import ShownLooks

BLOCK_S = 20.0
"""An object without a track is seen again within so many seconds, if at all: those of one such time go together."""

OnOutcome = Callable[[NodeStream, AuditOutcome], None]
"""Called with the stream as it was when the object was answered for."""
OnReference = Callable[[AuditedLook, Array], None]
"""Called with a look that the oracle has made too, and its first output for that."""


class Auditor:
    """One for a node. An object is a track where the node answers for tracks, else one look.

    In a node that answers for tracks, looks at what the tracker has not confirmed are no audits: the object will have
    one.
    """

    def __init__(
        self,
        node: str,
        recogniser: Recogniser,
        second: CropLooks,
        keys: Sequence[str],
        on_outcome: OnOutcome,
        objects: Objects | None = None,
    ) -> None:
        """``keys``: of the shortcuts; ``objects``: the node answers for tracks."""
        self._node, self._recogniser, self._second = node, recogniser, second
        self._keys = keys
        self._on_outcome, self._objects = on_outcome, objects

    def begin(self, stream: NodeStream, frame: Frame) -> None:
        """Take a frame before it is looked at; a new run of the source has other tracks."""
        if stream.run != frame.run:
            self.end(stream)
            stream.run = frame.run
        stream.trials.frame(frame.media_time_s)
        self._conclude(stream, stream.trials)

    @property
    def most_looks(self) -> int:
        """The most looks that an object has, once it is drawn."""
        return 1 if self._objects is None else LOOK_RULE.most_looks

    def shown(self, frame: Frame, regions: Sequence[Region]) -> ShownLooks:
        """The objects of looks."""
        return shown(frame, regions, self._objects)

    def parts(self, frame: Frame, regions: Sequence[Region], count: int) -> NDArray[np.intp]:
        """N: the part, 0…``count`` − 1, in which each object is: by a coin, the same for all looks at it.

        Objects without a track, and scenes, are in the part whose turn it is: the next ones show nearly the same.
        """
        turn, scenes = int(frame.media_time_s // BLOCK_S) % count, self._objects and self._objects.pool_rule is None
        tracks = [None if scenes else each.track_id for each in regions]
        coins = {each: coin(self._node, "part", frame.stream, frame.run, each) for each in tracks if each is not None}
        return np.array([turn if each is None else int(count * coins[each]) for each in tracks], np.intp)

    def draws(self, stream: NodeStream, key: str, frame: Frame, region: Region, rate: float | None = None) -> bool:
        """Whether the oracle makes a look too that a shortcut in service may answer; asked before any answer.

        ``rate``: the share of the objects that are drawn; None: the audit's.
        """
        rate, track = stream.audits.of(key).rate if rate is None else rate, region.track_id
        if self._objects is None:
            return self._coin(key, frame, region) < rate
        if track is None:
            return False
        if stream.trials.is_new(track, key) and self._coin(key, frame, region) < rate:
            self._open(stream, key, track, shadow=False)
        return stream.trials.of(track, key) is not None

    @property
    def has_room(self) -> bool:
        """Whether more looks may wait for a second network."""
        return self._second.has_room

    @property
    def can_ever_pay(self) -> bool:
        """Whether second looks may cost anything at all: what is never audited may not answer."""
        return self._second.can_ever_pay

    def looked(self, stream: NodeStream, key: str, looks: Sequence[AuditedLook], room: bool = True) -> None:
        """Take looks with both answers, as far as the oracle was asked.

        ``room``: whether objects that are new could be drawn.
        """
        for look in looks:
            if look.number != stream.audits.of(key).state.edition:
                continue  # the oracle took its time, and others have come in the place of those that answered
            if self._objects is None and look.said is None:
                assert look.reference is not None
                stream.audits.of(key).by_oracle(named=self._is_named(self._recogniser.accepted(look.reference)))
                continue
            trial = self._trial(stream, key, look, room, drawn=look.reference is not None)
            if trial is not None and look.reference is not None:
                self._take(stream, trial, look)
                self._over(stream, stream.trials, trial)

    def asks(self, stream: NodeStream, key: str, looks: Sequence[AuditedLook], model: str) -> None:
        """Have a second network make some looks too, later: in the shadow the shortcut's, in service the oracle."""
        for look in looks:
            room = self._second.may_look(model, self.most_looks)
            in_service = room and stream.audits.of(key).uses_shortcut
            trial = self._trial(
                stream, key, look, room, in_service and self.draws(stream, key, look.frame, look.region)
            )
            if trial is not None:
                self._ask(stream, trial, look, model)

    def asks_oracle(self, stream: NodeStream, key: str, look: AuditedLook, on_reference: OnReference) -> None:
        """Have the oracle make a look too, later, that was drawn and that a shortcut in service has answered."""
        trial = self._trial(stream, key, look, room=True, drawn=True)
        if trial is not None:
            self._ask(stream, trial, look, self._recogniser.roles.oracle, on_reference)

    def silent(self, stream: NodeStream, asked: Collection[str], looks: int) -> None:
        """Note looks for which only some of the shortcuts were asked; tracks are counted once they are concluded."""
        for key in self._keys:
            if key not in asked:
                self.unheard(stream, key, looks)

    def unheard(self, stream: NodeStream, key: str, looks: int) -> None:
        """Note looks for which one of them was not asked."""
        if self._objects is None:
            stream.audits.of(key).by_oracle(looks)

    def concluded(self, stream: NodeStream, answer: ObjectAnswer) -> None:
        """Take what was published of an object."""
        named = self._is_named(self._answer(answer.belief))
        for key in self._keys:
            if not stream.trials.has_answered(answer.track_id, key):
                trial = stream.trials.of(answer.track_id, key)
                is_audited = trial is not None and (trial.ticket is not None or trial.pending > 0)
                stream.audits.of(key).by_oracle(named=not is_audited and named)
        stream.trials.concluded(answer.track_id)
        self._conclude(stream, stream.trials)

    def end(self, stream: NodeStream) -> None:
        """Note that a run is over: no more looks will be begun, and its tracks are forgotten."""
        stream.trials.close()
        self._conclude(stream, stream.trials)
        stream.run, stream.trials = None, OpenTrials()

    def _trial(self, stream: NodeStream, key: str, look: AuditedLook, room: bool, drawn: bool) -> Trial | None:
        """Count a look; the trial that it is part of.

        ``room``: for another trial; ``drawn``: the oracle looks too where the shortcut is in service.
        """
        audit = stream.audits.of(key)
        if self._objects is not None:
            return self._of_track(stream, key, look, room)
        if not audit.uses_shortcut:
            audit.by_oracle()
            return Trial(key, True, lambda whole: OneLook(), number=look.number) if room else None
        ticket = audit.by_shortcut(float(not drawn), room or drawn)
        if ticket is None:
            return None
        return Trial(key, False, lambda whole: OneLook(), ticket=ticket, number=look.number)

    def _of_track(self, stream: NodeStream, key: str, look: AuditedLook, room: bool) -> Trial | None:
        """The trial about a track; in the shadow it is opened at the first look, in service by ``draws``.

        What a shortcut in service answers for is counted once.
        """
        trials, audit, track = stream.trials, stream.audits.of(key), look.region.track_id
        if track is None or stream.run != look.frame.run:
            return None
        shadow = not audit.uses_shortcut
        if shadow and room and trials.is_new(track, key, shadow):
            self._open(stream, key, track, shadow=True)
        trial = trials.of(track, key)
        if not shadow and look.said is not None and trials.answers_first(track, key):
            possible = trial is not None or (room and trials.has_room)
            ticket = audit.by_shortcut(float(trial is None), possible)
            if trial is not None:
                trial.ticket, trial.number = ticket, look.number
        return trial

    def _answer(self, belief: Belief) -> Attribute:
        """The answer that is published of an object."""
        return self._recogniser.accepted(belief.said) if self._objects is None else self._objects.answer_of(belief)

    def _is_named(self, answer: Attribute) -> bool:
        return answer.label not in self._recogniser.nameless

    def _ask(
        self, stream: NodeStream, trial: Trial, look: AuditedLook, model: str, on_reference: OnReference | None = None
    ) -> None:
        crop = self._recogniser.crops(model, look.frame, [look.region])[0].copy()
        trial.pending += 1
        kept = replace(look, frame=without_picture(look.frame), crop=crop)
        seen = partial(self._seen, stream, stream.trials, trial, kept, on_reference)
        self._second.ask(look.frame.header.id, ModelCrop(model, crop), seen)

    def _seen(
        self,
        stream: NodeStream,
        trials: OpenTrials,
        trial: Trial,
        look: AuditedLook,
        on_reference: OnReference | None,
        seen: SeenCrop | None,
    ) -> None:
        """Take the look of the second network; None: it was given up."""
        trial.pending -= 1
        if seen is not None:
            by_oracle = look.said is not None
            look = replace(look, reference=seen.answer) if by_oracle else replace(look, said=seen.answer)
            self._take(stream, trial, look)
            stream.count(audits=int(by_oracle))
            if on_reference is not None:
                on_reference(look, seen.output)
        self._over(stream, trials, trial)

    def _take(self, stream: NodeStream, trial: Trial, look: AuditedLook) -> None:
        """Take a look with the oracle's answer, which is also that of a silent shortcut."""
        assert look.reference is not None
        answers = look.said or look.reference, look.reference
        said, reference = (self._look(look, each) for each in answers)
        trial.looked(said, reference, whole=not cut_off(look.region.box))
        if trial.shadow and trial.ticket is None and look.said is not None:
            trial.ticket, trial.number = stream.audits.of(trial.key).in_shadow(), look.number
        words = {(each.label, self._recogniser.accepted(each).label) for each in answers}
        if trial.crop is None and len(words) > 1:
            trial.crop = self._picture(look)

    def _look(self, look: AuditedLook, answer: Attribute) -> Look:
        return Look(answer, 0.0) if self._objects is None else self._objects.look(look.frame, look.region, answer)

    def _over(self, stream: NodeStream, trials: OpenTrials, trial: Trial) -> None:
        """Compare where nothing more is to be waited for, after a look that is part of a trial."""
        if self._objects is None:
            self._compare(stream, trial, None)
        else:
            self._conclude(stream, trials)

    def _conclude(self, stream: NodeStream, trials: OpenTrials) -> None:
        for track, trial in trials.done():
            self._compare(stream, trial, track)

    def _compare(self, stream: NodeStream, trial: Trial, track: int | None) -> None:
        audit = stream.audits.of(trial.key)
        if trial.ticket is None:
            return  # the shortcut had nothing to say of the object
        if trial.beliefs is None:
            audit.give_up()
            return
        said, reference = (self._answer(each) for each in trial.beliefs)
        nameless = self._recogniser.nameless
        found = AuditOutcome(trial.key, trial.number, said, reference, trial.shadow, nameless, track, trial.crop)
        audit.tell(trial.ticket, found.agrees, found.lost)
        self._on_outcome(stream, found)

    def _open(self, stream: NodeStream, key: str, track: int, shadow: bool) -> None:
        if stream.trials.has_room and self._objects is not None:
            stream.trials.open(track, Trial(key, shadow, self._objects.new_pool, stream.trials.now_s))

    def _coin(self, key: str, frame: Frame, region: Region) -> float:
        """Chance by who is looked at: the track, else the region of the frame."""
        who = (frame.seq, region.id) if self._objects is None else (region.track_id or 0,)
        return coin(self._node, key, frame.stream, frame.run, *who)

    def _picture(self, look: AuditedLook) -> Image:
        if look.crop is not None:
            return look.crop
        return self._recogniser.crops(self._recogniser.roles.oracle, look.frame, [look.region])[0].copy()
