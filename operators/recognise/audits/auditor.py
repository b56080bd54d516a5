"""The audits of one node: which looks are made twice, both answers of them, and the outcomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cache_adapt.audit.audit import Ticket
from cache_adapt.audit.coin import coin
from operators.frames.frame import Frame, Region, without_picture
from operators.recognise.audits.audited_look import AuditedLook, LookAudit
from operators.recognise.audits.comparing import AuditOutcome
from operators.recognise.audits.node_stream import NodeStream
from operators.recognise.audits.second_looks import CropLooks, ModelCrop
from operators.recognise.audits.trial import Trial
from operators.recognise.audits.trials import OpenTrials
from operators.recognise.objects.look_rule import LOOK_RULE
from operators.recognise.objects.objects import Objects, shown
from operators.recognise.objects.pool import ObjectAnswer
from operators.recognise.objects.sight import cut_off
from operators.recognise.recogniser import Recogniser
from operators.wire.schema import Attribute
from serving.common.tensors import Image

if TYPE_CHECKING:
    from cache_adapt.learned.pooled import ShownLooks

BLOCK_S = 20.0
"""An object without a track is seen again within so many seconds, if at all: those of one such time go together."""

OnOutcome = Callable[[NodeStream, AuditOutcome], None]
"""Called with the stream as it was when the object was answered for."""


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

    def looked(
        self, stream: NodeStream, key: str, looks: Sequence[AuditedLook], late: bool = False, room: bool = True
    ) -> None:
        """Take looks with both answers, as far as the oracle was asked.

        ``late``: the shortcut's answers were out before, and may have led to a conclusion; see ``expects``.
        ``room``: whether objects that are new could be drawn.
        """
        for look in looks:
            if late and look.number != stream.audits.of(key).state.edition:
                continue  # others have come in the place of those that answered
            audit = self._audit_of(stream, key, look, late, room)
            if audit is not None and look.reference is not None:
                self._take(audit, look)

    @property
    def can_ever_pay(self) -> bool:
        """Whether second looks may cost anything at all: what is never audited may not answer."""
        return self._second.can_ever_pay

    def expects(self, stream: NodeStream, key: str, looks: Sequence[AuditedLook]) -> Callable[[], None]:
        """Take looks whose answers are out though the oracle has yet to answer; call the result once it has."""
        trials, tracks = stream.trials, [each.region.track_id for each in looks if each.region.track_id is not None]
        if self._objects is not None:
            for look in looks:
                self._of_track(stream, key, look, room=True)
        found = [trial for track in tracks if (trial := trials.of(track, key)) is not None]
        for trial in found:
            trial.pending += 1

        def over() -> None:
            for trial in found:
                trial.pending -= 1
            self._conclude(stream, trials)

        return over

    def silent(self, stream: NodeStream, key: str, looks: int) -> None:
        """Note looks for which a shortcut was not asked; tracks are counted once they are concluded."""
        if self._objects is None:
            stream.audits.of(key).by_oracle(looks)

    def asks(self, stream: NodeStream, key: str, looks: Sequence[AuditedLook], model: str) -> None:
        """Have a second network make some looks too, later: in the shadow the shortcut's, in service the oracle."""
        for look in looks:
            audit = self._audit_later(stream, key, look, model)
            if audit is not None:
                crop = self._recogniser.crops(model, look.frame, [look.region])[0].copy()
                if audit.trial is not None:
                    audit.trial.pending += 1
                kept = replace(look, frame=without_picture(look.frame), crop=crop)
                self._second.ask(look.frame.header.id, ModelCrop(model, crop), partial(self._seen, audit, kept))

    def concluded(self, stream: NodeStream, answer: ObjectAnswer) -> None:
        """Take what was published of an object."""
        stream.trials.concluded(answer.track_id)
        for key in self._keys:
            if not stream.trials.has_answered(answer.track_id, key):
                trial = stream.trials.of(answer.track_id, key)
                is_audited = trial is not None and trial.ticket is not None
                stream.audits.of(key).by_oracle(named=not is_audited and self._is_named(answer))
        self._conclude(stream, stream.trials)

    def end(self, stream: NodeStream) -> None:
        """Note that a run is over: no more looks will be begun, and its tracks are forgotten."""
        stream.trials.close()
        self._conclude(stream, stream.trials)
        stream.run, stream.trials = None, OpenTrials()

    def _audit_of(self, stream: NodeStream, key: str, look: AuditedLook, late: bool, room: bool) -> LookAudit | None:
        """Count a look that is over; what it is an audit of."""
        audit = stream.audits.of(key)
        if self._objects is not None:
            return self._of_track(stream, key, look, room, late)
        if not audit.uses_shortcut:
            audit.by_oracle()
            return LookAudit(stream, key, True, stream.trials)
        if look.said is None:
            assert look.reference is not None
            audit.by_oracle(named=self._recogniser.accepted(look.reference).label not in self._recogniser.nameless)
            return None
        ticket = audit.by_shortcut(float(look.reference is None), room or look.reference is not None)
        return None if ticket is None else LookAudit(stream, key, False, stream.trials, ticket=ticket)

    def _is_named(self, answer: ObjectAnswer) -> bool:
        known = None if self._objects is None else self._objects.answer_of(answer.belief).label
        return known is not None and known not in self._recogniser.nameless

    def _audit_later(self, stream: NodeStream, key: str, look: AuditedLook, model: str) -> LookAudit | None:
        """Count a look that a second network may make too; what that is an audit of."""
        audit = stream.audits.of(key)
        if self._objects is not None:
            room = self._second.may_look(model, LOOK_RULE.most_looks)
            if room and audit.uses_shortcut:
                self.draws(stream, key, look.frame, look.region)
            return self._of_track(stream, key, look, room)
        room = self._second.may_look(model)
        if not audit.uses_shortcut:
            audit.by_oracle()
            return LookAudit(stream, key, True, stream.trials) if room else None
        ticket = audit.by_shortcut(self._coin(key, look.frame, look.region), room)
        return None if ticket is None else LookAudit(stream, key, False, stream.trials, ticket=ticket)

    def _of_track(
        self, stream: NodeStream, key: str, look: AuditedLook, room: bool, late: bool = False
    ) -> LookAudit | None:
        """The trial about a track; in the shadow it is opened at the first look, in service by ``draws``.

        What a shortcut in service answers for is counted once. ``room``: for another trial.
        """
        trials, audit, track = stream.trials, stream.audits.of(key), look.region.track_id
        if track is None or (late and stream.run != look.frame.run):
            return None
        shadow = not audit.uses_shortcut
        if shadow and room and trials.is_new(track, key, shadow):
            self._open(stream, key, track, shadow=True)
        trial = trials.of(track, key, late)
        if not shadow and look.said is not None and trials.answers_first(track, key):
            possible = trial is not None or (room and trials.has_room)
            ticket = audit.by_shortcut(float(trial is None), possible)
            if trial is not None:
                trial.ticket, trial.number = ticket, look.number
        return None if trial is None else LookAudit(stream, key, shadow, trials, trial)

    def _seen(self, audit: LookAudit, look: AuditedLook, seen: Attribute | None) -> None:
        """Take the look of the second network; None: it was given up."""
        stream, trial = audit.stream, audit.trial
        if seen is not None:
            self._take(audit, replace(look, said=seen) if audit.shadow else replace(look, reference=seen))
            if not audit.shadow:
                stream.count(audits=1)
        elif audit.ticket is not None:
            stream.audits.of(audit.key).give_up()
        if trial is not None:
            trial.pending -= 1
            self._conclude(stream, audit.trials)

    def _take(self, audit: LookAudit, look: AuditedLook) -> None:
        """Take a look with the oracle's answer."""
        assert look.reference is not None
        if audit.trial is not None:
            self._add(audit, audit.trial, look)
        elif look.said is not None:
            ticket = audit.ticket or audit.stream.audits.of(audit.key).in_shadow()
            said, reference = self._recogniser.accepted(look.said), self._recogniser.accepted(look.reference)
            found = AuditOutcome(audit.key, look.number, said, reference, audit.shadow, self._recogniser.nameless)
            if ticket is not None:
                found = found if found.agrees else replace(found, picture=self._picture(look))
                self._tell(audit.stream, ticket, found)

    def _add(self, audit: LookAudit, trial: Trial, look: AuditedLook) -> None:
        """Take a look at a track; a silent shortcut's answer is the oracle's."""
        assert look.reference is not None
        assert self._objects is not None
        answers = look.said or look.reference, look.reference
        said, reference = (self._objects.look(look.frame, look.region, each) for each in answers)
        trial.looked(said, reference, whole=not cut_off(look.region.box))
        if trial.shadow and trial.ticket is None and look.said is not None:
            trial.ticket, trial.number = audit.stream.audits.of(trial.key).in_shadow(), look.number
        words = {(each.label, self._recogniser.accepted(each).label) for each in answers}
        if trial.crop is None and len(words) > 1:
            trial.crop = self._picture(look)

    def _conclude(self, stream: NodeStream, trials: OpenTrials) -> None:
        """Compare where nothing more is to be waited for."""
        for track, trial in trials.done():
            if trial.ticket is None or self._objects is None:
                continue  # the shortcut had nothing to say of the object
            if trial.beliefs is None:
                stream.audits.of(trial.key).give_up()
                continue
            said, reference = (self._objects.answer_of(each) for each in trial.beliefs)
            found = AuditOutcome(
                trial.key, trial.number, said, reference, trial.shadow, self._recogniser.nameless, track, trial.crop
            )
            self._tell(stream, trial.ticket, found)

    def _tell(self, stream: NodeStream, ticket: Ticket, found: AuditOutcome) -> None:
        stream.audits.of(found.key).tell(ticket, found.agrees, found.lost)
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
